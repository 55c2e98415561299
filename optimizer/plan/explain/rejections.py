"""How many candidates each criterion removed, and which came closest to passing."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.performance.candidates.options import PoolOptions, WorkloadOptions
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA, OFFER_CRITERIA, Criterion
from optimizer.performance.market.market import Market
from optimizer.plan.explain.limiters import spent_on, words
from optimizer.plan.record.explanation import NearestMiss, Rejected

NEAREST = 3
"""Nearest misses told for one criterion: the best GPU may not be to be had."""


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
        fits = choice.fits.astype(np.int64)
        every, admitted = fits.sum(axis=1)[choice.kind], (fits @ (faults == 0))[choice.kind]
        offer_failed = (fits @ market.failed)[choice.kind]
        offer_alone = (fits @ (market.failed & (faults == 1)[:, None]))[choice.kind]
        for pool in choice.pools:
            misses = pool.failed.sum(axis=1)
            evaluated += int(every.sum())
            kept += int(admitted[misses == 0].sum())
            for j, criterion in enumerate(CONFIGURATION_CRITERIA):
                failed[criterion.name] += int(every[pool.failed[:, j]].sum())
                alone[criterion.name] += int(admitted[pool.failed[:, j] & (misses == 1)].sum())
            for j, criterion in enumerate(OFFER_CRITERIA):
                failed[criterion.name] += int(offer_failed[:, j].sum())
                alone[criterion.name] += int(offer_alone[misses == 0, j].sum())
    return Census(
        evaluated, kept, Rejected(total=evaluated - kept, by_reason=_positive(failed), only_reason=_positive(alone))
    )


def _positive(counts: dict[str, int]) -> dict[str, int]:
    return {name: counts[name] for name in sorted(counts) if counts[name]}


def nearest_misses(options: Sequence[WorkloadOptions], market: Market) -> list[NearestMiss]:
    """For every criterion with a number, the configurations on admitted offers that fail it by least, one a GPU.

    Only for workloads that no candidate serves: elsewhere the candidates are not what is missing.
    Among all that fail the criterion, those with the fewest other failures come first; then the smallest excess.
    Misses with more failures than the best of them say nothing that would help and are left out.
    """
    found = []
    for choice in options:
        on_offer: Flags = np.any(choice.fits[:, market.admitted], axis=1)[choice.kind]
        if not any((pool.passed & on_offer).any() for pool in choice.pools):
            for pool in choice.pools:
                found += list(_misses_of_pool(choice, pool, on_offer))
    fewest = min((len(miss.other_failures) for miss in found), default=0)
    return [miss for miss in found if len(miss.other_failures) == fewest]


def _misses_of_pool(choice: WorkloadOptions, pool: PoolOptions, on_offer: Flags) -> Iterator[NearestMiss]:
    misses = pool.failed.sum(axis=1)
    for j, criterion in enumerate(CONFIGURATION_CRITERIA):
        candidates = np.flatnonzero(pool.failed[:, j] & on_offer & np.isfinite(pool.value[:, j]))
        if len(candidates) == 0:
            continue
        excess = pool.value[candidates, j] / pool.limit[candidates, j]
        nearest = candidates[np.lexsort((excess, misses[candidates]))].tolist()
        by_gpu = {choice.configurations[row].gpu: row for row in reversed(nearest)}
        for best in [row for row in nearest if by_gpu[choice.configurations[row].gpu] == row][:NEAREST]:
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
    shares = spent_on(choice, pool, row, criterion.name)
    cause = f", mostly {words(shares)}" if shares else ""
    text = f"{choice.workload.name}: {label}: {name} {verb} {value:,.1f} {criterion.unit} of {limit:,.1f}{cause}{also}"
    return NearestMiss(
        requirement=criterion.field(choice.workload.name),
        criterion=criterion.name,
        candidate=name,
        value=value,
        limit=limit,
        unit=criterion.unit,
        other_failures=others,
        spent_on=shares,
        text=text,
    )
