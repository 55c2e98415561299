"""Measurements of one's own, held against predictions point by point; what misleads is refused or left out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from optimizer.base.arrays import Flags, Floats, Ints, Names
from optimizer.base.errors import Finding, InputError, refuse
from optimizer.base.figures import exactly, figure
from optimizer.base.units import MS_PER_S
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.measurements import HEADING_LINES, IN_UNITS, MOST_TIMES, deployments_of, observed, unreadable
from optimizer.inputs.metrics import METRICS
from optimizer.inputs.open_loop import shortfall_tolerance
from optimizer.performance.fit.cross_validation import load_classes
from optimizer.performance.fit.fitting import FitProblem, log_errors, problem
from optimizer.performance.fit.step_errors import errors_beside_steps
from optimizer.performance.measured.deployments import deliver, deployments
from optimizer.performance.measured.measured import points as same_points
from optimizer.performance.measured.own import names_of
from optimizer.performance.measured.rows import DeploymentTable, read_table
from optimizer.performance.physics.constants import calibration_of
from optimizer.performance.physics.eras import era_of
from optimizer.performance.uncertainty.intervals import REPEAT_NOISE
from optimizer.performance.uncertainty.likeness import Strata

CLOCK: Final = "request_rate"
AS_OFFERED: Final = "what arrives by the clock is served as it arrives"
QUEUE: Final = "more arrives than is served, so that its latencies are those of a queue that grows"
DRAFTED: Final = "of speculative decoding it does not say accepted_tokens, what a step kept of its draft"
APART: Final = "prefill and decode apart: no plan has such, and it says nothing of replicas that do both"
NOTHING: Final = "no TPOT, TTFT or throughput that may be used"


@dataclass(frozen=True)
class OwnPoints:
    """What was measured of one's own, a column a point; repeated runs are one.

    Attributes:
        frame: The rows that count.
        name: What the configuration of each of these is called.
        places: Where the n points stand.
        errors: log measured − log predicted, (3, n), NaN where nothing was measured; under requests that come by the
            clock of what a step takes, and of TTFT beside the requests that such steps gather.
        row: The first run of each point in `frame`, (n,).
        line: Its line in the file, (n,).
        left_out: What was left out, and why.
        remarks: What else is to be known.
    """

    frame: pd.DataFrame
    name: Names
    places: Strata
    errors: Floats
    row: Ints
    line: Ints
    left_out: tuple[str, ...]
    remarks: tuple[str, ...]


def own_points(frame: pd.DataFrame, catalogs: Catalogs, file: str) -> OwnPoints:
    """The points of a file of measurements.

    Args:
        frame: As `load_measurements` reads it.
        catalogs: What is known, own measurements aside.
        file: How findings name it.

    Raises:
        InputError: figures that are none, rows that cannot be predicted, runs of one point that contradict each other,
            nothing to use.
    """
    usable = _usable(frame, catalogs, file)
    fitted = problem(usable.frame, catalogs, drafts=True).as_asked()
    values = fitted.calibration.values
    errors = -log_errors(fitted, values)
    names = names_of(fitted.table, fitted.rows, catalogs)
    gpu, model, configuration = (names.by_row(list(level), object) for level in zip(*names.categories, strict=True))
    places = Strata(gpu, model, configuration, load_classes(fitted, values))
    columns = same_points(fitted.table, fitted.rows, catalogs)
    point = columns.groupby(list(columns.columns), dropna=False, sort=False).ngroup().to_numpy().astype(np.intp)
    _refuse_slips(errors, file, usable.line)
    _refuse_contradictions(fitted, errors, point, file, usable.line)
    # (run) -> the first run of its point
    first = np.unique(point, return_index=True)[1]
    means = pd.DataFrame(-errors_beside_steps(fitted, values).T).groupby(point, sort=True).mean().to_numpy().T
    return OwnPoints(
        frame=usable.frame,
        name=places.configuration,
        places=places.take(first),
        errors=means,
        row=first,
        line=usable.line[first],
        left_out=usable.left_out,
        remarks=tuple(_remarks(fitted.table, fitted.rows, catalogs)),
    )


class _Usable(NamedTuple):
    """The rows that say something, (n,) the lines of the file that they stand in, and why others were left out."""

    frame: pd.DataFrame
    line: Ints
    left_out: tuple[str, ...]


def _usable(frame: pd.DataFrame, catalogs: Catalogs, file: str) -> _Usable:
    """Of a file's rows those that may be held against predictions.

    Raises:
        InputError: figures that are none, rows that cannot be predicted, no row that may be used.
    """
    if wrong := unreadable(frame, file):
        raise InputError(wrong)
    frame = frame.assign(exclude_throughput=_excluded(frame))
    line = np.arange(len(frame)) + HEADING_LINES
    left_out = _left_out(frame, catalogs, file)
    kept = left_out == ""
    if not kept.any():
        refused = zip(line.tolist(), left_out, strict=True)
        hints = {QUEUE: "measure below the capacity"}
        raise InputError(Finding(file, at, "", str(why), hints.get(str(why), "")) for at, why in refused)
    told = tuple(f"{file}:{at}: {why}" for at, why in zip(line[~kept], left_out[~kept], strict=True))
    return _Usable(frame[kept].reset_index(drop=True), line[kept], told)


def _excluded(frame: pd.DataFrame) -> Names:
    """Why a row's throughput is not used: as the file says, and where it is the rate that was asked for."""
    stated = frame["exclude_throughput"] if "exclude_throughput" in frame.columns else pd.Series("", frame.index)
    by_clock = (frame["load_type"].str.strip().str.casefold() == CLOCK).to_numpy()
    return np.where(by_clock, AS_OFFERED, stated.to_numpy(dtype=object)).astype(object)


def _left_out(frame: pd.DataFrame, catalogs: Catalogs, file: str) -> Names:
    """Why each row says nothing, (n,), empty for those that do.

    Raises:
        InputError: rows that cannot be predicted.
    """
    table = read_table(deployments_of(frame), catalogs)
    found, _ = deployments(table, catalogs)
    wrong = np.flatnonzero(table.problem != "")
    if found is None or len(wrong):
        hint = "mend the row or take it out"
        raise InputError(Finding(file, int(at) + HEADING_LINES, "", str(table.problem[at]), hint) for at in wrong)
    seen = observed(frame)
    nothing = ~np.isfinite(np.stack([seen[metric] for metric in METRICS])).any(axis=0)
    above = _above_capacity(frame, table, deliver(found).utilization)
    drafted = (found.setup.layout.draft_tokens > 0) & np.isnan(_numbers(frame, "accepted_tokens"))
    why = {APART: found.apart, DRAFTED: drafted, QUEUE: above, NOTHING: nothing}
    return np.select(list(why.values()), list(why), "").astype(object)


def _above_capacity(frame: pd.DataFrame, table: DeploymentTable, utilization: Floats) -> Flags:
    """Whether requests arrive by the clock faster than they were served, or than they are predicted to be, (n,)."""
    offered, output_tokens = table.numbers["load_value"], table.numbers["output_tokens"]
    by_tokens = _numbers(frame, "output_tok_s") / output_tokens
    served = np.fmin(_numbers(frame, "request_throughput"), by_tokens)
    answering_s = _numbers(frame, "tpot_ms_mean") * (output_tokens - 1) / MS_PER_S
    missing = shortfall_tolerance(table.numbers["num_requests"], offered, answering_s)
    slower = (table.names["load_type"] == CLOCK) & (served < (1 - missing) * offered)
    return np.asarray(slower | (np.nan_to_num(utilization) > 1))


def _numbers(frame: pd.DataFrame, column: str) -> Floats:
    if column not in frame.columns:
        return np.full(len(frame), np.nan)
    return pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=np.float64)


def _refuse_slips(errors: Floats, file: str, lines: Ints) -> None:
    """Figures in other units than they are said to be in.

    Raises:
        InputError: figures that are more than so many times the prediction, or less than its part.
    """
    metrics, rows = np.nonzero(np.abs(errors) > np.log(MOST_TIMES))
    if len(rows):
        raise InputError(
            Finding(
                file,
                int(lines[row]),
                METRICS[at],
                f"is {figure(float(np.exp(errors[at, row])))} times the prediction",
                IN_UNITS,
            )
            for at, row in zip(metrics, rows, strict=True)
        )


def _refuse_contradictions(fitted: FitProblem, errors: Floats, point: Ints, file: str, lines: Ints) -> None:
    """Runs of one point may differ by as much as those of different people do.

    Raises:
        InputError: runs that differ by more.
    """
    findings = []
    for metric, error in zip(METRICS, errors, strict=True):
        noise = fitted.calibration.lookup(REPEAT_NOISE, metric)
        for rows in _repeated(point, np.isfinite(error)):
            low, high = rows[np.argmin(error[rows])], rows[np.argmax(error[rows])]
            if error[high] - error[low] > noise:
                times = exactly(round(float(np.exp(error[high] - error[low])), 2))
                problem = f"is {times} times that of line {lines[low]}, which measured the same"
                findings.append(Finding(file, int(lines[high]), metric, problem, "take out the one that is wrong"))
    refuse(findings)


def _repeated(point: Ints, usable: Flags) -> Iterator[Ints]:
    """The runs of every point that was measured more than once."""
    for each in np.unique(point):
        rows = np.flatnonzero((point == each) & usable)
        if len(rows) > 1:
            yield rows


def _remarks(table: DeploymentTable, rows: Ints, catalogs: Catalogs) -> Iterator[str]:
    """Engines that were measured in another era than plans assume."""
    names, calibration = table.names, calibration_of(catalogs)
    for engine, version in sorted(set(zip(names["engine"][rows], names["engine_version"][rows], strict=True))):
        measured, newest = (era_of(calibration, engine, each) for each in (version, ""))
        if measured != newest:
            yield f"{engine} {version} is of the era {measured}; plans assume {newest} and are not moved by it"
