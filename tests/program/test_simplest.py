"""The simplest plan within a cost is the first of all: fewest configurations, then places, then instances, then USD.

Fewer instances count where they put no workload on a single one."""

from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.brute_force import Enumeration
from support.instances import KINDS, TINY, problems
from support.plain import plain_candidates, plain_offers
from support.promises import faults

from optimizer.base.arrays import Flags, Ints
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


def simplest_by_enumeration(
    problem: Problem, every: Enumeration, most_usd_per_hour: float
) -> list[tuple[Complexity, float]]:
    """The counts that are fewest one after the other, and what the cheapest plan of so few costs.

    Fewer instances are those of machines of which one could not carry a workload by itself, where the cheapest plan of
    so few configurations and places has it on several. Where several cost as little any of them may be that one.
    """
    within, least, cheapest = most_usd_per_hour * (1 + 1e-9), Complexity(MOST, MOST, MOST), np.inf
    for name in ("configurations", "places"):
        for count in range(MOST + 1):
            cost = every.cheapest(held(problem, least._replace(**{name: count})))
            if cost is not None and cost <= within:
                least, cheapest = least._replace(**{name: count}), cost
                break
    names, carries = sorted(set(problem.traffic.workload)), carry_all(problem)
    found = []
    for alone in (frozenset(some) for number in range(len(names) + 1) for some in combinations(names, number)):
        like = every.of_each(lambda replicas, instances, alone=alone: single(problem, replicas, instances) == alone)
        cost = every.cheapest(held(problem, least), like)
        if cost is None or cost > cheapest * (1 + 1e-9):
            continue
        never = np.array([workload not in alone for workload in workloads(problem)]) & carries
        on_several = every.of_each(lambda replicas, _, never=never: not replicas[:, never].any())
        for count in range(MOST + 1):
            fewer = held(problem, least._replace(instances=count))
            costs = [every.cheapest(fewer, on_several), every.cheapest(fewer, like)]
            kept = [
                cost for cost, most in zip(costs, (within, cheapest * (1 + 1e-9)), strict=True) if cost and cost <= most
            ]
            if kept:
                found.append((least._replace(instances=count), min(kept)))
                break
    return found


def workloads(problem: Problem) -> list[str]:
    """By candidate, the one whose requests it serves."""
    mixes = [int(np.flatnonzero(rates)[0]) if rates.any() else 0 for rates in problem.candidates.rate_per_s]
    return [problem.traffic.workload[int(problem.traffic.mixes[m].argmax())] for m in mixes]


def carry_all(problem: Problem) -> Flags:
    """By candidate, whether one instance of it carries its workload by itself, where nothing must survive a loss."""
    limits, traffic, found = problem.limits, problem.traffic, []
    lasting = limits.survive or limits.spare_on_other_instances or max(limits.min_providers, limits.min_regions) > 1
    for c, workload in enumerate(workloads(problem)):
        offer, rates = problem.candidates.offer[c], problem.candidates.rate_per_s[c]
        held = problem.offers.gpus_per_instance[offer] // problem.candidates.gpus_per_replica[c]
        loaded = min(held * limits.max_utilization, held - limits.spare_replicas)
        own = [k for k, name in enumerate(traffic.workload) if name == workload]
        most = [max(rate * mix[k] for rate, mix in zip(rates, traffic.mixes, strict=True)) for k in own]
        carried = traffic.demand_per_s[:, own] <= loaded * np.array(most) * (1 + 1e-6)
        found.append(bool(carried.all()) and not lasting)
    return np.array(found, dtype=np.bool_)


def single(problem: Problem, replicas: Ints, instances: Ints) -> frozenset[str]:
    """The workloads of which never more than one instance runs."""
    found, names = set(), workloads(problem)
    for name in set(names):
        own = [c for c, each in enumerate(names) if each == name]
        counts = []
        for ran, bought in zip(replicas, instances, strict=True):
            counts.append(sum(int(bought[o]) for o in {int(problem.candidates.offer[c]) for c in own if ran[c]}))
        if max(counts) == 1:
            found.add(name)
    return frozenset(found)


def simpler(
    problem: Problem,
    known: Complexity,
    most_usd: float,
    clock: Clock | None = None,
    *,
    alone: frozenset[str] = frozenset(["workload"]),
) -> tuple[Solution | None, bool]:
    search = partial(search_simplest, known=known, break_ties=True, single=alone)
    return solve_simpler(problem, search, most_usd, clock)


def agrees(problem: Problem, share: float) -> None:
    problem = in_places_of_their_own(problem)
    every = Enumeration(problem)
    expected = every.cheapest(problem)
    if expected is None or np.isnan(expected):
        return
    cheapest = solve(problem)
    assert cheapest.cost_usd_per_month is not None
    most = cheapest.cost_usd_per_month * (1 + share)
    may_be = simplest_by_enumeration(problem, every, most / HOURS_PER_MONTH)
    alone = single(problem, cheapest.replicas, cheapest.instances)
    found, proven = simpler(problem, of(problem, cheapest), most, alone=alone)
    assert proven
    shown = cheapest if found is None else found
    assert shown.cost_usd_per_month is not None
    counts, usd_per_hour = of(problem, shown), shown.cost_usd_per_month / HOURS_PER_MONTH
    assert any(counts == own and usd_per_hour == pytest.approx(usd, rel=1e-7) for own, usd in may_be)
    assert not faults(problem, shown)
    # as simple a plan is the cheapest of those that have no more of anything
    no_more, proven = solve_simpler(problem, partial(search_no_more, most=counts), most)
    assert proven
    assert no_more is not None
    assert no_more.cost_usd_per_month <= shown.cost_usd_per_month * (1 + 1e-7)


SHARES = st.sampled_from([0.0, 0.05, 0.3, 1.0])


@settings(max_examples=12)
@given(problems("mixed_replicas"), SHARES)
def test_the_simplest_plan_is_the_first_of_all_plans(problem: Problem, share: float) -> None:
    agrees(problem, share)


@pytest.mark.slow("enumerates every plan of each count of problems with each family")
@pytest.mark.parametrize("family", MACHINES)
def test_the_simplest_plan_is_the_first_under_every_family(family: str) -> None:
    settings(max_examples=8)(given(problems(family), SHARES)(agrees))()


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([0.05, 0.3, 1.0]))
def test_no_workload_comes_to_stand_on_a_single_instance(seed: int, share: float) -> None:
    agrees(of_one_place(seed), share)


def of_one_place(seed: int) -> Problem:
    """Two workloads, or one, of a configuration each on machines of several sizes that one seller has in one region."""
    random = np.random.default_rng(seed)
    names = ("a", "b")[: int(random.integers(1, 3))]
    demand, count = random.uniform(1.0, 3.0, len(names)), 3
    pairs = [(offer, k) for offer in range(count) for k in range(len(names)) if k == 0 or random.random() < 0.7]
    rates = np.zeros((len(pairs), len(names)))
    for row, (offer, k) in enumerate(pairs):
        rates[row, k] = random.uniform(0.4, 1.2) * (1 + offer) ** 0.8
    if not rates.any(axis=0).all():
        rates[-1, -1] = 1.0
    return Problem(
        traffic=steady_traffic(tuple(f"{name}/k" for name in names), demand, workload=names),
        candidates=plain_candidates(
            [offer for offer, _ in pairs], rates, configuration=tuple(names[int(row.argmax())] for row in rates)
        ),
        offers=plain_offers(
            random.uniform(0.8, 1.2, count) * (1 + np.arange(count)) ** 0.9,
            gpus_per_instance=random.integers(1, 3, count),
            provider=("p",) * count,
            region=("p/r",) * count,
        ),
        limits=Limits(float(random.choice([1.0, 0.8]))),
    )


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


def test_one_instance_is_no_simpler_than_several_of_a_workload() -> None:
    """A card stood for six cheaper ones of which any one may fail, and was dearer."""
    problem = one_class([1.0, 2.1, 3.1], [0.7, 2.0, 4.0])
    problem = replace(problem, candidates=replace(problem.candidates, configuration=("k",) * 3))
    cheapest = solve(problem, cutoff_usd_per_month=3.1 * HOURS_PER_MONTH)
    assert cheapest.instances.tolist() == [[0, 0, 1]]
    small = replace(problem, offers=replace(problem.offers, price_usd_per_hour=np.array([0.5, 2.1, 3.1])))
    cheapest = solve(small)
    known, most = of(small, cheapest), 4.2 * HOURS_PER_MONTH
    assert (known, cheapest.instances.tolist()) == (Complexity(1, 2, 6), [[6, 0, 0]])
    # two boxes for six cards are simpler, the box that would do alone is not
    found, proven = simpler(small, known, most, alone=frozenset())
    assert proven
    assert found is not None
    assert found.instances.tolist() == [[0, 2, 0]]
    assert simpler(small, known, 3.1 * HOURS_PER_MONTH, alone=frozenset()) == (None, True)
    # where the workload stands on one anyway it may stand on this one
    found, proven = simpler(small, known, most)
    assert proven
    assert found is not None
    assert found.instances.tolist() == [[0, 0, 1]]


def test_each_workload_is_kept_on_several_by_itself() -> None:
    problem = Problem(
        traffic=steady_traffic(("a/k", "b/k"), np.array([4.0, 1.0]), workload=("a", "b")),
        candidates=plain_candidates([0, 1, 1], [[2.0, 0.0], [4.0, 0.0], [0.0, 1.0]], configuration=("a", "a", "b")),
        offers=plain_offers([1.0, 2.1]),
        limits=Limits(1.0),
    )
    problem = replace(problem, offers=replace(problem.offers, provider=("p", "p"), region=("p/r", "p/r")))
    cheapest = solve(problem)
    assert cheapest.instances.tolist() == [[2, 1]]
    alone = single(problem, cheapest.replicas, cheapest.instances)
    assert alone == {"b"}
    assert simpler(problem, of(problem, cheapest), 1e6, alone=alone) == (None, True)
    found, _ = simpler(problem, of(problem, cheapest), 1e6, alone=frozenset("ab"))
    assert found is not None
    assert found.instances.tolist() == [[0, 2]]


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
