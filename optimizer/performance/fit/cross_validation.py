"""Cross-validated predictions: folds left out in turn, without fitting anew.

Close to the fitted constants the residuals are linear in them, r(x + d) ≈ r + J d, so the fit without a fold is a
robust linear one, solved for d by weighing its figures again and again. The fold's own rows are then predicted with the
full model. A constant that only the fold informs returns to its prior or broader group, as it would in a fit.
"""

import zlib
from collections.abc import Sequence
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints, Names
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.metrics import METRICS
from optimizer.performance.fit.coverage import HeldOutErrors
from optimizer.performance.fit.fitting import FitProblem
from optimizer.performance.fit.solving import Linearized, linearized
from optimizer.performance.fit.step_errors import errors_of_steps
from optimizer.performance.measured.deployments import deliver
from optimizer.performance.measured.rows import text_column
from optimizer.performance.physics.constants import group_name
from optimizer.performance.uncertainty.evidence import (
    AUTHOR,
    HOST_LINK,
    PAIRED,
    Pairs,
    host_linked,
    measured_groups,
    named_pairs,
    traits_of,
    unseen_among,
)
from optimizer.performance.uncertainty.intervals import load_class

GROUP_FOLDS: Final = 20
"""Groups that are left out together: a twentieth, so that what remains is nearly the whole fit."""


def held_out_errors(fitted: FitProblem, catalogs: Catalogs, x: Floats, seed: int) -> HeldOutErrors:
    """Every row left out in five ways: with a twentieth of the groups, its model, its GPU, its cell, its source.

    A cell is an architecture, an engine, and dense or routed models. Who leaves a source out knows no settings of it,
    and is told so (`AUTHOR`).
    """
    names = {name: fitted.table.names[name][fitted.rows] for name in PAIRED}
    pairs = named_pairs(catalogs, **names)
    cell = np.array([group_name(pair) for pair in zip(*pairs["cell"], strict=True)], dtype=object)
    source = text_column(fitted.table.frame, "source")[fitted.rows]
    of_model = np.asarray(pairs["model"][1], dtype=object)
    folds = [folds_of(fitted.group, GROUP_FOLDS, seed), of_model, names["gpu"], cell, source]
    unseen = [_unseen_without(pairs, fold, fitted) for fold in folds]
    slow = host_linked(catalogs, names["gpu"], fitted.deployments.setup.layout.tensor_parallel)
    everywhere = np.ones((len(METRICS), 1), dtype=np.bool_)
    foreign = np.repeat([False] * (len(folds) - 1) + [True], len(source))
    # (way of leaving out, row) -> one row each
    missing = {kind: np.concatenate([way[kind] for way in unseen], axis=1) for kind in pairs}
    shared = {HOST_LINK: np.tile(slow, len(folds)) & everywhere, AUTHOR: foreign & everywhere}
    return HeldOutErrors(
        errors=np.concatenate(
            [
                *cross_validated_errors(fitted, x, folds[:-1]),
                *cross_validated_errors(fitted, x, folds[-1:], fitted.for_strangers()),
            ],
            axis=1,
        ),
        load=np.tile(load_classes(fitted, fitted.parameters.values(fitted.calibration, x)), len(folds)),
        engine=np.tile(names["engine"], len(folds)),
        traits=tuple(np.tile(trait, len(folds)) for trait in traits_of(catalogs, names["model"], names["gpu"])),
        group=np.tile(fitted.group, len(folds)),
        missing=missing | shared,
    )


def load_classes(fitted: FitProblem, values: Floats) -> Names:
    """Load class of every row under these constants, (m,)."""
    found = fitted.deployments
    point = deliver(found.with_values(values))
    decoding = (found.demand.output_tokens[:, 0] - 1) * point.tpot_s
    load = fitted.table.names["load_type"][fitted.rows]
    return np.array(load_class(load, found.value, point.ttft_mean_s, decoding), dtype=object)


def _unseen_without(pairs: Pairs, fold: Names, fitted: FitProblem) -> dict[str, Flags]:
    """What of each row no row outside its fold that tells of the metric holds, (3, m), by kind."""
    missing = {kind: np.zeros(fitted.weight.shape, dtype=np.bool_) for kind in pairs}
    for at, metric in enumerate(METRICS):
        measured = fitted.told[at]
        for name in sorted(set(fold)):
            others, own = np.flatnonzero(measured & (fold != name)), np.flatnonzero(fold == name)
            seen = frozenset(
                measured_groups(metric, _rows_of(pairs, others), list(fitted.group[others]), fitted.served[at, others])
            )
            for kind, flags in unseen_among(seen, metric, _rows_of(pairs, own)).items():
                missing[kind][at, own] = flags
    return missing


def _rows_of(pairs: Pairs, rows: Ints) -> Pairs:
    return {kind: (np.asarray(left)[rows], np.asarray(right)[rows]) for kind, (left, right) in pairs.items()}


def cross_validated_errors(
    fitted: FitProblem, x: Floats, folds: Sequence[Names], judged: FitProblem | None = None
) -> list[Floats]:
    """`errors_of_steps` of every row by a fit without the row's fold, (3, m) for each way of folding.

    Args:
        fitted: The measured rows.
        x: The fit to all of them.
        folds: For each way of folding every row's fold, (m,).
        judged: The same rows as they are to be predicted; by default as they were fitted.
    """
    around, predicted = linearized(fitted, x), fitted if judged is None else judged
    return [_errors_without(predicted, around, fold) for fold in folds]


def _errors_without(judged: FitProblem, around: Linearized, fold: Names) -> Floats:
    errors = np.full_like(judged.measured, np.nan)
    for name in sorted(set(fold)):
        rows = np.flatnonzero(fold == name)
        x = around.without(fold[around.row] == name)
        errors[:, rows] = errors_of_steps(judged.take(rows), judged.parameters.values(judged.calibration, x))
    return errors


def folds_of(names: Names, count: int, seed: int) -> Names:
    """Each name's fold out of `count`, the same on every machine, (n,)."""
    fold = {name: zlib.crc32(f"{seed}:{name}".encode()) % count for name in set(names)}
    return np.array([fold[name] for name in names], dtype=np.intp)
