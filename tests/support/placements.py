"""Random problems that must survive the loss of an instance: some small enough to try every placement, some not."""

from dataclasses import replace
from typing import Any

import numpy as np

from optimizer.base.arrays import Ints
from optimizer.program.problem.data import Candidates, HostedApis, Limits, Offers, QuotaLimit, steady_traffic
from optimizer.program.problem.problem import Problem


def random_problem(seed: int) -> Problem:
    """One or two classes, up to two offers of up to four GPUs, up to three candidates, sometimes a hosted API."""
    random = np.random.default_rng(seed)
    classes, offers = int(random.integers(1, 3)), int(random.integers(1, 3))
    gpus = random.choice([1, 2, 3, 4], offers)
    return _filled(random, classes, gpus, candidates=int(random.integers(classes, 4)), most=1.8)


def larger_problem(seed: int) -> Problem:
    """Up to three classes, six offers of up to eight GPUs and twelve candidates, under up to two more limits."""
    random = np.random.default_rng(seed)
    classes, offers = int(random.integers(1, 4)), int(random.integers(2, 7))
    gpus = random.choice([1, 2, 4, 8], offers)
    problem = _filled(random, classes, gpus, candidates=int(random.integers(offers, 13)), most=6.0)
    limits, candidates = problem.limits, len(problem.candidates)
    more: list[dict[str, Any]] = [
        {"max_distinct_configurations": classes + 1},
        {"max_engines": 1},
        {"min_providers": 2},
        {"max_provider_share": 0.7},
        {"quotas": (QuotaLimit("few", (0,), 8),)},
        {"max_replicas": ((problem.traffic.workload[0], 6),)},
        {},
    ]
    chosen = [more[number] for number in random.choice(len(more), 2, replace=False).tolist()]
    labels = random.integers(0, 4, candidates)
    return replace(
        problem,
        limits=replace(limits, **{name: value for each in chosen for name, value in each.items()}),
        candidates=replace(
            problem.candidates,
            configuration=tuple(f"x{label}" for label in labels.tolist()),
            engine=tuple(f"e{label % 2}" for label in labels.tolist()),
        ),
        offers=replace(problem.offers, available=np.where(random.random(offers) < 0.2, 2.0, np.inf)),
    )


def _filled(random: np.random.Generator, classes: int, gpus: Ints, candidates: int, most: float) -> Problem:
    """A problem of so many classes, of at most so many requests/s each, offers of so many GPUs, and candidates."""
    offers = len(gpus)
    mixes = np.vstack([np.eye(classes), *([np.full((1, classes), 1 / classes)] if classes > 1 else [])])
    offer = random.integers(0, offers, candidates)
    rate = np.zeros((candidates, len(mixes)))
    rate[np.arange(candidates), random.integers(0, len(mixes), candidates)] = random.uniform(0.7, 2.0, candidates)
    hosted = random.random() < 0.2
    max_gpus = int(random.integers(3, 12)) if random.random() < 0.3 else None
    kinds = ("instance", "provider") if random.random() < 0.2 else ("instance",)
    workload = tuple("vwu"[k] for k in range(classes)) if random.random() < 0.4 else ("v",) * classes
    if len(set(workload)) > 1:
        # a candidate serves one workload alone
        rate[:, classes:] = 0.0
        empty = ~rate.any(axis=1)
        rate[empty, 0] = 1.0
    return Problem(
        traffic=steady_traffic(
            tuple(f"{name}/{k}" for k, name in enumerate(workload)), random.uniform(0.3, most, classes), mixes, workload
        ),
        candidates=Candidates(
            ids=tuple(f"c{number}" for number in range(candidates)),
            offer=offer,
            configuration=("x",) * candidates,
            engine=("e",) * candidates,
            gpus_per_replica=2 ** np.minimum(random.integers(0, 3, candidates), np.log2(gpus[offer]).astype(int)),
            rate_per_s=rate,
            replicas_in_force=np.zeros(candidates, dtype=np.int64),
        ),
        offers=Offers(
            ids=tuple(f"o{number}" for number in range(offers)),
            price_usd_per_hour=random.uniform(1.0, 2.0, offers) * gpus,
            gpus_per_instance=gpus,
            power_kw=np.ones(offers),
            carbon_kg_per_hour=np.ones(offers),
            available=np.full(offers, np.inf),
            provider=tuple(str(name) for name in random.choice(["p", "q"], offers)),
            region=("r",) * offers,
            gpu=("g",) * offers,
            spot=np.zeros(offers, dtype=np.bool_),
            always_paid=np.zeros(offers, dtype=np.bool_),
        ),
        limits=Limits(float(random.choice([0.8, 1.0])), survive=kinds, max_gpus=max_gpus),
        apis=HostedApis(("h",), np.array([0]), np.array([5e-4]), ("saas",)) if hosted else HostedApis(),
    )


def at_places(seed: int, survive: tuple[str, ...]) -> Problem:
    """What is for sale in one place, for sale in three regions of two providers at other prices, every third spot."""
    problem, random = larger_problem(seed), np.random.default_rng(seed)
    offers, candidates = problem.offers, problem.candidates
    every, again = np.tile(np.arange(len(offers)), 3), np.tile(np.arange(len(candidates)), 3)
    place = np.repeat(np.arange(3), len(offers)).tolist()
    limits = replace(problem.limits, survive=survive, max_gpus=None, max_provider_share=None, quotas=())
    return replace(
        problem,
        offers=replace(
            offers.select(every),
            ids=tuple(f"o{number}" for number in range(len(every))),
            price_usd_per_hour=offers.price_usd_per_hour[every] * random.uniform(1.0, 1.2, len(every)),
            provider=tuple("pqq"[number] for number in place),
            region=tuple(f"{'pqq'[number]}/{number}" for number in place),
            spot=np.arange(len(every)) % 3 == 2,
        ),
        candidates=replace(
            candidates.select(again),
            ids=tuple(f"c{number:02}" for number in range(len(again))),
            offer=np.concatenate([candidates.offer + number * len(offers) for number in range(3)]),
        ),
        limits=limits,
    )
