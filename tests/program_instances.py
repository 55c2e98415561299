"""Small purchase problems, by hand and by Hypothesis, for the tests of the program."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

from optimizer.program.given import Candidates, Limits, Offers, Quota, steady_traffic
from optimizer.program.problem import Problem

PROVIDERS, REGIONS = ("aws", "gcp"), ("east", "west")


def tiny_problem(**limits: Any) -> Problem:
    """Two classes, three offers (one spot), four candidates; enough for every family to have rows."""
    return Problem(
        traffic=steady_traffic(
            ("chat/long", "chat/short"), np.array([2.0, 5.0]), np.array([[1.0, 0.0], [0.4, 0.6], [0.0, 1.0]])
        ),
        candidates=Candidates(
            ids=("a-tp1-long", "a-tp2-mixed", "b-tp1-short", "c-tp1-long"),
            offer=np.array([0, 0, 1, 2]),
            configuration=("x", "y", "x", "x"),
            engine=("vllm", "vllm", "sglang", "vllm"),
            gpus_per_replica=np.array([1, 2, 1, 1]),
            rate_per_s=np.array([[1.0, 0.0, 0.0], [0.0, 3.5, 0.0], [0.0, 0.0, 4.0], [1.5, 0.0, 0.0]]),
            replicas_in_force=np.zeros(4, dtype=np.int64),
        ),
        offers=Offers(
            ids=("a", "b", "c"),
            price_usd_per_hour=np.array([4.0, 1.5, 0.5]),
            gpus_per_instance=np.array([4, 1, 2]),
            power_kw=np.array([2.0, 0.5, 0.75]),
            carbon_kg_per_hour=np.array([0.8, 0.2, 0.3]),
            available=np.full(3, np.inf),
            provider=("aws", "gcp", "gcp"),
            region=("east", "east", "west"),
            gpu=("h100", "l4", "t4"),
            spot=np.array([False, False, True]),
            always_paid=np.zeros(3, dtype=bool),
        ),
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
    tenths = st.integers(8, 40).map(lambda value: value / 10)
    shares = np.array(mixes[: classes + (classes == 2 and len(mixes) == 3)]) if classes == 2 else np.ones((1, 1))
    which = [draw(st.integers(0, len(shares) - 1)) for _ in range(candidates)]
    rate = np.zeros((candidates, len(shares)))
    for c, m in enumerate(which):
        rate[c, m] = draw(tenths)
    return Problem(
        traffic=steady_traffic(
            tuple(f"w/{k}" for k in range(classes)),
            np.array([draw(st.integers(2, 25)) / 10 for _ in range(classes)]),
            shares,
        ),
        candidates=Candidates(
            ids=tuple(f"c{number}" for number in range(candidates)),
            offer=np.array(index),
            configuration=tuple(draw(st.sampled_from("xyz")) for _ in range(candidates)),
            engine=tuple(draw(st.sampled_from("ef")) for _ in range(candidates)),
            gpus_per_replica=np.array([draw(st.sampled_from([s for s in (1, 2, 4) if s <= gpus[o]])) for o in index]),
            rate_per_s=rate,
            replicas_in_force=np.zeros(candidates, dtype=np.int64),
        ),
        offers=Offers(
            ids=tuple(f"o{number}" for number in range(offers)),
            price_usd_per_hour=np.array([draw(st.integers(5, 60)) / 10 for _ in range(offers)]),
            gpus_per_instance=np.array(gpus),
            power_kw=np.array([draw(st.integers(1, 20)) / 10 for _ in range(offers)]),
            carbon_kg_per_hour=np.array([draw(st.integers(1, 20)) / 10 for _ in range(offers)]),
            available=np.full(offers, np.inf),
            provider=tuple(draw(st.sampled_from(PROVIDERS)) for _ in range(offers)),
            region=tuple(draw(st.sampled_from(REGIONS)) for _ in range(offers)),
            gpu=("g",) * offers,
            spot=np.array([draw(st.booleans()) for _ in range(offers)]),
            always_paid=np.zeros(offers, dtype=bool),
        ),
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
    mix, rates = only_mix(problem)
    for c, rate in enumerate(rates):
        whole = max(d / m for d, m in zip(problem.traffic.demand_per_s[0], mix[c], strict=True) if m > 0)
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
                problem.candidates.gpus_per_replica[c]
                for c, n in enumerate(replicas)
                if problem.candidates.offer[c] == o
                for _ in range(n)
            ],
            size,
        )
        for o, size in enumerate(problem.offers.gpus_per_instance)
    ]
    cost = float(np.dot(instances, problem.offers.price_usd_per_hour))
    return cost if keeps_limits(problem, replicas, instances, cost) else None


def keeps_limits(problem: Problem, replicas: tuple[int, ...], instances: list[int], cost: float) -> bool:
    """Whether counts keep every limit but those on flows."""
    limits, gpus = problem.limits, np.array(instances) * problem.offers.gpus_per_instance
    idle_spot = limits.max_spot_share == 0
    counted = [
        problem.candidates.offer[c]
        for c, n in enumerate(replicas)
        if n > limits.spare_replicas and not (idle_spot and problem.offers.spot[problem.candidates.offer[c]])
    ]
    kinds = {problem.candidates.configuration[c] for c, n in enumerate(replicas) if n}
    within = [
        limits.max_gpus is None or gpus.sum() <= limits.max_gpus,
        limits.max_monthly_usd is None or cost * 730 <= limits.max_monthly_usd + 1e-6,
        limits.max_power_kw is None or np.dot(instances, problem.offers.power_kw) <= limits.max_power_kw + 1e-9,
        limits.max_distinct_configurations is None or len(kinds) <= limits.max_distinct_configurations,
        len({problem.offers.provider[o] for o in counted}) >= limits.min_providers,
        len({problem.offers.region[o] for o in counted}) >= limits.min_regions,
        *(sum(gpus[o] for o in quota.offers) <= quota.max_gpus for quota in limits.quotas),
    ]
    return all(within)


def carries_demand(problem: Problem, replicas: tuple[int, ...]) -> bool:
    """Whether replicas can serve the demand; exact for single-class candidates or without a limit on spot."""
    limits, (mix, rates), demand = problem.limits, only_mix(problem), problem.traffic.demand_per_s[0]
    room = np.array(
        [
            min(limits.max_utilization * rate * n, rate * max(n - limits.spare_replicas, 0))
            for rate, n in zip(rates, replicas, strict=True)
        ]
    )
    if limits.max_spot_share is None:
        return bool((room @ mix >= demand * (1 - 1e-9)).all())
    spot = problem.offers.spot[problem.candidates.offer]
    short = np.maximum(demand - (room * ~spot) @ mix, 0.0)
    from_spot = (room * spot) @ mix
    allowed = limits.max_spot_share * demand.sum()
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


def only_mix(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """(C, K) shares and (C,) rate of the single mix that each candidate serves."""
    which = problem.candidates.rate_per_s.argmax(axis=1)
    return problem.traffic.mixes[which], problem.candidates.rate_per_s.max(axis=1)


def shuffled(problem: Problem, seed: int) -> tuple[Problem, np.ndarray, np.ndarray]:
    """The same problem with classes, candidates and offers in another order, and the orders used."""
    random = np.random.default_rng(seed)
    classes = random.permutation(len(problem.traffic.classes))
    candidates, offers = random.permutation(len(problem.candidates)), random.permutation(len(problem.offers))
    position = np.argsort(offers)
    quotas = tuple(
        replace(quota, offers=tuple(int(position[o]) for o in quota.offers)) for quota in problem.limits.quotas
    )
    traffic = replace(
        problem.traffic,
        classes=tuple(problem.traffic.classes[k] for k in classes),
        demand_per_s=problem.traffic.demand_per_s[:, classes],
        mixes=problem.traffic.mixes[:, classes],
    )
    taken = problem.candidates.take(candidates)
    return (
        replace(
            problem,
            traffic=traffic,
            candidates=replace(taken, offer=position[taken.offer]),
            offers=problem.offers.take(offers),
            limits=replace(problem.limits, quotas=quotas[::-1]),
        ),
        candidates,
        offers,
    )
