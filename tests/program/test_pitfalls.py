"""Plans that a shortcut of the search once missed or misjudged, each small enough to check by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.instances import TINY, tiny_problem
from support.plain import plain_candidates, plain_offers
from support.promises import faults

from optimizer.base.clock import Clock
from optimizer.base.errors import SolverFailure
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program import search, solver
from optimizer.program.problem import instance_contents
from optimizer.program.problem.data import HostedApis, Limits, steady_traffic
from optimizer.program.problem.instance_contents import affordable
from optimizer.program.problem.problem import Problem
from optimizer.program.proof import steps
from optimizer.program.proof.relaxation import Bound, no_bound
from optimizer.program.proof.state import Incumbent, SearchState
from optimizer.program.proof.steps import result_of
from optimizer.program.solve import Solution, solve, solve_plainly
from optimizer.program.solver import SolverResult


def fleet(
    demand: list[float],
    offers: list[tuple[str, int, float]],
    candidates: list[tuple[int, int]],
    limits: Limits,
    in_force: tuple[int, ...] = (),
) -> Problem:
    """Offers (provider, GPUs, USD/h) and candidates (offer, class) of one GPU that serve one request per second."""
    rate = np.zeros((len(candidates), len(demand)))
    for c, (_, request_class) in enumerate(candidates):
        rate[c, request_class] = 1.0
    return Problem(
        traffic=steady_traffic(tuple(f"w/{k}" for k in range(len(demand))), np.array(demand)),
        candidates=plain_candidates(
            [o for o, _ in candidates],
            rate,
            configuration=tuple(f"k{request_class}" for _, request_class in candidates),
            replicas_in_force=np.array(in_force or (0,) * len(candidates)),
        ),
        offers=plain_offers(
            [price for *_, price in offers],
            gpus_per_instance=np.array([gpus for _, gpus, _ in offers]),
            power_kw=np.ones(len(offers)),
            provider=tuple(provider for provider, *_ in offers),
            region=tuple(f"{provider}/r" for provider, *_ in offers),
        ),
        limits=limits,
    )


def hourly(solution: Solution) -> float:
    assert solution.outcome == "optimal", solution.reason
    assert solution.cost_usd_per_month is not None
    return solution.cost_usd_per_month / HOURS_PER_MONTH


def test_an_offer_in_use_is_not_replaced_by_a_cheaper_one_when_changes_are_limited() -> None:
    # staying on o0 and starting one replica beside the one in force is one change; moving to o1 would be three
    homes = [(0, 0), (0, 1), (1, 0), (1, 1)]
    problem = fleet([1, 1], [("p", 4, 10), ("p", 4, 9)], homes, Limits(1.0, max_changes=1), (1, 0, 0, 0))
    assert hourly(solve(problem)) == pytest.approx(10.0)


def test_two_instances_with_one_replica_of_each_kind_survive_the_loss_of_either() -> None:
    # an instance could hold two replicas of a kind, and a plan that counted on the worst would buy a third
    homes = [(0, 0), (0, 1), (1, 0), (1, 1)]
    problem = fleet([0.5, 0.5], [("p", 2, 1.0), ("p", 2, 1.1)], homes, Limits(1.0, survive=("instance",)))
    solution = solve(problem)
    assert hourly(solution) == pytest.approx(2.0)
    assert solution.placed.replicas.tolist() == [[1, 1, 0, 0]]
    assert solution.placed.instances.tolist() == [2]
    assert not faults(problem, solution)


def test_the_loss_of_an_instance_is_worth_another_one() -> None:
    # 2/s on three instances of up to two replicas: four stand two by two, so one instance's loss leaves two
    problem = fleet([2.0], [("p", 2, 1.0)], [(0, 0)], Limits(1.0, survive=("instance",)))
    solution = solve(problem)
    assert hourly(solution) == pytest.approx(2.0)
    assert solution.placed.replicas.tolist() == [[2]]
    # with 2.5/s a loss must leave three: two instances of two do not, three with two, two and one do
    tighter = fleet([2.5], [("p", 2, 1.0)], [(0, 0)], Limits(1.0, survive=("instance",)))
    assert hourly(solve(tighter)) == pytest.approx(3.0)
    assert not faults(tighter, solve(tighter))


def test_a_candidate_of_several_mixes_is_refused_where_a_loss_must_be_survived() -> None:
    problem = fleet([1.0, 1.0], [("p", 2, 1.0)], [(0, 0)], Limits(1.0, survive=("region",)))
    several = replace(problem, candidates=replace(problem.candidates, rate_per_s=np.array([[1.0, 1.0]])))
    with pytest.raises(ValueError, match="several mixes"):
        solve(several)


def test_replicas_in_force_may_stay_although_they_are_not_needed() -> None:
    limits = Limits(1.0, max_changes=0, max_distinct_configurations=1)
    assert hourly(solve(fleet([1.0], [("p", 4, 1.0)], [(0, 0)], limits, (5,)))) == pytest.approx(2.0)


def test_replicas_stopped_elsewhere_are_paid_for() -> None:
    problem = fleet([1], [("p", 1, 9), ("p", 1, 1)], [(0, 0), (1, 0)], Limits(1.0, usd_per_change=73.0), (2, 0))
    solution = solve(problem)
    assert hourly(solution) == pytest.approx(1.0 + 3 * 0.1)
    assert not faults(problem, solution)


def test_routing_counts_what_a_provider_serves_by_its_hosted_api() -> None:
    # balanced, p's replica would serve 2.25 of 6/s beside the 4 of 10/s that go to p's API; only one more may
    limits = Limits(1.0, max_provider_share=0.5, min_providers=2)
    problem = fleet([4, 6], [("p", 3, 1), ("q", 3, 1)], [(0, 1), (1, 1)], limits)
    faster = replace(problem.candidates, rate_per_s=problem.candidates.rate_per_s * [[3.0], [1.0]])
    hosted = replace(problem, candidates=faster, apis=HostedApis(("api",), np.array([0]), np.array([1e-5]), ("p",)))
    assert not faults(hosted, solve(hosted))


def test_mixes_that_repeat_keep_their_own_flows() -> None:
    problem = fleet([3.0], [("p", 2, 1), ("q", 2, 1)], [(0, 0), (1, 0)], Limits(1.0, min_providers=2))
    rate = np.array([[0.0, 1.0], [1.0, 0.0]])
    twice = replace(
        problem,
        traffic=replace(problem.traffic, mixes=np.ones((2, 1))),
        candidates=replace(problem.candidates, rate_per_s=rate),
    )
    assert not faults(twice, solve(twice))


def test_a_bound_within_a_gap_is_a_bound_on_every_plan() -> None:
    # two of the cheap ones carry 1.5/s at 2.0; the first, restricted search sees only those; the last does alone at 1.6
    offers = [("p", 1, 1 + number / 10_000) for number in range(30)] + [("p", 1, 1.6)]
    problem = fleet([1.5], offers, [(o, 0) for o in range(31)], Limits(1.0, max_power_kw=100.0))
    rates, power = problem.candidates.rate_per_s.copy(), np.linspace(2.0, 1.0, 31)
    rates[30] = 1.5
    problem = replace(
        problem,
        candidates=replace(problem.candidates, rate_per_s=rates),
        offers=replace(problem.offers, power_kw=power),
    )
    assert hourly(solve(problem)) == pytest.approx(1.6)
    close = solve(problem, relative_gap=0.3)
    assert close.outcome == "feasible"
    assert close.bound_usd_per_month is not None
    assert close.bound_usd_per_month <= 1.6 * HOURS_PER_MONTH


def test_a_bound_that_the_solver_does_not_vouch_for_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    # GLOP ends this one's bound by patterns as imprecise
    monkeypatch.setattr(search, "MANY_STREAMS", -1)
    problem = fleet([1.3, 2.4], [("p", 1, 4.1)], [(0, 0), (0, 1), (0, 0)], Limits(1.0))
    mixes = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    problem = replace(
        problem,
        traffic=replace(problem.traffic, mixes=mixes),
        candidates=replace(problem.candidates, rate_per_s=np.array([[0, 0, 0.8], [0, 0.8, 0], [4.0, 0, 0]])),
    )
    assert hourly(solve(problem)) == pytest.approx(4 * 4.1)


def test_an_offer_is_not_replaced_by_a_cheaper_one_that_is_faster_at_either_mix_alone() -> None:
    # o0 is as fast as o1 at each class, but by two candidates; only o1's first serves both classes with one replica
    homes = [(0, 0), (0, 1), (1, 0), (1, 1)]
    problem = fleet([1.5, 1], [("p", 1, 9.0), ("p", 1, 10.0)], homes, Limits(1.0))
    rates = np.array([[3.0, 1.0], [1.0, 3.0], [3.0, 2.0], [1.0, 3.0]])
    problem = replace(problem, candidates=replace(problem.candidates, rate_per_s=rates))
    assert hourly(solve(problem)) == pytest.approx(10.0)


def test_a_plan_dearer_than_the_one_known_is_none() -> None:
    problem = fleet([1.0, 1.0], [("p", 1, 2.0)], [(0, 0), (0, 1)], Limits(1.0))
    best = solve(problem).cost_usd_per_month or 0.0
    assert best == pytest.approx(4.0 * HOURS_PER_MONTH)
    assert solve(problem, cutoff_usd_per_month=best).cost_usd_per_month == best
    assert solve(problem, cutoff_usd_per_month=0.9 * best).outcome == "infeasible"
    assert solve(problem, cutoff_usd_per_month=1.5 * best).cost_usd_per_month == best


def test_the_solver_is_told_of_a_budget_that_a_row_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    # SCIP drops such a row for a limit of its own, and without a solution within it called one beyond it optimal
    told, solve_integer = [], steps.solve_integer

    def listening(*model: Any, cutoff: float, **options: Any) -> SolverResult:
        told.append(cutoff * HOURS_PER_MONTH)
        return solve_integer(*model, cutoff=cutoff, **options)

    monkeypatch.setattr(steps, "solve_integer", listening)
    problem = fleet([1.0, 1.0], [("p", 1, 2.0)], [(0, 0), (0, 1)], Limits(1.0, max_monthly_usd=3_000.0))
    assert solve(problem).outcome == "optimal"
    assert told == [pytest.approx(3_000.0, rel=1e-4)] * len(told)
    assert told


def test_a_plan_near_the_cheapest_that_is_dearer_than_the_one_known_rules_none_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # HiGHS ends at such a plan; SCIP, which solves programs as small, finds the cheapest
    monkeypatch.setattr(solver, "MOST_ROWS_ON_SCIP", -1)
    problem = fleet([4.2], [("p", 1, price) for price in (1.4, 3.4, 2.9)], [(o, 0) for o in range(3)], Limits(1.0))
    rates = np.array([[rate] for rate in (0.8, 2.9, 1.7)])
    problem = replace(problem, candidates=replace(problem.candidates, rate_per_s=rates))
    best = solve(problem).cost_usd_per_month or 0.0
    found = solve(problem, relative_gap=0.3, cutoff_usd_per_month=1.001 * best)
    assert found.outcome == "unproven"
    assert found.bound_usd_per_month is not None
    assert found.bound_usd_per_month <= best


def test_no_more_is_proven_of_a_part_than_its_plan_costs() -> None:
    problem = tiny_problem()
    plan = Incumbent(np.ones((1, 3), dtype=np.int64), np.ones((1, 4), dtype=np.int64), np.zeros(0), usd_per_hour=7.0)
    nothing_beats_it = SolverResult("infeasible", np.inf)
    found = result_of(
        problem, np.ones(4, dtype=np.bool_), no_bound(problem), nothing_beats_it, plan, SearchState(Clock())
    )
    assert found.bound.usd_per_hour == 7.0


def test_replicas_in_force_are_stopped_for_money_also_where_too_much_is_left_to_solve(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(steps, "MOST_BILLED_CELLS", 1)
    problem = TINY["minimum_billing"]()
    hosted = HostedApis(("saas-long", "saas-short"), np.array([0, 2]), np.array([2e-4, 1e-6]), ("saas", "saas"))
    force = replace(problem.candidates, replicas_in_force=np.array([2, 2, 0, 0]))
    problem = replace(problem, apis=hosted, candidates=force, limits=Limits(0.8, usd_per_change=2000.0))
    best = solve_plainly(problem).cost_usd_per_month or 0.0
    for share in (0.99, 0.999):
        found = solve(problem, node_limit=3, cutoff_usd_per_month=share * best)
        assert found.cost_usd_per_month is None
    assert solve(problem, node_limit=3).cost_usd_per_month == pytest.approx(best)


def test_what_is_in_force_is_afforded_first(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = TINY["placement"]()
    problem = replace(problem, candidates=replace(problem.candidates, replicas_in_force=np.array([0, 0, 1, 0])))
    every, dear_last = np.ones(4, dtype=np.bool_), np.array([0.0, 1.0, 2.0, 3.0])
    monkeypatch.setattr(instance_contents, "MOST_CONTENTS", 2)
    assert affordable(problem, every, dear_last)[2]


def test_a_plan_below_a_bound_is_a_failure() -> None:
    problem, keep = tiny_problem(), np.ones(4, dtype=np.bool_)
    plan = Incumbent(np.ones((1, 3), dtype=np.int64), np.ones((1, 4), dtype=np.int64), np.zeros(0), usd_per_hour=7.0)
    with pytest.raises(SolverFailure, match=r"no plan costs less than 8\.0"):
        result_of(problem, keep, Bound(8.0, np.full(4, 8.0)), SolverResult("optimal", 7.0), plan, SearchState(Clock()))
