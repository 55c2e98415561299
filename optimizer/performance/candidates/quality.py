"""What each configuration keeps of the quality, and whether that passes the workload's floors."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.inputs.catalog.quality import SIXTEEN_BIT, QualityEstimate, quality_share
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Workload
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.setup import Configuration


def qualities(
    configurations: Sequence[Configuration], catalogs: Catalogs, model_quality: float, *, by_family: bool
) -> tuple[QualityEstimate | None, ...]:
    """Quality of each configuration: what its precision keeps, times what its model scores against the first model.

    A KV cache below 16 bit has no published quality.

    Args:
        configurations: (P,) of one workload.
        catalogs: What was published.
        model_quality: The model's score as a share of the first model's.
        by_family: Whether models of its size speak for a model that nobody evaluated.
    """
    pairs = sorted({(c.model, c.precision) for c in configurations})
    known = {pair: _against_first(quality_share(catalogs, *pair, by_family=by_family), model_quality) for pair in pairs}
    return tuple(known[c.model, c.precision] if c.kv_precision in SIXTEEN_BIT else None for c in configurations)


def _against_first(estimate: QualityEstimate | None, model_quality: float) -> QualityEstimate | None:
    if estimate is None or model_quality == 1:
        return estimate
    basis = f"the model's {model_quality:g} of the first model's score, as the scenario says; {estimate.basis}"
    worst = None if estimate.worst_share is None else estimate.worst_share * model_quality
    return replace(estimate, share=estimate.share * model_quality, worst_share=worst, basis=basis)


def against_floors(workload: Workload, estimate: QualityEstimate | None) -> dict[str, tuple[float | None, float]]:
    """What is kept, None where nobody published it, and the floor that is asked for; by criterion."""
    kept = {} if estimate is None else {"quality": estimate.share, "quality_worst": estimate.worst_share}
    floors = {"quality": workload.min_quality, "quality_worst": workload.min_quality_worst}
    return {name: (kept.get(name), floor) for name, floor in floors.items() if floor is not None}


def floors_kept(workload: Workload, quality: Sequence[QualityEstimate | None]) -> dict[str, Flags]:
    """(P,) whether each floor that is asked for is kept, by criterion; the unknown keeps it where that is accepted."""
    # rows share their estimates, and each is looked at once
    held = Categorical[int].of(list(map(id, quality)))
    rows = [against_floors(workload, quality[row]) for row in held.first.tolist()]

    def passes(share: float | None, floor: float) -> bool:
        return workload.unknown_quality == "accept" if share is None else share >= floor

    return {
        name: held.by_row([passes(*row[name]) for row in rows], np.bool_) for name in against_floors(workload, None)
    }
