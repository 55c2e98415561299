"""A first plan of a large problem is found even where the candidates that its bound points to make none."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.plain import plain_candidates, plain_offers
from support.second_opinion import medium_problem

from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_MONTH, SECONDS_PER_HOUR
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.question.inquiry import Inquiry
from optimizer.program import large_search
from optimizer.program import search as whole_search
from optimizer.program import solve as solve_module
from optimizer.program.formulation.model import build_program, hourly_cost, model_proto
from optimizer.program.laid_out import LaidOut
from optimizer.program.large.patterns import pattern_bound
from optimizer.program.large.restriction import promising_part
from optimizer.program.problem.data import HostedApis, Limits, QuotaLimit, steady_traffic
from optimizer.program.problem.problem import Problem, compacted, sorted_problem
from optimizer.program.proof import simple_plan as simple_plan_module
from optimizer.program.proof.dominance import undominated
from optimizer.program.proof.first_plan import at_every_place as regions_searched
from optimizer.program.proof.simple_plan import simple_plan
from optimizer.program.proof.state import SearchResult, SearchState, incumbent_of
from optimizer.program.solve import solve
from optimizer.program.solver import integer_solver, solve_integer
from optimizer.program.weeks.rolling_horizon import _in_time


def test_wider_parts_are_looked_at_until_there_is_a_plan(
    catalogs: Catalogs, script: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two providers have half of the traffic each; the bound, which knows of no shares, points to one."""
    inquiry = Inquiry.of(script("any_scenario").scenario(862), catalogs).apart()
    problem = sorted_problem(inquiry.formulated().problem).problem
    known = []

    def final_solve(*arguments: Any) -> Any:
        known.append(arguments[3])
        return large_search.SearchResult("unproven", arguments[2], arguments[3])

    monkeypatch.setattr(large_search, "final_solve", final_solve)
    keep = np.ones(len(problem.candidates), dtype=np.bool_)
    found = large_search.search_large(problem, keep, SearchState(Clock()), None, large_search.Known())
    assert known[0] is not None
    assert known[0].usd_per_hour < 1.3 * found.bound.usd_per_hour


@pytest.mark.parametrize("periods", [1, 3])
def test_instances_on_which_nothing_runs_are_given_back(periods: int) -> None:
    """Found by the campaign: a search cut short bought instances for nobody, of which no plan could be told."""
    problem = sorted_problem(medium_problem(13, periods, 5, 12)).problem
    part = compacted(problem, np.ones(len(problem.candidates), dtype=np.bool_))
    program = build_program(part.problem)
    result = solve_integer(model_proto(program, hourly_cost(program)), Clock(), integer_solver(periods))
    plan = incumbent_of(result, program, part, problem)
    assert plan is not None
    variables, values = program.variables, result.values.copy()
    empty = ~plan.instances.any(axis=0)[part.offers][variables.instance_offer]
    assert empty.any()
    values[variables.instances[empty]] += 2
    wasteful = incumbent_of(replace(result, values=values), program, part, problem)
    assert wasteful is not None
    assert wasteful.usd_per_hour == plan.usd_per_hour
    assert (wasteful.instances == plan.instances).all()


@pytest.mark.parametrize("quotas", [(), (QuotaLimit("cheapest", tuple(range(0, 40, 7)), 2),)])
def test_two_places_for_all_of_it_are_a_plan_that_survives_a_loss(quotas: tuple[QuotaLimit, ...]) -> None:
    """Found by the campaign: with hundreds of candidates there was none in time, or one of 24 times the cost.

    Where a quota leaves too little of the cheapest kind, two places of another were not looked at: $2,395,874 a month
    in 81 deployments where $211,369 in four do.
    """
    problem = Problem(
        traffic=steady_traffic(("w/0", "w/1"), np.array([4.0, 2.5])),
        candidates=plain_candidates(range(40), [[1.0, 0.0], [0.0, 1.0]] * 20),
        offers=plain_offers(1.0 + np.arange(40) % 7),
        limits=Limits(1.0, survive=("region",), spare_replicas=1, quotas=quotas),
    )
    state = SearchState(Clock(None))
    plan = simple_plan(sorted_problem(problem).problem, state, np.zeros(len(problem.candidates)))
    assert plan is not None
    assert state.columns_solved <= 4
    best = solve(problem, relative_gap=0.01).cost_usd_per_month
    assert best is not None
    assert plan.usd_per_hour * HOURS_PER_MONTH <= 1.5 * best


def test_a_dear_plan_of_a_search_cut_short_gives_way_to_a_simple_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by the campaign: $5,080,293 a month in 230 deployments, where two places for each workload cost $62,510."""
    problem = Problem(
        traffic=steady_traffic(("w/0",), np.array([4.0])),
        candidates=plain_candidates(range(6), [[1.0]] * 6),
        offers=plain_offers(np.array([1.0, 1.0, 9.0, 9.0, 9.0, 9.0])),
        limits=Limits(1.0, survive=("region",)),
    )
    best = solve(problem)
    whole = solve_module.search_laid_out

    def cut_short(asked: Problem, state: SearchState, eliminate: bool) -> LaidOut:
        """Ten times the plan that the search would have found, nothing proven."""
        found = whole(asked, state, eliminate)
        plan = found.result.incumbent
        assert plan is not None
        dear = replace(plan, usd_per_hour=10 * plan.usd_per_hour, instances=10 * plan.instances)
        return found._replace(result=SearchResult("feasible", found.result.bound, dear))

    monkeypatch.setattr(solve_module, "search_laid_out", cut_short)
    assert solve(problem).cost_usd_per_month == best.cost_usd_per_month


def _three_regions(limits: Limits) -> Problem:
    """Two classes, served apart by offers of three regions, of two providers: those of the last one cost most."""
    candidates = plain_candidates([0, 1, 2, 0, 1, 2], [[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 3)
    offers = plain_offers([1.0, 1.5, 4.0], provider=("a", "a", "b"))
    return Problem(steady_traffic(("w/0", "w/1"), np.array([6.0, 6.0])), candidates, offers, limits)


@pytest.mark.parametrize(
    ("limits", "wanted"),
    [
        (Limits(1.0), [0, 3]),
        (Limits(1.0, max_provider_share=0.5), [0, 2, 3, 5]),
        (Limits(1.0, min_regions=2), [0, 1, 2, 3, 4, 5]),
    ],
)
def test_a_promising_part_has_each_mix_where_a_limit_wants_several_places(limits: Limits, wanted: list[int]) -> None:
    order = sorted_problem(_three_regions(limits))
    part = promising_part(order, pattern_bound(order.problem, Clock()), 0)
    assert sorted(part.candidates.tolist()) == wanted


def test_a_first_plan_that_may_lose_a_region_is_looked_for_in_all_of_them() -> None:
    problem = _three_regions(Limits(1.0, survive=("region",)))
    cost = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])
    keep = np.array([True, True, True, True, False, True])
    assert regions_searched(problem, keep, cost).tolist() == [True, True, True, True, False, True]
    by_provider = replace(problem, limits=Limits(1.0, survive=("provider",)))
    assert regions_searched(by_provider, keep, cost).tolist() == [True, False, True, True, False, True]


def test_windows_go_on_while_the_first_pass_would_end_in_time() -> None:
    now = [0.0]
    first = Clock(10.0, now=lambda: now[0])
    now[0] = 2.0
    assert _in_time(first, 0.25)
    now[0] = 3.0
    assert not _in_time(first, 0.25)
    assert _in_time(first, 0.75)
    assert _in_time(Clock(), 0.01)


def _shares_power_and_gpus(catalogs: Catalogs, script: Callable[[str], Any]) -> Problem:
    """Half of the demand at a provider at most, 5 kW, 16 GPUs, one engine: what is cheap alone keeps few of these.

    Of a fifth more than the random scenario asks, the cheapest plan is again near the bound.
    """
    drawn = script("any_scenario").scenario(9041)
    more = [w.model_copy(update={"requests_per_second": 1.2 * w.requests_per_second}) for w in drawn.workloads]
    inquiry = Inquiry.of(drawn.model_copy(update={"workloads": tuple(more)}), catalogs).apart()
    return sorted_problem(inquiry.formulated().problem).problem


def test_where_limits_leave_few_candidates_without_a_plan_more_are_looked_at(
    catalogs: Catalogs, script: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A random scenario that ended with $19,001.90 a month, 58 % open: the first program was of 2,283 candidates."""
    problem, known = _shares_power_and_gpus(catalogs, script), []

    def final_solve(*arguments: Any) -> Any:
        known.append(arguments[3])
        return SearchResult("unproven", arguments[2], arguments[3])

    monkeypatch.setattr(whole_search, "final_solve", final_solve)
    monkeypatch.setattr(large_search, "final_solve", final_solve)
    found = whole_search.search(problem, SearchState(Clock()))
    assert known[0] is not None
    assert known[0].usd_per_hour < 1.25 * found.bound.usd_per_hour


def test_a_simple_plan_is_looked_for_where_the_bound_points_to(
    catalogs: Catalogs, script: Callable[[str], Any]
) -> None:
    """Without it there was none, or one of nearly twice the cost, once time was up."""
    problem, state = _shares_power_and_gpus(catalogs, script), SearchState(Clock())
    bound = whole_search.relaxation_bound(problem, undominated(problem), state)
    assert bound is not None
    plan = simple_plan(problem, state, bound.with_candidate_usd_per_hour)
    assert plan is not None
    assert plan.usd_per_hour < 1.25 * bound.usd_per_hour


@pytest.mark.parametrize("limits", [Limits(1.0), Limits(1.0, survive=("region",))])
def test_a_simple_plan_of_hosted_apis_needs_no_machine(limits: Limits) -> None:
    """A question about APIs alone that was cut short ended with an error of numpy."""
    hosted = HostedApis(("api",), np.array([0]), np.array([1e-4]), ("saas",))
    problem = replace(_three_regions(limits), traffic=steady_traffic(("w/0",), np.array([6.0])), apis=hosted)
    none = replace(problem, candidates=plain_candidates(np.zeros(0, dtype=np.int64), np.zeros((0, 1))))
    plan = simple_plan(none, SearchState(Clock()), np.zeros(0))
    assert plan is not None
    assert plan.usd_per_hour == pytest.approx(6.0 * 1e-4 * SECONDS_PER_HOUR)


@pytest.mark.parametrize(("spent_s", "given_s"), [(0.0, 5.0), (16.0, 2.0)])
def test_a_simple_plan_has_time_of_the_question_not_of_its_part_alone(
    monkeypatch: pytest.MonkeyPatch, spent_s: float, given_s: float
) -> None:
    """9101 had a second on a busy machine, found nothing, and ended with seven seconds left of twenty."""
    at_s, given = [0.0], list[float | None]()

    class Watched(Clock):
        def __init__(self, time_limit_s: float | None = None) -> None:
            given.append(time_limit_s)
            super().__init__(time_limit_s)

    question = Clock(20.0, now=lambda: at_s[0])
    at_s[0] = spent_s
    part = question.part(0.0)
    monkeypatch.setattr(simple_plan_module, "Clock", Watched)
    problem = sorted_problem(medium_problem(13, 1, 5, 12)).problem
    simple_plan(problem, SearchState(part), np.zeros(len(problem.candidates)))
    assert given == [given_s]
