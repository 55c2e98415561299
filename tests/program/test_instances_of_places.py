"""What survives the loss of a place survives that of each instance there: a bound, and a plan of the same kinds."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.placements import at_places
from support.promises import faults

from optimizer.base.clock import Clock
from optimizer.program import search as whole_search
from optimizer.program.problem.data import Limits
from optimizer.program.problem.problem import sorted_problem
from optimizer.program.proof import first_plan
from optimizer.program.proof.instances_of_places import _of_same_kind, known_of_instances, losing_instances
from optimizer.program.proof.relaxation import Bound, no_bound
from optimizer.program.proof.state import Incumbent, SearchState
from optimizer.program.search import search
from optimizer.program.solve import solve, solve_plainly

SEEDS = (0, 2, 5, 12)
LOSSES = (("region",), ("provider",), ("provider", "region"), ("region", "spot_offer"))


@pytest.mark.parametrize("survive", LOSSES)
def test_what_is_known_of_instances_changes_no_optimum(
    survive: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With next to nothing tried before, and whatever the first plan costs: against the program of all candidates."""
    asked: list[tuple[Bound, Incumbent | None]] = []

    def noted(*arguments: Any) -> tuple[Bound, Incumbent | None]:
        asked.append(known_of_instances(*arguments))
        return asked[-1]

    monkeypatch.setattr(whole_search, "known_of_instances", noted)
    monkeypatch.setattr(first_plan, "INCUMBENT_COLUMNS", 0)
    monkeypatch.setattr(first_plan, "FAR_OFF", -1.0)
    outcomes = set()
    for seed in SEEDS:
        problem = at_places(seed, survive)
        found, plain = solve(problem), solve_plainly(problem)
        outcomes.add(found.outcome)
        assert found.outcome == plain.outcome
        if plain.cost_usd_per_month is not None:
            assert found.cost_usd_per_month == pytest.approx(plain.cost_usd_per_month, rel=1e-6)
            assert found.bound_usd_per_month == pytest.approx(plain.cost_usd_per_month, rel=1e-6)
            assert not faults(problem, found)
    assert "optimal" in outcomes
    assert any(plan is not None for _, plan in asked)


@pytest.mark.parametrize("survive", LOSSES)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_plan_costs_less_than_the_bound_or_more_than_the_plan(seed: int, survive: tuple[str, ...]) -> None:
    order = sorted_problem(at_places(seed, survive))
    problem, plain = order.problem, solve_plainly(order.problem)
    keep = np.ones(len(problem.candidates), dtype=np.bool_)
    bound, plan = known_of_instances(problem, keep, no_bound(problem), None, SearchState(Clock()), search)
    cost = np.inf if plain.cost_usd_per_month is None else plain.cost_usd_per_month / 730.0
    assert bound.usd_per_hour <= cost * (1 + 1e-6)
    assert plan is None or plan.usd_per_hour >= cost * (1 - 1e-6)


def test_the_bound_is_of_whole_instances_where_a_region_is_lost() -> None:
    """Four GPUs are bought whole in each of three regions; the relaxation buys a part of many instances."""
    problem = sorted_problem(at_places(3, ("region",))).problem
    relaxed = losing_instances(problem)
    assert relaxed is not None
    assert relaxed.limits == replace(problem.limits, survive=("instance",))
    keep = np.ones(len(problem.candidates), dtype=np.bool_)
    bound, _ = known_of_instances(problem, keep, no_bound(problem), None, SearchState(Clock()), search)
    best = solve(relaxed).cost_usd_per_month
    assert best is not None
    assert bound.usd_per_hour == pytest.approx(best / 730.0)


def test_what_loses_no_place_or_instances_already_has_no_such_problem() -> None:
    problem = at_places(0, ("region",))
    for survive in ((), ("instance",), ("spot_offer",), ("instance", "region")):
        assert losing_instances(replace(problem, limits=replace(problem.limits, survive=survive))) is None
    apart = replace(problem.limits, spare_on_other_instances=True, spare_replicas=1)
    assert losing_instances(replace(problem, limits=apart)) is None
    assert losing_instances(replace(problem, limits=Limits(1.0, survive=("provider",)))) is not None


def test_alike_are_candidates_of_the_same_configuration_on_as_many_of_the_same_gpus() -> None:
    problem = at_places(0, ("region",))
    candidates, offers = problem.candidates, problem.offers
    for number in range(len(candidates)):
        used = np.arange(len(candidates)) == number
        for other in np.flatnonzero(_of_same_kind(problem, used)).tolist():
            assert candidates.configuration[other] == candidates.configuration[number]
            here, there = candidates.offer[[number, other]]
            assert offers.gpus_per_instance[here] == offers.gpus_per_instance[there]
            assert ((candidates.rate_per_s[other] > 0) == (candidates.rate_per_s[number] > 0)).all()
        assert _of_same_kind(problem, used)[number]
