"""Workloads that share nothing are searched one by one, and the plan and proof are those of the whole."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fleets import STEADY
from support.instances import problems
from support.plain import plain_candidates, plain_offers

from optimizer.program import search
from optimizer.program.large.decomposition import separable_parts
from optimizer.program.problem.data import HostedApis, Limits, Traffic, steady_traffic
from optimizer.program.problem.problem import Problem, sorted_problem
from optimizer.program.solve import solve, solve_plainly


@st.composite
def neighbours(draw: st.DrawFn) -> Problem:
    """Three workloads on four offers that any of them may use, over one or two periods; the first has a hosted API."""
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    periods, offers, workloads = draw(st.integers(1, 2)), 4, ("a", "b", "c")
    size = random.choice([1, 1, 1, 2], offers)
    home, workload = np.arange(12) % offers, np.arange(12) // offers
    rate = np.zeros((12, 3))
    rate[np.arange(12), workload] = random.uniform(0.5, 3.0, 12).round(1)
    traffic: Traffic = replace(
        steady_traffic(tuple(f"{w}/k" for w in workloads), np.ones(3), workload=workloads),
        demand_per_s=random.uniform(0.2, 4.0, (periods, 3)).round(1),
        share_of_month=np.full(periods, 1 / periods),
        start_share=draw(st.sampled_from([0.0, 0.05])) * (1 - np.eye(periods)),
        least_replicas=random.choice([0, 0, 3], (1, 3)).repeat(periods, axis=0),
    )
    return Problem(
        traffic=traffic,
        candidates=plain_candidates(home, rate, gpus_per_replica=np.minimum(random.choice([1, 2], 12), size[home])),
        offers=plain_offers(
            random.uniform(0.5, 4.0, offers).round(2),
            gpus_per_instance=size,
            available=random.choice([np.inf, np.inf, np.inf, 2.0], offers),
            always_paid=random.random(offers) < 0.2,
        ),
        limits=Limits(max_utilization=0.9, spare_replicas=draw(st.sampled_from([0, 0, 1]))),
        apis=HostedApis(("saas",), np.array([2]), np.array([2e-4]), ("saas",)),
    )


@STEADY
@given(st.one_of(neighbours(), problems("workloads", "any")))
def test_parts_give_the_plan_of_the_whole(problem: Problem) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "SEPARATED_STREAMS", -1)
        parted = solve(problem)
    plain = solve_plainly(problem)
    assert parted.outcome == plain.outcome
    assert (parted.cost_usd_per_month or 0.0) == pytest.approx(plain.cost_usd_per_month or 0.0, rel=1e-6)
    assert (parted.bound_usd_per_month or 0.0) == pytest.approx(plain.bound_usd_per_month or 0.0, rel=1e-6)


def test_only_what_is_shared_joins_workloads() -> None:
    problem = sorted_problem(_two_on_one_offer()).problem
    everyone = np.ones(2, dtype=np.bool_)
    assert len(separable_parts(problem, everyone)) == 2
    offers, limits = problem.offers, problem.limits
    holds_both = replace(problem, offers=replace(offers, gpus_per_instance=np.array([2])))
    scarce = replace(problem, offers=replace(offers, available=np.array([3.0])))
    limited = replace(problem, limits=replace(limits, max_gpus=5))
    for joined in (holds_both, scarce, limited):
        assert len(separable_parts(joined, everyone)) == 1


def _two_on_one_offer() -> Problem:
    return Problem(
        traffic=steady_traffic(("a/k", "b/k"), np.ones(2), workload=("a", "b")),
        candidates=plain_candidates([0, 0], np.eye(2)),
        offers=plain_offers([1.0]),
        limits=Limits(max_utilization=1.0),
    )
