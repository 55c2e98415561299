"""What accepting a precision would save of which nobody published what it keeps of the quality: each one re-solved."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.base.figures import exactly
from optimizer.inputs.catalog.quality import (
    SIXTEEN_BIT,
    QualityEstimate,
    quality_share,
    quality_spread,
    unpublished_few_bits,
)
from optimizer.inputs.requirements.avoided import quality_of
from optimizer.inputs.scenario.scenario import Workload
from optimizer.performance.candidates.avoiding import letting_in
from optimizer.performance.candidates.options import WorkloadOptions, predicted
from optimizer.performance.candidates.quality import against_floors
from optimizer.performance.candidates.selecting import taken
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA
from optimizer.performance.physics.categorical import Categorical
from optimizer.plan.explain.comparing import SideQuestion
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.narrowing import on_offer
from optimizer.plan.record.explanation import Alternative

KIND = "unknown_quality"
ACCEPTING = "accepting "
UNPUBLISHED = " without published quality"


def unpublished(inquiry: Inquiry) -> Iterator[SideQuestion]:
    """The cheapest plan with each such precision, of weights or of the KV cache, that is kept out."""
    if inquiry.clock.expired:
        # one that says in the place of all that there was no time
        yield SideQuestion(KIND, "accepting precisions without published quality", lambda: inquiry)
        return
    accepting = replace(inquiry, options=tuple(_accepting(inquiry, choice) for choice in inquiry.options))
    unknown = [_unknown(inquiry, choice) for choice in accepting.options]
    for name in sorted({name for rows in unknown for names in rows for name in names}):
        keep = tuple(np.array([names <= {name} for names in rows], dtype=np.bool_) for rows in unknown)
        concerned = [choice for choice, rows in zip(accepting.options, unknown, strict=True) if {name} in rows]
        change = f"{ACCEPTING}{name}{UNPUBLISHED}{_of_its_size(inquiry, concerned, name)}"
        yield SideQuestion(KIND, change, lambda: accepting, keep)


def savings(found: Sequence[Alternative]) -> Iterator[str]:
    """What keeping out costs of which nobody published what it keeps, in one sentence."""
    less = {
        item.change.removeprefix(ACCEPTING): -item.difference_usd
        for item in found
        if item.difference_usd is not None and item.difference_usd < 0
    }
    if less:
        by_saving: dict[Decimal, list[str]] = {}
        for name, usd in sorted(less.items(), key=lambda item: (-item[1], item[0])):
            by_saving.setdefault(usd, []).append(name.replace(UNPUBLISHED, ""))
        each = (f"${usd:,.2f} with {' or '.join(names)}" for usd, names in by_saving.items())
        yield f"accepting unpublished quality (unknown_quality) would save a month: {', or '.join(each)}"


def _of_its_size(inquiry: Inquiry, concerned: Sequence[WorkloadOptions], precision: str) -> str:
    """What models of the same size keep; of several workloads, what is true of all."""
    spreads = [quality_spread(inquiry.catalogs, choice.workload.model, precision) for choice in concerned]
    known = [spread for spread in spreads if spread is not None]
    if not known or len(known) < len(spreads):
        return ""
    least, most = min(spread.least_share for spread in known), max(spread.most_share for spread in known)
    return f" (models of its size: {exactly(least)} to {exactly(most)})"


def _accepting(inquiry: Inquiry, choice: WorkloadOptions) -> WorkloadOptions:
    """The configurations that serve, and those that would but for an unknown quality, all of them judged on speed."""
    workload = choice.workload
    if workload.unknown_quality == "accept":
        return choice
    if not workload.has_quality_floor:
        return letting_in(choice, "published")
    held = Categorical[QualityEstimate | None].of(choice.quality)
    kept = [against_floors(workload, estimate) for estimate in held.categories]
    too_low = {
        name: held.by_row([row[name][0] is not None for row in kept], np.bool_) & choice.fixed[name]
        for name in against_floors(workload, None)
    }
    fixed = {**choice.fixed, **too_low}
    rows = np.flatnonzero(on_offer(choice, inquiry.market) & ~_hopeless(choice, too_low))
    few = replace(taken(choice, rows), fixed={name: failed[rows] for name, failed in fixed.items()})
    return predicted(few, [known.pool for known in few.pools])


def _hopeless(choice: WorkloadOptions, too_low: Mapping[str, Flags]) -> Flags:
    """(P,) what fails something in every pool that a known quality would not mend."""
    floors = [number for number, criterion in enumerate(CONFIGURATION_CRITERIA) if criterion.name in too_low]
    others = np.delete(np.array([pool.failed for pool in choice.pools]), floors, axis=2)
    lasting: Flags = np.logical_or.reduce([others.any(axis=2).all(axis=0), *too_low.values()])
    return lasting


def _unknown(inquiry: Inquiry, choice: WorkloadOptions) -> list[frozenset[str]]:
    """(P,) what of each configuration's quality nobody published and keeps it out."""
    workload, catalogs = choice.workload, inquiry.catalogs
    model, by_family = workload.model, workload.quality_by_family
    precisions, cached = {c.precision for c in choice.distinct.categories}, set[str]()
    unread = set[str]()
    if quality_of(workload) in inquiry.avoided:
        unread = {name for name in precisions if unpublished_few_bits(catalogs, model, name, by_family=by_family)}
    elif workload.unknown_quality != "accept" and (workload.has_quality_floor or workload.unknown_quality == "reject"):
        shares = {name: quality_share(catalogs, model, name, by_family=by_family) for name in precisions}
        unread = {name for name, estimate in shares.items() if estimate is None or _lacks_a_floor(workload, estimate)}
        cached = {c.kv_precision for c in choice.distinct.categories} - {*SIXTEEN_BIT}
    unknown = [
        frozenset(
            [c.precision] * (c.precision in unread) + [f"{c.kv_precision} in the KV cache"] * (c.kv_precision in cached)
        )
        for c in choice.distinct.categories
    ]
    return [unknown[code] for code in choice.distinct.codes.tolist()]


def _lacks_a_floor(workload: Workload, estimate: QualityEstimate) -> bool:
    """Whether a floor is asked for of something that nobody published."""
    return any(share is None for share, _ in against_floors(workload, estimate).values())
