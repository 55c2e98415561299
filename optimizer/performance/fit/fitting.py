"""A fit as arrays: what was measured, which constants may move and how far, residuals and their derivatives.

The fit minimizes, over the logarithms x of the free constants relative to their priors,

    Σ w · c² ln(1 + r²/c²) + |P x|²        r = (log predicted − log measured) / error scale of the metric

with w = (measured rows of the group)^exponent, so that groups count nearly alike, times (those of the source)^exponent
where much of a figure is the source's own; and P the distance of every constant
from its prior less that of its broader group, so that both move together, in units of its spread (a row `spread` of
the parameter, or of parameter@group where a prior is surer or less sure than the others). The loss (Cauchy's)
lets the few rows that nothing explains go their way. Its settings stand in the calibration catalog: rows `fit`
(weights, scales, the loss's width c) and `spread` (by parameter).

Two kinds of figures must not speak about a constant. Throughput at an unknown number of sequences in flight (offline,
open loop) says nothing of what a step or a request waits: it moves no constant of `OF_LATENCY`. And what one source
set for its runs is no constant of the engine: its rows have the source's own value of `RUN_SETTINGS`, which no
prediction ever looks up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import pandas as pd

from optimizer.base.arrays import Flags, Floats, Ints, Names
from optimizer.base.errors import Finding, InputError
from optimizer.base.units import MS_PER_S
from optimizer.inputs.catalog.records import CalibrationEntry, Catalogs
from optimizer.inputs.measurements import deployments_of, groups, observed
from optimizer.inputs.metrics import METRICS
from optimizer.performance.measured.deployments import Deployments, deliver, deployments
from optimizer.performance.measured.rows import LOADS, DeploymentTable, read_table, text_column
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.constants import Calibration, calibration_of, group_name

SPREAD: Final = "spread"
FIT: Final = "fit"
DEFINITION: Final = "definition"
RUN_SETTINGS: Final[Mapping[str, str]] = {
    "waited_steps_closed": "run_waited_steps_closed",
}
"""Constants that a server's flag decides, and what the runs of one source had of them, by engine@vendor@source."""

TIMELESS: Final = ("offline", "request_rate")
"""Loads whose throughput says nothing of times: how many sequences were in flight is not known."""

MOST_DEVIATIONS: Final = 3.0
"""What its measurements move further than this from its broader group, in units of its spread, is not believed."""

_POOLED: Final = 1e3
"""How much more tightly a constant is tied to its broader group once it is not believed."""


@dataclass(frozen=True)
class FreeConstants:
    """The f constants that a fit may move.

    Attributes:
        position: Index of each into the calibration, (f,).
        start: Its prior value, (f,).
        precision: P above, (f, f).
        tied: Whether it has a broader group, (f,).
        pooled: Whether it is held there, whatever its measurements say, (f,).
    """

    position: Ints
    start: Floats
    precision: Floats
    tied: Flags
    pooled: Flags

    @classmethod
    def of(
        cls, position: Sequence[int], start: Sequence[float], precision: Floats, tied: Sequence[bool] | None = None
    ) -> "FreeConstants":
        """All of them free to move."""
        nowhere = np.zeros(len(position), dtype=np.bool_)
        bound = nowhere if tied is None else np.array(tied, dtype=np.bool_)
        return cls(np.array(position, dtype=np.intp), np.array(start), precision, bound, nowhere)

    def runaway(self, x: Floats) -> Flags:
        """What is further than `MOST_DEVIATIONS` from its broader group and not held there yet, (f,)."""
        return self.tied & ~self.pooled & (np.abs(self.precision @ x) > MOST_DEVIATIONS)

    def at_broader_group(self, x: Floats, moved: Flags) -> Floats:
        """x with some constants moved as far as their broader group is, (f,)."""
        return np.where(moved, x - (self.precision @ x) / np.diag(self.precision), x)

    def pooling(self, runaway: Flags) -> "FreeConstants":
        """The same constants, some more of them held at their broader group."""
        tighter = np.where(runaway, _POOLED, 1.0)[:, None]
        return replace(self, precision=self.precision * tighter, pooled=self.pooled | runaway)

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
        deployments: The m predictable rows, as their sources ran them.
        asked: The same, as anybody may ask for them: with the default of every server flag.
        rows: Their positions in the frame.
        measured: Logarithm of what was measured, (3, m), NaN where it was not.
        weight: w above, (3, m), 0 where nothing was measured.
        timed: Whether the figure is or implies a time, (3, m).
        scale: Error scale by metric, (3,).
        median: Whether a row's TTFT is a median, (m,).
        group: Its group, (m,).
    """

    calibration: Calibration
    parameters: FreeConstants
    table: DeploymentTable
    deployments: Deployments
    asked: Deployments
    rows: Ints
    measured: Floats
    weight: Floats
    timed: Flags
    scale: Floats
    median: Flags
    group: Names

    @cached_property
    def told(self) -> Flags:
        """Whether each row is evidence of a metric, (3, m): by a figure of it, or by a throughput that implies TPOT."""
        found = self.weight > 0
        tpot, throughput = METRICS.index("tpot"), METRICS.index("throughput")
        found[tpot] |= found[throughput] & self.timed[throughput]
        return found

    @cached_property
    def served(self) -> Flags:
        """Of `told` what went through a server, (3, m): by a figure, or in a loop; a batch is run in the engine's own
        process."""
        found: Flags = self.told & ((self.weight > 0) | (self.deployments.load != LOADS.index("static_batch")))
        return found

    def as_asked(self) -> "FitProblem":
        """The same rows with the engines' own constants, none of their sources'; flags that they state are known."""
        return replace(self, deployments=self.asked)

    def for_strangers(self) -> "FitProblem":
        """The same rows for one who knows nothing of how their sources ran them."""
        layout = self.asked.setup.layout
        none = np.zeros_like(layout.admission_interval_steps)
        default = replace(layout, admission_interval_steps=none, rank_wait_steps=none)
        return replace(self, deployments=replace(self.asked, setup=replace(self.asked.setup, layout=default)))

    def take(self, rows: Ints) -> "FitProblem":
        """Some of the measured rows, in the given order."""
        return replace(
            self,
            deployments=self.deployments.take(rows),
            asked=self.asked.take(rows),
            rows=self.rows[rows],
            measured=self.measured[:, rows],
            weight=self.weight[:, rows],
            timed=self.timed[:, rows],
            median=self.median[rows],
            group=self.group[rows],
        )


def problem(
    frame: pd.DataFrame, catalogs: Catalogs, free: FreeConstants | None = None, drafts: bool = False
) -> FitProblem:
    """The measured rows that the model can predict.

    Args:
        frame: As `load_measurements` reads it.
        catalogs: What is known; its calibration is the one to start from.
        free: What may move; by default every constant that has a prior, from its prior.
        drafts: Whether steps that verify a draft count, which say nothing of the constants of others.

    Raises:
        InputError: no row can be predicted, or none measured anything.
    """
    calibration = calibration_of(catalogs)
    table = read_table(deployments_of(frame), catalogs)
    found, rows = deployments(table, catalogs)
    measured = np.log(np.stack([observed(frame)[metric] for metric in METRICS]))[:, rows]
    if found is not None and not drafts:
        measured = np.where(found.aside, np.nan, measured)
    if found is None or not np.isfinite(measured).any():
        reasons = sorted({str(text) for text in table.problem if text}) or ["no usable figure"]
        raise InputError(Finding("measurements", 0, "", f"no row can be used: {reason}") for reason in reasons[:10])
    group = groups(frame)[rows]
    timed = np.ones(measured.shape, dtype=np.bool_)
    timed[METRICS.index("throughput")] = ~np.isin(found.load, [LOADS.index(load) for load in TIMELESS])
    return FitProblem(
        calibration=calibration,
        parameters=from_priors(calibration) if free is None else free,
        table=table,
        deployments=_as_run(found, table, rows, catalogs, calibration),
        asked=found,
        rows=rows,
        measured=measured,
        weight=_weights(calibration, measured, group, text_column(table.frame, "source")[rows], found.load),
        timed=timed,
        scale=np.array([calibration.lookup(FIT, f"error_scale@{metric}") for metric in METRICS]),
        median=np.asarray(table.names["ttft_statistic"][rows] == "p50", dtype=np.bool_),
        group=group,
    )


def _as_run(
    found: Deployments, table: DeploymentTable, rows: Ints, catalogs: Catalogs, calibration: Calibration
) -> Deployments:
    """The deployments with what their sources set for their runs, where the catalog has a value of it."""
    source = text_column(table.frame, "source")[rows]
    vendor = [catalogs.gpus[gpu].vendor for gpu in table.names["gpu"][rows]]
    run = Categorical.of(list(zip(table.names["engine"][rows], vendor, source, strict=True)))
    constants = found.setup.constants
    index = dict(constants.index)
    for parameter, of_run in RUN_SETTINGS.items():
        positions = [calibration.position.get((of_run, group_name(each)), -1) for each in run.categories]
        own = run.by_row(positions, np.intp)
        index[parameter] = np.where(own >= 0, own, index[parameter])
    return replace(found, setup=replace(found.setup, constants=replace(constants, index=index)))


def _weights(calibration: Calibration, measured: Floats, group: Names, source: Names, load: Ints) -> Floats:
    """By group and source (rows that measured the metric)^exponent; closed-loop throughput follows from latencies."""
    exponent = calibration.lookup(FIT, "row_weight_exponent")
    weight = np.stack([group_weights(group, np.isfinite(metric), exponent) for metric in measured])
    for at, metric in enumerate(METRICS):
        own = calibration.lookup(FIT, f"source_weight_exponent@{metric}")
        weight[at] *= _source_weights(source, weight[at] > 0, own)
    closed = load == LOADS.index("concurrency")
    weight[METRICS.index("throughput"), closed] *= calibration.lookup(FIT, "closed_loop_throughput_weight")
    return weight


def _source_weights(source: Names, used: Flags, exponent: float) -> Floats:
    """(used rows of the source, over those of the middle row's source)^exponent for used rows, 0 for others, (m,)."""
    weight = group_weights(source, used, exponent)
    return weight / np.median(weight[used]) if used.any() else weight


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
        own = spread.get(group_name([entry.parameter, entry.group]), spread[entry.parameter])
        precision[row, row] = 1 / (own * (1.0 if broader is None else tied_factor))
        if broader in column:
            precision[row, column[broader]] = -precision[row, row]
    tied = [tied_to(calibration, entry) is not None for entry in free.values()]
    return FreeConstants.of(list(free), [prior_of(entry) for entry in free.values()], precision, tied)


def drawn_to(calibration: Calibration, spreads: Mapping[int, float]) -> FreeConstants:
    """The constants at these positions, each drawn to its present value with its own spread."""
    free = sorted(spreads)
    start = [calibration.entries[position].value for position in free]
    return FreeConstants.of(free, start, np.diag([1 / spreads[position] for position in free]))


def prior_of(entry: CalibrationEntry) -> float:
    """What a fit starts from: the recorded prior, or the value of a row that was never fitted."""
    return entry.value if entry.prior is None else entry.prior


def tied_to(calibration: Calibration, entry: CalibrationEntry) -> int | None:
    """Position of the next broader group that the catalog holds."""
    positions = (calibration.position.get((entry.parameter, group)) for group in broader_groups(entry.group))
    return next((position for position in positions if position is not None), None)


def broader_groups(group: str) -> Sequence[str]:
    """`vllm:0.6@amd` lies in `vllm:0.6`, `vllm` and everything."""
    parts = [group.split("@", maxsplit=1)[0]] if "@" in group else []
    parts += [group.split(":", maxsplit=1)[0]] if ":" in group else []
    return [*parts, ""] if group else []


def log_predicted(fitted: FitProblem, values: Floats, of_row: Ints | None = None) -> Floats:
    """Logarithms of the three metrics under these constants, (3, m), in the units of the measurements.

    Args:
        fitted: The rows.
        values: One vector of constants for all of them, or several, (k, constants).
        of_row: Which of several holds for each row, (m,).
    """
    found = fitted.deployments
    point = deliver(found.with_values(values, of_row))
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
    return np.concatenate([finite(errors)[fitted.weight > 0], fitted.parameters.precision @ x])


def finite(values: Floats) -> Floats:
    """The values, 0 for each that is not finite."""
    return np.where(np.isfinite(values), values, 0.0)
