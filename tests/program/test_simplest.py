"""The simplest plan within a cost is the first of all: fewest configurations, then places, then instances, then USD."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.brute_force import Enumeration
from support.instances import KINDS, TINY, problems
from support.plain import plain_candidates, plain_offers
from support.promises import faults

from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program import search, simplest
from optimizer.program.problem.data import Ceiling, HostedApis, Limits, steady_traffic
from optimizer.program.problem.problem import Problem, compacted
from optimizer.program.proof import steps
from optimizer.program.simplest import (
    Complexity,
    complexity,
    least_complexity,
    search_near,
    search_no_more,
    search_simplest,
)
from optimizer.program.solve import Solution, solve, solve_plainly, solve_simpler

MOST = 9
"""More of anything than a plan of these problems needs."""
MACHINES = sorted({*TINY, *KINDS} - {"apis", "places", "instance_count", "max_monthly_usd"})
"""Who calls hosted APIs is no whole count that enumeration goes through; the rest is what is counted or paid here."""


def of(problem: Problem, solution: Solution) -> Complexity:
    called = (solution.api_flow_per_s > 0).any(axis=0)
    return complexity(problem, solution.replicas, solution.instances, called)


def in_places_of_their_own(problem: Problem) -> Problem:
    """A region is one of a provider."""
    pairs = zip(problem.offers.provider, problem.offers.region, strict=True)
    return replace(problem, offers=replace(problem.offers, region=tuple("/".join(pair) for pair in pairs)))


def held(problem: Problem, most: Complexity) -> Problem:
    own = problem.limits.max_distinct_configurations or MOST
    limits = replace(problem.limits, max_distinct_configurations=min(own, most.configurations))
    return replace(problem, limits=limits, ceiling=Ceiling(most.places, most.instances))


def simplest_by_enumeration(problem: Problem, every: Enumeration, most_usd_per_hour: float) -> tuple[Complexity, float]:
    """The counts that are fewest one after the other, and what the cheapest plan of so few costs."""
    least, usd = Complexity(MOST, MOST, MOST), np.nan
    for name in Complexity._fields:
        for count in range(MOST + 1):
            cost = every.cheapest(held(problem, least._replace(**{name: count})))
            if cost is not None and cost <= most_usd_per_hour * (1 + 1e-9):
                least, usd = least._replace(**{name: count}), cost
                break
    return least, usd


def simpler(
    problem: Problem, known: Complexity, most_usd: float, clock: Clock | None = None
) -> tuple[Solution | None, bool]:
    return solve_simpler(problem, partial(search_simplest, known=known, break_ties=True), most_usd, clock)


def agrees(problem: Problem, share: float) -> None:
    problem = in_places_of_their_own(problem)
    every = Enumeration(problem)
    expected = every.cheapest(problem)
    if expected is None or np.isnan(expected):
        return
    cheapest = solve(problem)
    assert cheapest.cost_usd_per_month is not None
    most = cheapest.cost_usd_per_month * (1 + share)
    counts, usd_per_hour = simplest_by_enumeration(problem, every, most / HOURS_PER_MONTH)
    found, proven = simpler(problem, of(problem, cheapest), most)
    assert proven
    shown = cheapest if found is None else found
    assert of(problem, shown) == counts
    assert shown.cost_usd_per_month == pytest.approx(usd_per_hour * HOURS_PER_MONTH, rel=1e-7)
    assert not faults(problem, shown)
    # as simple a plan is the cheapest of those that have no more of anything
    no_more, proven = solve_simpler(problem, partial(search_no_more, most=counts), most)
    assert proven
    assert no_more is not None
    assert no_more.cost_usd_per_month == pytest.approx(shown.cost_usd_per_month, rel=1e-7)


SHARES = st.sampled_from([0.0, 0.05, 0.3, 1.0])


@settings(max_examples=12)
@given(problems("mixed_replicas"), SHARES)
def test_the_simplest_plan_is_the_first_of_all_plans(problem: Problem, share: float) -> None:
    agrees(problem, share)


@pytest.mark.slow("enumerates every plan of each count of problems with each family")
@pytest.mark.parametrize("family", MACHINES)
def test_the_simplest_plan_is_the_first_under_every_family(family: str) -> None:
    settings(max_examples=8)(given(problems(family), SHARES)(agrees))()


def one_class(prices: list[float], rates: list[float], demand: float = 4.0) -> Problem:
    """One candidate on each offer, each of a configuration, a provider and a region of its own."""
    return Problem(
        traffic=steady_traffic(("w/0",), np.array([demand])),
        candidates=plain_candidates(
            range(len(rates)),
            [[rate] for rate in rates],
            configuration=tuple(f"k{number}" for number in range(len(rates))),
        ),
        offers=plain_offers(prices),
        limits=Limits(1.0),
    )


def test_a_make_weight_is_variety_and_counted_as_such() -> None:
    # 98 % of the demand on one card at 9.8, the rest on a small one at 0.3, or two large ones at 10.2
    problem = one_class([9.8, 0.3, 5.1], [3.92, 0.08, 2.0])
    cheapest = solve(problem)
    assert of(problem, cheapest) == Complexity(2, 4, 2)
    found, proven = simpler(problem, of(problem, cheapest), 10.1 * 1.05 * HOURS_PER_MONTH)
    assert found is not None
    assert proven
    assert (of(problem, found), found.instances.tolist()) == (Complexity(1, 2, 2), [[0, 0, 2]])


def test_a_tie_never_goes_to_the_more_complicated_plan() -> None:
    problem = one_class([9.0, 1.0, 10.0], [3.6, 0.4, 4.0])
    known = Complexity(2, 4, 2)
    found, proven = simpler(problem, known, 10.0 * HOURS_PER_MONTH)
    assert found is not None
    assert proven
    assert found.instances.tolist() == [[0, 0, 1]]


def test_nothing_simpler_is_said_as_such() -> None:
    problem = one_class([9.8, 0.3, 5.5], [3.92, 0.08, 2.0])
    assert simpler(problem, Complexity(2, 4, 2), 10.1 * 1.05 * HOURS_PER_MONTH) == (None, True)


def test_what_serves_a_class_nowhere_has_no_plan() -> None:
    traffic = steady_traffic(("w/0", "w/1"), np.array([4.0, 1.0]))
    problem = Problem(traffic, plain_candidates([0], [[3.6, 0.0]]), plain_offers([9.0]), Limits(1.0))
    for look in (search_near, partial(search_no_more, most=Complexity(2, 4, 2))):
        assert solve_simpler(problem, look, 10.0 * HOURS_PER_MONTH) == (None, True)


def test_without_time_nothing_is_claimed() -> None:
    problem, clock = one_class([9.8, 0.3, 5.1], [3.92, 0.08, 2.0]), Clock(0.0)
    assert simpler(problem, Complexity(2, 4, 2), 10.1 * 1.05 * HOURS_PER_MONTH, clock) == (None, False)


def test_a_hosted_api_is_a_provider_and_no_configuration() -> None:
    problem = replace(
        one_class([9.0], [3.6]), apis=HostedApis(("a",), np.array([0]), np.array([10.2 / 3600 / 4.0]), ("saas",))
    )
    found, proven = simpler(problem, Complexity(1, 3, 1), 10.3 * HOURS_PER_MONTH)
    assert found is not None
    assert proven
    assert of(problem, found) == Complexity(0, 1, 0)


@pytest.mark.parametrize("most", [2, 3])
def test_a_week_in_few_places_is_the_best_of_each_place(most: int) -> None:
    problem = two_shifts([2.1, 1.5, 2.0, 1.6, 1.9, 1.7], [2.0, 1.3, 1.9, 1.4, 1.8, 1.5])
    places = problem.offers.region if most == 2 else problem.offers.provider
    at = np.array(places)[problem.candidates.offer]
    alone = [solve(compacted(problem, at == place).problem).cost_usd_per_month or np.inf for place in set(places)]
    held = replace(problem, ceiling=Ceiling(places=most))
    best = min(alone)
    assert solve(held).cost_usd_per_month == pytest.approx(best)
    assert solve(held, cutoff_usd_per_month=best).cost_usd_per_month == pytest.approx(best)
    assert solve(held, cutoff_usd_per_month=best * 0.999).outcome == "infeasible"
    assert (solve(problem).cost_usd_per_month or 0.0) < best * 0.999


def test_a_week_whose_program_is_large_claims_nothing_simpler(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = two_shifts([2.1, 1.5, 2.0, 1.6, 1.9, 1.7], [2.0, 1.3, 1.9, 1.4, 1.8, 1.5])
    cheapest = solve(problem)
    most = (cheapest.cost_usd_per_month or 0.0) * 1.05
    found, proven = simpler(problem, of(problem, cheapest), most)
    assert found is not None
    assert proven
    monkeypatch.setattr(steps, "MOST_ROWS_HELD", 0)
    assert simpler(problem, of(problem, cheapest), most) == (None, False)


def two_shifts(prices: list[float], rates: list[float]) -> Problem:
    """A day and a night, each start paid for, and two regions at each of several providers."""
    traffic = steady_traffic(("w/0",), np.array([7.3]))
    starts = np.array([[0.0, 0.02], [0.02, 0.0]])
    by_day_and_night = replace(
        traffic,
        demand_per_s=np.array([[7.3], [3.1]]),
        share_of_month=np.array([0.5, 0.5]),
        start_share=starts,
        least_replicas=np.zeros((2, 1), dtype=np.int64),
    )
    numbers = range(len(prices))
    return Problem(
        traffic=by_day_and_night,
        candidates=plain_candidates(numbers, [[rate] for rate in rates]),
        offers=plain_offers(
            prices,
            provider=tuple(f"p{number // 2}" for number in numbers),
            region=tuple(f"p{number // 2}/r{number}" for number in numbers),
        ),
        limits=Limits(1.0),
    )


def test_workloads_that_keep_replicas_running_need_a_configuration_each_beside_hosted_apis() -> None:
    problem = Problem(
        traffic=steady_traffic(("a/k", "b/k"), np.array([1.0, 1.0]), workload=("a", "b")),
        candidates=plain_candidates([0, 0], [[1.0, 0.0], [0.0, 1.0]]),
        offers=plain_offers([1.0]),
        limits=Limits(max_utilization=1.0, max_distinct_configurations=1),
        apis=HostedApis(("api-a", "api-b"), np.array([0, 1]), np.array([1e-9, 1e-9]), ("saas", "saas")),
    )
    assert least_complexity(problem) == Complexity(0, 1, 0)
    assert solve(problem).outcome == "optimal"
    kept = replace(problem, traffic=replace(problem.traffic, least_replicas=np.array([[3, 1]])))
    assert least_complexity(kept) == Complexity(2, 2, 1)
    assert solve(kept).reason == "2 workloads need a configuration each"
    assert solve_plainly(replace(kept, limits=Limits(max_utilization=1.0))).outcome == "optimal"


def test_no_plan_survives_the_loss_of_its_only_instance() -> None:
    """One instance was asked for each time, which took as long as the rest of the search."""
    problem = one_class([1.0, 1.0, 1.9], [1.0, 3.0, 4.0])
    assert least_complexity(problem).instances == 1
    assert least_complexity(replace(problem, limits=replace(problem.limits, survive=("instance",)))).instances == 2


def test_no_count_is_brought_down_once_the_limit_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step was begun all the same, so that a week took twice the time that it was given."""
    problem = one_class([1.0, 1.0, 1.9], [1.0, 3.0, 4.0])
    monkeypatch.setattr(simplest, "search_laid_out", pytest.fail)
    assert simpler(problem, Complexity(2, 4, 2), 1e6, Clock(0.0)) == (None, False)


def test_a_configuration_that_serves_not_every_class_is_no_plan_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the class that nothing serves is worth has no end: a week of three classes ended in an error for it."""
    for name in ("MANY_STREAMS", "MANY_STREAMS_WITH_STARTS", "MOST_RELAXED_STREAMS"):
        monkeypatch.setattr(search, name, 0)
    starts = np.array([[0.0, 0.02], [0.02, 0.0]])
    traffic = replace(
        steady_traffic(("w/0", "w/1"), np.array([7.3, 2.1]), workload=("w", "w")),
        demand_per_s=np.array([[7.3, 2.1], [3.1, 1.2]]),
        share_of_month=np.array([0.5, 0.5]),
        start_share=starts,
        least_replicas=np.zeros((2, 1), dtype=np.int64),
    )
    problem = Problem(
        traffic=traffic,
        candidates=plain_candidates(
            [0, 0, 1, 1], [[9.0, 0.0], [5.0, 0.0], [2.0, 0.0], [0.0, 2.0]], configuration=("x", "y", "z", "z")
        ),
        offers=plain_offers([1.0, 1.1]),
        limits=Limits(1.0, max_distinct_configurations=1),
    )
    found, plainly = solve(problem), solve_plainly(problem)
    assert found.outcome == plainly.outcome == "optimal"
    assert found.cost_usd_per_month == pytest.approx(plainly.cost_usd_per_month)
    assert found.bound_usd_per_month == pytest.approx(found.cost_usd_per_month)
