"""A fit as arrays: what was measured, which constants may move and how far, residuals and their derivatives.

The fit minimizes, over the logarithms x of the free constants relative to their priors,

    Σ w · c² ln(1 + r²/c²) + |P x|²        r = (log predicted − log measured) / error scale of the metric

with w = (measured rows of the group)^exponent, so that groups count nearly alike, and P the distance of every constant
from its prior less that of its broader group, so that both move together, in units of its spread. The loss (Cauchy's)
lets the few rows that nothing explains go their way. Its settings stand in the calibration catalog: rows `fit`
(weights, scales, the loss's width c) and `spread` (by parameter).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd

from optimizer.base.arrays import Flags, Floats, Ints, Names
from optimizer.base.errors import Finding, InputError
from optimizer.base.units import MS_PER_S
from optimizer.inputs.catalog.records import CalibrationEntry, Catalogs
from optimizer.inputs.measurements import METRICS, deployments_of, groups, observed
from optimizer.performance.measured.deployments import Deployments, deliver, deployments
from optimizer.performance.measured.rows import LOADS, DeploymentTable, read_table
from optimizer.performance.physics.constants import Calibration

SPREAD: Final = "spread"
FIT: Final = "fit"
DEFINITION: Final = "definition"
_STEP: Final = 1e-3
"""Of the logarithm of a constant, for its derivative."""


@dataclass(frozen=True)
class FreeConstants:
    """The f constants that a fit may move.

    Attributes:
        position: Index of each into the calibration, (f,).
        start: Its prior value, (f,).
        precision: P above, (f, f).
    """

    position: Ints
    start: Floats
    precision: Floats

    def values(self, calibration: Calibration, x: Floats) -> Floats:
        """The calibration's vector with the free constants at exp(x) times their priors."""
        vector = calibration.values
        vector[self.position] = self.start * np.exp(x)
        return vector


@dataclass(frozen=True)
class FitProblem:
    """Measured rows ready to be fitted or judged, m of them; arrays of (3, m) have one row a metric of `METRICS`.

    Attributes:
        calibration: The constants before the fit.
        parameters: Those of them that may move.
        table: The frame's rows as read.
        deployments: The m predictable rows.
        rows: Their positions in the frame.
        measured: Logarithm of what was measured, (3, m), NaN where it was not.
        weight: w above, (3, m), 0 where nothing was measured.
        scale: Error scale by metric, (3,).
        median: Whether a row's TTFT is a median, (m,).
        group: Its group, (m,).
    """

    calibration: Calibration
    parameters: FreeConstants
    table: DeploymentTable
    deployments: Deployments
    rows: Ints
    measured: Floats
    weight: Floats
    scale: Floats
    median: Flags
    group: Names

    def take(self, rows: Ints) -> "FitProblem":
        """Some of the measured rows, in the given order."""
        return replace(
            self,
            deployments=self.deployments.take(rows),
            rows=self.rows[rows],
            measured=self.measured[:, rows],
            weight=self.weight[:, rows],
            median=self.median[rows],
            group=self.group[rows],
        )


def problem(frame: pd.DataFrame, catalogs: Catalogs, free: FreeConstants | None = None) -> FitProblem:
    """The measured rows that the model can predict.

    Args:
        frame: As `load_measurements` reads it.
        catalogs: What is known; its calibration is the one to start from.
        free: What may move; by default every constant that has a prior, from its prior.

    Raises:
        InputError: no row can be predicted, or none measured anything.
    """
    calibration = Calibration.of(catalogs.calibration)
    table = read_table(deployments_of(frame), catalogs)
    found, rows = deployments(table, catalogs)
    measured = np.log(np.stack([observed(frame)[metric] for metric in METRICS]))[:, rows]
    if found is None or not np.isfinite(measured).any():
        reasons = sorted({str(text) for text in table.problem if text}) or ["no usable figure"]
        raise InputError(Finding("measurements", 0, "", f"no row can be used: {reason}") for reason in reasons[:10])
    group = groups(frame)[rows]
    return FitProblem(
        calibration=calibration,
        parameters=from_priors(calibration) if free is None else free,
        table=table,
        deployments=found,
        rows=rows,
        measured=measured,
        weight=_weights(calibration, measured, group, found.load),
        scale=np.array([calibration.lookup(FIT, f"error_scale@{metric}") for metric in METRICS]),
        median=np.asarray(table.names["ttft_statistic"][rows] == "p50", dtype=np.bool_),
        group=group,
    )


def _weights(calibration: Calibration, measured: Floats, group: Names, load: Ints) -> Floats:
    """(rows of the group that measured the metric)^exponent; closed-loop throughput follows from the latencies."""
    exponent = calibration.lookup(FIT, "row_weight_exponent")
    weight = np.stack([group_weights(group, np.isfinite(metric), exponent) for metric in measured])
    closed = load == LOADS.index("concurrency")
    weight[METRICS.index("throughput"), closed] *= calibration.lookup(FIT, "closed_loop_throughput_weight")
    return weight


def group_weights(group: Names, used: Flags, exponent: float) -> Floats:
    """(used rows of the same group)^exponent for used rows, 0 for others, (n,)."""
    codes, kinds = pd.factorize(group)
    count = np.bincount(codes[used], minlength=len(kinds))[codes]
    return np.where(used, np.maximum(count, 1.0) ** exponent, 0.0)


def from_priors(calibration: Calibration) -> FreeConstants:
    """Every constant with a spread, drawn to its prior, moved as far as its broader group is."""
    spread = calibration.members(SPREAD)
    free = {
        position: entry
        for position, entry in enumerate(calibration.entries)
        if entry.parameter in spread and entry.method != DEFINITION and prior_of(entry) > 0
    }
    tied_factor = calibration.lookup(FIT, "tied_spread_factor")
    # one row and column a free constant
    column = {position: index for index, position in enumerate(free)}
    precision = np.zeros((len(free), len(free)))
    for position, entry in free.items():
        row, broader = column[position], tied_to(calibration, entry)
        precision[row, row] = 1 / (spread[entry.parameter] * (1.0 if broader is None else tied_factor))
        if broader in column:
            precision[row, column[broader]] = -precision[row, row]
    start = np.array([prior_of(entry) for entry in free.values()])
    return FreeConstants(np.array(list(free), dtype=np.intp), start, precision)


def drawn_to(calibration: Calibration, spreads: Mapping[int, float]) -> FreeConstants:
    """The constants at these positions, each drawn to its present value with its own spread."""
    free = sorted(spreads)
    start = np.array([calibration.entries[position].value for position in free])
    precision = np.diag([1 / spreads[position] for position in free])
    return FreeConstants(np.array(free, dtype=np.intp), start, precision)


def prior_of(entry: CalibrationEntry) -> float:
    """What a fit starts from: the recorded prior, or the value of a row that was never fitted."""
    return entry.value if entry.prior is None else entry.prior


def tied_to(calibration: Calibration, entry: CalibrationEntry) -> int | None:
    """Position of the next broader group that the catalog holds."""
    positions = (calibration.position.get((entry.parameter, group)) for group in broader_groups(entry.group))
    return next((position for position in positions if position is not None), None)


def broader_groups(group: str) -> Sequence[str]:
    """`vllm:0.7@amd` lies in `vllm:0.7`, `vllm` and everything."""
    parts = [group.split("@", maxsplit=1)[0]] if "@" in group else []
    parts += [group.split(":", maxsplit=1)[0]] if ":" in group else []
    return [*parts, ""] if group else []


def log_predicted(fitted: FitProblem, values: Floats) -> Floats:
    """Logarithms of the three metrics under these constants, (3, m), in the units of the measurements."""
    found = fitted.deployments
    point = deliver(found.with_values(values))
    ttft = np.where(fitted.median, point.ttft_median_s, point.ttft_mean_s)
    tokens = point.requests_per_s * found.replicas * found.demand.output_tokens[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs: Floats = np.log(np.stack([point.tpot_s * MS_PER_S, ttft * MS_PER_S, tokens]))
    return logs


def log_errors(fitted: FitProblem, values: Floats) -> Floats:
    """log predicted − log measured, (3, m); NaN where nothing was measured."""
    return log_predicted(fitted, values) - fitted.measured


def residuals(fitted: FitProblem, x: Floats) -> Floats:
    """r of every measured figure, then P x: what the fit squares, (figures + f,)."""
    errors = log_errors(fitted, fitted.parameters.values(fitted.calibration, x)) / fitted.scale[:, None]
    return np.concatenate([_finite(errors)[fitted.weight > 0], fitted.parameters.precision @ x])


def jacobian(fitted: FitProblem, x: Floats) -> Floats:
    """Derivatives of `residuals` by x, (figures + f, f).

    A row uses one value of each parameter, so all groups of a parameter are varied at once.
    """
    parameters = fitted.parameters
    values = parameters.values(fitted.calibration, x)
    base = log_predicted(fitted, values)
    # position in the calibration -> column, -1 for constants that stay
    column = np.full(len(values), -1, dtype=np.intp)
    column[parameters.position] = np.arange(len(parameters.position))
    derivative = np.zeros((*base.shape, len(parameters.position)))
    names = {fitted.calibration.entries[position].parameter for position in parameters.position}
    for name in sorted(names):
        # measured row -> column of the value that it uses
        used = column[fitted.deployments.setup.constants.index[name]]
        moved = np.flatnonzero(used >= 0)
        varied = values.copy()
        varied[parameters.position[np.unique(used[moved])]] *= np.exp(_STEP)
        change = (log_predicted(fitted, varied) - base) / (_STEP * fitted.scale[:, None])
        derivative[:, moved, used[moved]] = _finite(change)[:, moved]
    return np.concatenate([derivative[fitted.weight > 0], parameters.precision])


def loss(fitted: FitProblem, squared: Floats) -> Floats:
    """The weighted Cauchy loss of squared residuals and its first two derivatives, (3, figures + f)."""
    data = fitted.weight[fitted.weight > 0]
    width = fitted.calibration.lookup(FIT, "loss_width") ** 2
    rho = np.stack([squared, np.ones_like(squared), np.zeros_like(squared)])
    grown = 1 + squared[: len(data)] / width
    rho[:, : len(data)] = data * np.stack([width * np.log(grown), 1 / grown, -1 / (width * grown**2)])
    return rho


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, 0.0)
