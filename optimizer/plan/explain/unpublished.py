"""What accepting a precision would save of which nobody published what it keeps of the quality: each one re-solved."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.inputs.catalog.quality import SIXTEEN_BIT, quality_share, unpublished_few_bits
from optimizer.inputs.requirements.avoided import quality_of
from optimizer.performance.candidates.avoiding import letting_in
from optimizer.performance.candidates.options import WorkloadOptions, pool_options
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA
from optimizer.plan.explain.alternatives import compared, without_plan
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.narrowing import on_offer, taken
from optimizer.plan.record.explanation import Alternative
from optimizer.plan.record.fleet import PlannedFleet

KIND = "unknown_quality"


def unpublished(inquiry: Inquiry, chosen: PlannedFleet) -> Iterator[Alternative]:
    """The cheapest plan with each such precision, of weights or of the KV cache, that is kept out."""
    if (limit := inquiry.clock.reached) is not None:
        change = "accepting precisions without published quality"
        yield without_plan(KIND, change, "unproven", f"not compared, the {limit} was reached")
        return
    accepting = replace(inquiry, options=tuple(_accepting(inquiry, choice) for choice in inquiry.options))
    unknown = [_unknown(inquiry, choice) for choice in accepting.options]
    for name in sorted({name for rows in unknown for names in rows for name in names}):
        keep = tuple(np.array([names <= {name} for names in rows], dtype=np.bool_) for rows in unknown)
        yield compared(KIND, f"accepting {name} without published quality", chosen, lambda: accepting, keep)


def _accepting(inquiry: Inquiry, choice: WorkloadOptions) -> WorkloadOptions:
    """The configurations that serve, and those that would but for an unknown quality, all of them judged on speed."""
    workload = choice.workload
    if workload.unknown_quality == "accept":
        return choice
    if workload.min_quality is None:
        return letting_in(choice, "published")
    unknown = np.array([estimate is None for estimate in choice.quality], dtype=np.bool_)
    too_low: Flags = choice.fixed["quality"] & ~unknown
    fixed = {**choice.fixed, "quality": too_low}
    rows = np.flatnonzero(on_offer(choice, inquiry.market) & ~_hopeless(choice, too_low))
    few = replace(taken(choice, rows), fixed={name: failed[rows] for name, failed in fixed.items()})
    return replace(few, pools=tuple(pool_options(few, pool.pool) for pool in few.pools))


def _hopeless(choice: WorkloadOptions, too_low: Flags) -> Flags:
    """(P,) what fails something in every pool that a known quality would not mend."""
    quality = [criterion.name for criterion in CONFIGURATION_CRITERIA].index("quality")
    others = np.delete(np.array([pool.failed for pool in choice.pools]), quality, axis=2)
    lasting: Flags = others.any(axis=2).all(axis=0) | too_low
    return lasting


def _unknown(inquiry: Inquiry, choice: WorkloadOptions) -> list[frozenset[str]]:
    """(P,) what of each configuration's quality nobody published and keeps it out."""
    workload, configurations, catalogs = choice.workload, choice.configurations, inquiry.catalogs
    if quality_of(workload) in inquiry.avoided:
        few = {c.precision for c in configurations if unpublished_few_bits(catalogs, workload.model, c.precision)}
        return [frozenset({c.precision} & few) for c in configurations]
    if workload.unknown_quality == "accept" or (workload.unknown_quality == "avoid" and workload.min_quality is None):
        return [frozenset()] * len(configurations)
    precisions = {c.precision for c in configurations}
    published = {name for name in precisions if quality_share(catalogs, workload.model, name) is not None}
    return [
        frozenset(
            [c.precision] * (c.precision not in published)
            + [f"{c.kv_precision} in the KV cache"] * (c.kv_precision not in SIXTEEN_BIT)
        )
        for c in configurations
    ]
