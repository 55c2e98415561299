"""How many candidates each criterion removed, and which came closest to passing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags, Ints
from optimizer.base.figures import exactly, figure
from optimizer.performance.candidates.options import PoolOptions, WorkloadOptions
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA, OFFER_CRITERIA, Criterion
from optimizer.performance.market.market import Market
from optimizer.plan.grounds.limiters import largest_causes, spent_on
from optimizer.plan.record.explanation import NearestMiss, Rejected

NEAREST = 3
"""Nearest misses shown for one criterion: the best GPU may not be to be had."""

LISTS = [at for at, criterion in enumerate(CONFIGURATION_CRITERIA) if criterion.name.endswith("_policy")]
"""Criteria that are lists of the user's own: what they keep out is not what is missing."""

LABELS = {"ttft": "TTFT", "tpot": "TPOT", "e2e": "end to end"}
VERBS = {"memory": "needs", "context": "asks for"}
"""Of criteria that are not reached."""


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
    evaluated = kept = 0
    failed, alone = np.zeros((2, len(CONFIGURATION_CRITERIA) + len(OFFER_CRITERIA)), dtype=np.int64)
    offer_faults, criteria = market.failed.sum(axis=1), len(OFFER_CRITERIA)
    # (offer, column): fails a criterion, fails nothing else, is offered at all, is admitted
    told = np.column_stack(
        [market.failed, market.failed & (offer_faults == 1)[:, None], offer_faults >= 0, offer_faults == 0]
    )
    for choice in options:
        # (kind, offer criterion) offers that fail it and that fail nothing else; (configuration,) all and admitted ones
        of_kind_by_column = _counted(choice.fits, told)
        by_offer, by_offer_alone = of_kind_by_column[:, :criteria], of_kind_by_column[:, criteria : 2 * criteria]
        offers, admitted = of_kind_by_column[choice.kind, -2:].T
        of_kind = np.bincount(choice.kind, minlength=len(choice.kinds))
        for pool in choice.pools:
            faults = pool.failed.sum(axis=1)
            evaluated += int(offers.sum())
            kept += int(admitted[faults == 0].sum())
            # (criterion,) candidates: of configurations, then of offers
            failed += np.concatenate([offers @ pool.failed, of_kind @ by_offer])
            single = pool.failed & (faults == 1)[:, None]
            faultless = np.bincount(choice.kind[faults == 0], minlength=len(choice.kinds))
            alone += np.concatenate([admitted @ single, faultless @ by_offer_alone])
    rejected = Rejected(total=evaluated - kept, by_reason=_by_name(failed), only_reason=_by_name(alone))
    return Census(evaluated, kept, rejected)


def _counted(fits: Flags, told: Flags) -> Ints:
    """(kinds, columns) offers that could hold a kind and are told of; floats count them exactly, and sooner."""
    return np.rint(fits.astype(np.float64) @ told.astype(np.float64)).astype(np.int64)


def _by_name(counts: Ints) -> dict[str, int]:
    names = [criterion.name for criterion in (*CONFIGURATION_CRITERIA, *OFFER_CRITERIA)]
    return {name: count for name, count in sorted(zip(names, counts.tolist(), strict=True)) if count}


def on_admitted_offer(options: WorkloadOptions, market: Market) -> Flags:
    """(P,) whether some admitted offer could hold a replica of the configuration."""
    on_offer: Flags = np.any(options.fits[:, market.admitted], axis=1)[options.kind]
    return on_offer


def nearest_misses(options: Sequence[WorkloadOptions], market: Market) -> list[NearestMiss]:
    """For every criterion with a number, the configurations on admitted offers that fail it by least, one a GPU.

    Only for workloads that no candidate serves: elsewhere the candidates are not what is missing.
    Among all that fail the criterion, those with the fewest other failures come first; then the smallest excess.
    What the user's own lists of engines and precisions keep out is no miss.
    Misses with more failures than the best of them say nothing that would help and are left out.
    """
    found: list[NearestMiss] = []
    for choice in options:
        on_offer = on_admitted_offer(choice, market)
        if not any((pool.passed & on_offer).any() for pool in choice.pools):
            for pool in choice.pools:
                found += _misses_of_pool(choice, pool, on_offer)
    fewest = min((len(miss.other_failures) for miss in found), default=0)
    return [miss for miss in found if len(miss.other_failures) == fewest]


def _misses_of_pool(choice: WorkloadOptions, pool: PoolOptions, on_offer: Flags) -> Iterator[NearestMiss]:
    faults = pool.failed.sum(axis=1)
    listed = ~pool.failed[:, LISTS].any(axis=1)
    for j, criterion in enumerate(CONFIGURATION_CRITERIA):
        candidates = np.flatnonzero(pool.failed[:, j] & on_offer & listed & np.isfinite(pool.value[:, j]))
        excess = pool.value[candidates, j] / pool.limit[candidates, j]
        # rows of configurations, the nearest first; then the nearest of each GPU
        nearest = candidates[np.lexsort((excess, faults[candidates]))].tolist()
        by_gpu: dict[str, int] = {}
        for row in nearest:
            by_gpu.setdefault(choice.configurations[row].gpu, row)
        for row in list(by_gpu.values())[:NEAREST]:
            yield _miss(choice, pool, criterion, row)


def _miss(choice: WorkloadOptions, pool: PoolOptions, criterion: Criterion, row: int) -> NearestMiss:
    c, j = choice.configurations[row], CONFIGURATION_CRITERIA.index(criterion)
    value, limit = float(pool.value[row, j]), float(pool.limit[row, j])
    size = c.tensor_parallel * c.pipeline_parallel
    candidate = f"{choice.workload.model} {c.precision} on {size}×{c.gpu} with {c.engine}"
    faults = [CONFIGURATION_CRITERIA[k].name for k in np.flatnonzero(pool.failed[row])]
    others = [name for name in faults if name != criterion.name]
    also = f"; it also fails {', '.join(others)}" if others else ""
    shares = spent_on(choice, pool, row, criterion.name)
    cause = f", mostly {largest_causes(shares)}" if shares else ""
    label, verb = LABELS.get(criterion.name, criterion.name), VERBS.get(criterion.name, "reaches")
    reached = f"{candidate} {verb} {label} {figure(value, 4)} {criterion.unit}, limit {exactly(limit)}"
    return NearestMiss(
        requirement=criterion.field(choice.workload.name),
        criterion=criterion.name,
        candidate=candidate,
        value=value,
        limit=limit,
        unit=criterion.unit,
        other_failures=others,
        spent_on=shares,
        text=f"{choice.workload.name}: {reached}{cause}{also}",
    )
