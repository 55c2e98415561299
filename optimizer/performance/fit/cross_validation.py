"""Cross-validated predictions: folds left out in turn, without fitting anew.

Close to the fitted constants the residuals are linear in them, r(x + d) ≈ r + J d, so the fit without a fold is one
reweighted least-squares problem, solved for d. The fold's own rows are then predicted with the full model. A constant
that only the fold informs returns to its prior or broader group, as it would in a fit.
"""

import zlib
from collections.abc import Sequence
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints, Names
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.fit.coverage import HeldOutErrors
from optimizer.performance.fit.fitting import FitProblem, log_errors
from optimizer.performance.fit.solving import Linearized, linearized
from optimizer.performance.measured.deployments import deliver
from optimizer.performance.uncertainty.evidence import (
    HOST_LINK,
    PAIRED,
    Pairs,
    host_linked,
    measured_groups,
    named_pairs,
    unseen_among,
)
from optimizer.performance.uncertainty.intervals import load_class

GROUP_FOLDS: Final = 20
"""Groups that are left out together: a twentieth, so that what remains is nearly the whole fit."""


def held_out_errors(fitted: FitProblem, catalogs: Catalogs, x: Floats, seed: int) -> HeldOutErrors:
    """Every row left out three times: with a twentieth of the groups, with its whole model, with its whole GPU."""
    names = {name: fitted.table.names[name][fitted.rows] for name in PAIRED}
    pairs = named_pairs(catalogs, **names)
    folds = [folds_of(fitted.group, GROUP_FOLDS, seed), np.asarray(pairs["model"][1], dtype=object), names["gpu"]]
    measured: Flags = np.asarray((fitted.weight > 0).any(axis=0))
    unseen = [_unseen_without(pairs, fold, measured, fitted.group) for fold in folds]
    slow = host_linked(catalogs, names["gpu"], fitted.deployments.setup.layout.tensor_parallel)
    # (way of leaving out, row) -> one row each
    missing = {kind: np.concatenate([way[kind] for way in unseen]) for kind in pairs}
    return HeldOutErrors(
        errors=np.concatenate(cross_validated_errors(fitted, x, folds), axis=1),
        load=np.tile(_loads(fitted, x), len(folds)),
        engine=np.tile(names["engine"], len(folds)),
        group=np.tile(fitted.group, len(folds)),
        missing=missing | {HOST_LINK: np.tile(slow, len(folds))},
    )


def _loads(fitted: FitProblem, x: Floats) -> Names:
    """Load class of every row, (m,)."""
    found = fitted.deployments
    point = deliver(found.with_values(fitted.parameters.values(fitted.calibration, x)))
    decoding = (found.demand.output_tokens[:, 0] - 1) * point.tpot_s
    load = fitted.table.names["load_type"][fitted.rows]
    return np.array(load_class(load, found.value, point.ttft_mean_s, decoding), dtype=object)


def _unseen_without(pairs: Pairs, fold: Names, measured: Flags, group: Names) -> dict[str, Flags]:
    """What of each row no measured row outside its fold holds, (m,), by kind."""
    missing = {kind: np.zeros(len(fold), dtype=np.bool_) for kind in pairs}
    for name in sorted(set(fold)):
        others, own = np.flatnonzero(measured & (fold != name)), np.flatnonzero(fold == name)
        seen = frozenset(measured_groups(_rows_of(pairs, others), list(group[others])))
        for kind, flags in unseen_among(seen, _rows_of(pairs, own)).items():
            missing[kind][own] = flags
    return missing


def _rows_of(pairs: Pairs, rows: Ints) -> Pairs:
    return {kind: (np.asarray(left)[rows], np.asarray(right)[rows]) for kind, (left, right) in pairs.items()}


def cross_validated_errors(fitted: FitProblem, x: Floats, folds: Sequence[Names]) -> list[Floats]:
    """log predicted − log measured of every row by a fit without the row's fold, (3, m) for each way of folding.

    Args:
        fitted: The measured rows.
        x: The fit to all of them.
        folds: For each way of folding every row's fold, (m,).
    """
    around = linearized(fitted, x)
    return [_errors_without(fitted, around, fold) for fold in folds]


def _errors_without(fitted: FitProblem, around: Linearized, fold: Names) -> Floats:
    errors = np.full_like(fitted.measured, np.nan)
    for name in sorted(set(fold)):
        left_out = np.flatnonzero(fold == name)
        x = around.without(fold[around.row] != name)
        values = fitted.parameters.values(fitted.calibration, x)
        errors[:, left_out] = log_errors(fitted.take(left_out), values)
    return errors


def folds_of(names: Names, count: int, seed: int) -> Names:
    """Each name's fold out of `count`, the same on every machine, (n,)."""
    fold = {name: zlib.crc32(f"{seed}:{name}".encode()) % count for name in set(names)}
    return np.array([fold[name] for name in names], dtype=np.intp)
