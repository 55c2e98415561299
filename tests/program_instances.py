"""Small purchase problems, by hand and by Hypothesis, for the tests of the program."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

from optimizer.program.problem import Limits, Problem, Quota

PROVIDERS, REGIONS = ("aws", "gcp"), ("east", "west")


def tiny_problem(**limits: Any) -> Problem:
    """Two classes, three offers (one spot), four candidates; enough for every family to have rows."""
    return Problem(
        request_classes=("chat/long", "chat/short"),
        demand_per_s=np.array([2.0, 5.0]),
        candidates=("a-tp1-long", "a-tp2-mixed", "b-tp1-short", "c-tp1-long"),
        offer_index=np.array([0, 0, 1, 2]),
        configuration=("x", "y", "x", "x"),
        gpus_per_replica=np.array([1, 2, 1, 1]),
        replica_rate_per_s=np.array([1.0, 3.5, 4.0, 1.5]),
        mix=np.array([[1.0, 0.0], [0.4, 0.6], [0.0, 1.0], [1.0, 0.0]]),
        offers=("a", "b", "c"),
        price_usd_per_hour=np.array([4.0, 1.5, 0.5]),
        gpus_per_instance=np.array([4, 1, 2]),
        power_kw_per_instance=np.array([2.0, 0.5, 0.75]),
        provider=("aws", "gcp", "gcp"),
        region=("east", "east", "west"),
        gpu=("h100", "l4", "t4"),
        spot=np.array([False, False, True]),
        limits=Limits(max_utilization=0.8, **limits),
    )


TINY_LIMITS: dict[str, dict[str, Any]] = {
    "max_gpus": {"max_gpus": 12},
    "max_monthly_usd": {"max_monthly_usd": 7300.0},
    "max_power_kw": {"max_power_kw": 9.0},
    "quotas": {"quotas": (Quota("aws/east", (0,), 8), Quota("gcp", (1, 2), 6))},
    "max_spot_share": {"max_spot_share": 0.25},
    "spare_replicas": {"spare_replicas": 1},
    "max_distinct_configurations": {"max_distinct_configurations": 1},
    "min_providers": {"min_providers": 2},
    "min_regions": {"min_regions": 2},
}


@st.composite
def problems(draw: st.DrawFn, family: str = "", most_candidates: int = 3) -> Problem:
    """A random problem small enough for brute force, under one family's limit (or several for `any`)."""
    classes = draw(st.integers(1, 2))
    offers, candidates = draw(st.integers(1, 3)), draw(st.integers(1, most_candidates))
    gpus = [draw(st.sampled_from([1, 2, 3, 4])) for _ in range(offers)]
    index = [draw(st.integers(0, offers - 1)) for _ in range(candidates)]
    mixes = [[1.0, 0.0], [0.0, 1.0]] + ([[0.5, 0.5]] if family not in ("max_spot_share", "any") else [])
    mix = [draw(st.sampled_from(mixes)) if classes == 2 else [1.0] for _ in range(candidates)]
    tenths = st.integers(8, 40).map(lambda value: value / 10)
    return Problem(
        request_classes=tuple(f"w/{k}" for k in range(classes)),
        demand_per_s=np.array([draw(st.integers(2, 25)) / 10 for _ in range(classes)]),
        candidates=tuple(f"c{number}" for number in range(candidates)),
        offer_index=np.array(index),
        configuration=tuple(draw(st.sampled_from("xyz")) for _ in range(candidates)),
        gpus_per_replica=np.array([draw(st.sampled_from([s for s in (1, 2, 4) if s <= gpus[o]])) for o in index]),
        replica_rate_per_s=np.array([draw(tenths) for _ in range(candidates)]),
        mix=np.array(mix),
        offers=tuple(f"o{number}" for number in range(offers)),
        price_usd_per_hour=np.array([draw(st.integers(5, 60)) / 10 for _ in range(offers)]),
        gpus_per_instance=np.array(gpus),
        power_kw_per_instance=np.array([draw(st.integers(1, 20)) / 10 for _ in range(offers)]),
        provider=tuple(draw(st.sampled_from(PROVIDERS)) for _ in range(offers)),
        region=tuple(draw(st.sampled_from(REGIONS)) for _ in range(offers)),
        gpu=("g",) * offers,
        spot=np.array([draw(st.booleans()) for _ in range(offers)]),
        limits=draw(limits(family, offers)),
    )


@st.composite
def limits(draw: st.DrawFn, family: str, offers: int) -> Limits:
    """Limits with one family active, or a random few of them."""
    choices: dict[str, st.SearchStrategy[Any]] = {
        "max_gpus": st.integers(1, 8),
        "max_monthly_usd": st.integers(5, 200).map(lambda value: value * 73.0),
        "max_power_kw": st.integers(2, 60).map(lambda value: value / 10),
        "quotas": st.builds(
            lambda first, second: (Quota("p", tuple(range(min(2, offers))), first), Quota("q", (offers - 1,), second)),
            st.integers(0, 6),
            st.integers(0, 6),
        ),
        "max_spot_share": st.sampled_from([0.0, 0.3, 0.7, 1.0]),
        "spare_replicas": st.integers(1, 2),
        "max_distinct_configurations": st.integers(1, 2),
        "min_providers": st.just(2),
        "min_regions": st.just(2),
    }
    several = sorted(draw(st.sets(st.sampled_from(sorted(choices)), max_size=4)))
    active = several if family == "any" else [family] if family in choices else []
    return Limits(draw(st.sampled_from([0.7, 0.8, 1.0])), **{name: draw(choices[name]) for name in active})


def cheapest_by_enumeration(problem: Problem) -> float | None:
    """Hourly cost of the cheapest plan, found by trying every count of replicas; None when none is feasible."""
    ceilings = []
    for c, rate in enumerate(problem.replica_rate_per_s):
        whole = max(d / m for d, m in zip(problem.demand_per_s, problem.mix[c], strict=True) if m > 0)
        busy = int(np.ceil(whole / (problem.limits.max_utilization * rate) - 1e-7))
        ceilings.append(max(busy, int(np.ceil(whole / rate - 1e-7)) + problem.limits.spare_replicas, 1))
    costs = [_cost(problem, counts) for counts in product(*(range(ceiling + 1) for ceiling in ceilings))]
    feasible = [cost for cost in costs if cost is not None]
    return min(feasible) if feasible else None


def _cost(problem: Problem, replicas: tuple[int, ...]) -> float | None:
    if not carries_demand(problem, replicas):
        return None
    instances = [
        fewest_bins(
            [
                problem.gpus_per_replica[c]
                for c, n in enumerate(replicas)
                if problem.offer_index[c] == o
                for _ in range(n)
            ],
            size,
        )
        for o, size in enumerate(problem.gpus_per_instance)
    ]
    cost = float(np.dot(instances, problem.price_usd_per_hour))
    return cost if keeps_limits(problem, replicas, instances, cost) else None


def keeps_limits(problem: Problem, replicas: tuple[int, ...], instances: list[int], cost: float) -> bool:
    """Whether counts keep every limit but those on flows."""
    limits, gpus = problem.limits, np.array(instances) * problem.gpus_per_instance
    idle_spot = limits.max_spot_share == 0
    counted = [
        problem.offer_index[c]
        for c, n in enumerate(replicas)
        if n > limits.spare_replicas and not (idle_spot and problem.spot[problem.offer_index[c]])
    ]
    kinds = {problem.configuration[c] for c, n in enumerate(replicas) if n}
    within = [
        limits.max_gpus is None or gpus.sum() <= limits.max_gpus,
        limits.max_monthly_usd is None or cost * 730 <= limits.max_monthly_usd + 1e-6,
        limits.max_power_kw is None or np.dot(instances, problem.power_kw_per_instance) <= limits.max_power_kw + 1e-9,
        limits.max_distinct_configurations is None or len(kinds) <= limits.max_distinct_configurations,
        len({problem.provider[o] for o in counted}) >= limits.min_providers,
        len({problem.region[o] for o in counted}) >= limits.min_regions,
        *(sum(gpus[o] for o in quota.offers) <= quota.max_gpus for quota in limits.quotas),
    ]
    return all(within)


def carries_demand(problem: Problem, replicas: tuple[int, ...]) -> bool:
    """Whether replicas can serve the demand; exact for single-class candidates or without a limit on spot."""
    limits = problem.limits
    room = np.array(
        [
            min(limits.max_utilization * rate * n, rate * max(n - limits.spare_replicas, 0))
            for rate, n in zip(problem.replica_rate_per_s, replicas, strict=True)
        ]
    )
    if limits.max_spot_share is None:
        return bool((room @ problem.mix >= problem.demand_per_s * (1 - 1e-9)).all())
    spot = problem.spot[problem.offer_index]
    short = np.maximum(problem.demand_per_s - (room * ~spot) @ problem.mix, 0.0)
    from_spot = (room * spot) @ problem.mix
    allowed = limits.max_spot_share * problem.demand_per_s.sum()
    return bool((short <= from_spot + 1e-9).all() and short.sum() <= allowed + 1e-9)


def fewest_bins(sizes: list[int], bin_size: int) -> int:
    """Fewest bins that hold the sizes, by trying every assignment (order of bins aside)."""

    def fits(rest: list[int], bins: tuple[int, ...]) -> bool:
        if not rest:
            return True
        return any(
            fits(rest[1:], tuple(sorted((*bins[:i], bins[i] - rest[0], *bins[i + 1 :]))))
            for i in range(len(bins))
            if bins[i] >= rest[0] and bins[i] not in bins[:i]
        )

    falling = sorted((int(size) for size in sizes), reverse=True)
    return next(count for count in range(len(falling) + 1) if fits(falling, (int(bin_size),) * count))


def shuffled(problem: Problem, seed: int) -> tuple[Problem, np.ndarray, np.ndarray]:
    """The same problem with classes, candidates and offers in another order, and the orders used."""
    random = np.random.default_rng(seed)
    classes = random.permutation(len(problem.request_classes))
    candidates, offers = random.permutation(len(problem.candidates)), random.permutation(len(problem.offers))
    position = np.argsort(offers)
    quotas = tuple(
        replace(quota, offers=tuple(int(position[o]) for o in quota.offers)) for quota in problem.limits.quotas
    )

    def pick(names: tuple[str, ...], order: np.ndarray) -> tuple[str, ...]:
        return tuple(names[i] for i in order)

    return (
        Problem(
            request_classes=pick(problem.request_classes, classes),
            demand_per_s=problem.demand_per_s[classes],
            candidates=pick(problem.candidates, candidates),
            offer_index=position[problem.offer_index[candidates]],
            configuration=pick(problem.configuration, candidates),
            gpus_per_replica=problem.gpus_per_replica[candidates],
            replica_rate_per_s=problem.replica_rate_per_s[candidates],
            mix=problem.mix[np.ix_(candidates, classes)],
            offers=pick(problem.offers, offers),
            price_usd_per_hour=problem.price_usd_per_hour[offers],
            gpus_per_instance=problem.gpus_per_instance[offers],
            power_kw_per_instance=problem.power_kw_per_instance[offers],
            provider=pick(problem.provider, offers),
            region=pick(problem.region, offers),
            gpu=pick(problem.gpu, offers),
            spot=problem.spot[offers],
            limits=replace(problem.limits, quotas=quotas[::-1]),
        ),
        candidates,
        offers,
    )
