"""How many candidates each criterion removed, and which came closest to passing."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.performance.candidates import PoolOptions, WorkloadOptions
from optimizer.performance.criteria import CONFIGURATION_CRITERIA, OFFER_CRITERIA, Criterion
from optimizer.performance.market import Market
from optimizer.plan.plan import NearestMiss, Rejected
from optimizer.program.problem import Floats, Ints


@dataclass(frozen=True)
class Census:
    """All candidates (configuration × offer × pool) counted without listing them.

    Attributes:
        evaluated: Candidates in all.
        kept: Candidates that pass every criterion.
        rejected: The others by criterion.
    """

    evaluated: int
    kept: int
    rejected: Rejected


def census(options: Sequence[WorkloadOptions], market: Market) -> Census:
    """Counts every candidate; a configuration counts once per offer that could hold it."""
    failed: dict[str, int] = defaultdict(int)
    alone: dict[str, int] = defaultdict(int)
    evaluated = kept = 0
    faults = market.failed.sum(axis=1)
    for choice in options:
        every = _offers_by_configuration(choice, market, np.ones(len(market.offers)))
        admitted = _offers_by_configuration(choice, market, faults == 0)
        offer_failed = [
            _offers_by_configuration(choice, market, market.failed[:, j]) for j in range(len(OFFER_CRITERIA))
        ]
        offer_alone = [
            _offers_by_configuration(choice, market, market.failed[:, j] & (faults == 1))
            for j in range(len(OFFER_CRITERIA))
        ]
        for pool in choice.pools:
            misses = pool.failed.sum(axis=1)
            evaluated += int(every.sum())
            kept += int(admitted[misses == 0].sum())
            for j, criterion in enumerate(CONFIGURATION_CRITERIA):
                failed[criterion.name] += int(every[pool.failed[:, j]].sum())
                alone[criterion.name] += int(admitted[pool.failed[:, j] & (misses == 1)].sum())
            for j, criterion in enumerate(OFFER_CRITERIA):
                failed[criterion.name] += int(offer_failed[j].sum())
                alone[criterion.name] += int(offer_alone[j][misses == 0].sum())
    return Census(
        evaluated, kept, Rejected(total=evaluated - kept, by_reason=_positive(failed), only_reason=_positive(alone))
    )


def _positive(counts: dict[str, int]) -> dict[str, int]:
    return {name: counts[name] for name in sorted(counts) if counts[name]}


def _offers_by_configuration(choice: WorkloadOptions, market: Market, weight: Floats) -> Ints:
    """(P,) the summed weight of the offers that could hold each configuration."""
    by_key: dict[tuple[object, int], int] = {}
    gpus = np.array([offer.gpu for offer in market.offers], dtype=object)
    position = {platform: index for index, platform in enumerate(market.platforms)}
    counts = np.zeros(len(choice.configurations), dtype=np.int64)
    for row, (platform, size) in enumerate(zip(choice.platforms, choice.gpus_per_replica.tolist(), strict=True)):
        key = (platform, size)
        if key not in by_key:
            same = gpus == platform[0]
            if size > 1:
                same &= market.platform == position[platform]
            by_key[key] = int(np.sum(weight[same & (market.gpu_count >= size)]))
        counts[row] = by_key[key]
    return counts


def nearest_misses(options: Sequence[WorkloadOptions], market: Market) -> list[NearestMiss]:
    """For every criterion with a number, the configuration on an admitted offer that fails it by least.

    Among all that fail the criterion, those with the fewest other failures come first; then the smallest excess.
    """
    found = []
    for choice in options:
        on_offer = _offers_by_configuration(choice, market, market.admitted.astype(float)) > 0
        for pool in choice.pools:
            found += list(_misses_of_pool(choice, pool, on_offer))
    return found


def _misses_of_pool(choice: WorkloadOptions, pool: PoolOptions, on_offer: np.ndarray) -> Iterator[NearestMiss]:
    misses = pool.failed.sum(axis=1)
    for j, criterion in enumerate(CONFIGURATION_CRITERIA):
        candidates = np.flatnonzero(pool.failed[:, j] & on_offer & np.isfinite(pool.value[:, j]))
        if len(candidates) == 0:
            continue
        excess = pool.value[candidates, j] / pool.limit[candidates, j]
        best = int(candidates[np.lexsort((excess, misses[candidates]))[0]])
        yield _miss(choice, pool, criterion, best, float(pool.value[best, j]), float(pool.limit[best, j]))


def _miss(
    choice: WorkloadOptions, pool: PoolOptions, criterion: Criterion, row: int, value: float, limit: float
) -> NearestMiss:
    c = choice.configurations[row]
    size = c.tensor_parallel * c.pipeline_parallel
    name = f"{choice.workload.model} {c.precision} on {size}×{c.gpu} with {c.engine}"
    others = [
        other.name for k, other in enumerate(CONFIGURATION_CRITERIA) if pool.failed[row, k] and other is not criterion
    ]
    also = f"; it also fails {', '.join(others)}" if others else ""
    verb = {"memory": "needs", "context": "asks for"}.get(criterion.name, "reaches")
    label = {"ttft": "TTFT", "tpot": "TPOT", "e2e": "end to end"}.get(criterion.name, criterion.name)
    text = f"{choice.workload.name}: {label}: {name} {verb} {value:,.1f} {criterion.unit} of {limit:,.1f}{also}"
    return NearestMiss(
        requirement=criterion.loosened_by.format(workload=choice.workload.name),
        criterion=criterion.name,
        candidate=name,
        value=value,
        limit=limit,
        unit=criterion.unit,
        other_failures=others,
        text=text,
    )
