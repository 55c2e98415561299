"""`optimizer predict --batch`: a table of deployments in, the same table with predictions out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from optimizer.base.arrays import Flags, Floats, Ints, Names
from optimizer.base.units import MS_PER_S
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.measurements import shipped_measurements
from optimizer.performance.measured.deployments import Deployments, deliver, deliver_slowed, deployments, in_their_time
from optimizer.performance.measured.loads import SMALL
from optimizer.performance.measured.measured import measured
from optimizer.performance.measured.own import OwnPredictions
from optimizer.performance.measured.rows import DeploymentTable, given_or, read_table
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.constants import Calibration, calibration_of
from optimizer.performance.uncertainty.evidence import (
    AUTHOR,
    EVIDENCE,
    HOST_LINK,
    PAIRED,
    Missing,
    estimated,
    host_linked,
    named_pairs,
    narrowed,
    pipelines,
    traits_of,
    unseen,
    with_everywhere,
)
from optimizer.performance.uncertainty.intervals import (
    APART,
    COVERAGE,
    DRAFTED,
    PLANNING_CONFIDENCE,
    REPEAT_NOISE,
    bounds,
    half_width,
    load_class,
    planning_share,
)

PREDICTIONS = {
    "pred_ttft_ms_mean": "ttft",
    "pred_tpot_ms_mean": "tpot",
    "pred_output_tok_s": "throughput",
    "pred_request_throughput": "throughput",
    "pred_ttft_ms_p50": "ttft",
    "pred_ttft_ms_p95": "ttft",
    "pred_ttft_ms_p99": "ttft",
    "pred_tpot_ms_p95": "tpot",
}
"""Predicted columns and the metric whose error they have; each also gets `_low` and `_high`."""

OVERLOADED: Final = (
    "overload: more requests arrive than can be served; latencies are those at the edge of the capacity, and rise "
    "for as long as it lasts"
)

UNHEARD_OF: Final = "by its documentation this engine does not run this precision on this GPU: a plan never has it"

TOO_LONG: Final = "prompt and answer exceed the model's context: an engine takes them only where it is told to"

BY_CHANCE: Final = NormalDist().inv_cdf((1 + COVERAGE) / 2)
"""Standard deviations within which so many of all intervals hold."""

TAIL: Final = "interval_tail"
"""Half-width that a percentile adds to that of its metric, by the predicted column."""

LOOKED_UP: Final = ("pred_ttft_ms_mean", "pred_tpot_ms_mean", "pred_output_tok_s", "pred_request_throughput")
"""What the measurement catalog holds, so that intervals narrow around it."""

PER_TOKEN: Final = {"pred_tpot_ms_mean": "tpot_s", "pred_tpot_ms_p95": "tpot_p95_s"}
"""Columns of what a token takes, with what they are called of a replica."""

ROOM: Final = {"pred_ttft_room": "ttft", "pred_tpot_room": "tpot"}
"""Columns of the room that a plan with `PLANNING_CONFIDENCE` leaves below a limit, as a logarithm, and their metric."""

UNPREDICTED = (
    {f"{name}{end}": np.nan for name in PREDICTIONS for end in ("", "_low", "_high")}
    | dict.fromkeys(ROOM, np.nan)
    | {"pred_source": ""}
)
"""Every column of a prediction, with what it holds where there is none."""


def predict_batch(
    frame: pd.DataFrame, catalogs: Catalogs, *, look_up: bool = True, foreign: bool = True
) -> pd.DataFrame:
    """Predict every row of a table of deployments; never fails on a row.

    Args:
        frame: Columns as documented for batch prediction; others are carried through and not looked at.
        catalogs: What is known.
        look_up: Whether the interval of a row that the measurement catalog holds narrows around what was measured;
            to judge predictions, leave it out.
        foreign: Whether the rows are somebody's deployments, whose settings nobody here knows; their intervals are
            wider than those of a deployment that runs as exported.

    Returns:
        The table with `pred_status`, `pred_reason`, the predictions with their 90 % intervals, the room that plans
        leave, and `pred_source`.
    """
    table = read_table(frame, catalogs)
    found, rows = deployments(table, catalogs)
    columns: dict[str, Names] = {}
    if found is not None:
        columns = _predicted(_BatchRows(table, rows, found, catalogs), look_up=look_up, foreign=foreign)
    ok = table.problem == ""
    result = frame.assign(
        pred_status=np.where(ok, "ok", "unsupported"), pred_reason=np.where(ok, table.note, table.problem)
    )
    for name, otherwise in UNPREDICTED.items():
        result[name] = table.column(rows, columns[name], otherwise) if columns else otherwise
    return result


@dataclass(frozen=True)
class _BatchRows:
    """The n predictable rows of a table.

    Attributes:
        table: In which they stand.
        at: (n,) where.
        found: Their deployments.
        catalogs: What is known.
    """

    table: DeploymentTable
    at: Ints
    found: Deployments
    catalogs: Catalogs

    def names(self, *columns: str) -> list[Names]:
        """What these columns say of each row, (n,) each."""
        return [self.table.names[column][self.at] for column in columns]

    @property
    def output_tokens(self) -> Floats:
        """(n,) of an answer."""
        return self.table.numbers["output_tokens"][self.at]

    def remark(self, rows: Flags, text: str) -> None:
        """Says so of some rows, (n,)."""
        self.table.remark(self.table.column(self.at, rows, False), text)

    def missing(self, *, foreign: bool) -> Missing:
        """What nobody measured about each, and whether its settings are somebody else's."""
        names = dict(zip(PAIRED, self.names(*PAIRED), strict=True))
        slow = host_linked(self.catalogs, names["gpu"], self.table.layout["tp"][self.at])
        everywhere = {HOST_LINK: slow, AUTHOR: np.full(len(self.at), foreign)}
        known = with_everywhere(unseen(self.catalogs, named_pairs(self.catalogs, **names)), **everywhere)
        # neither is among the measurements that constants and widths come from
        return with_everywhere(known, **{DRAFTED: self.found.setup.layout.draft_tokens > 0, APART: self.found.apart})

    def unheard_of(self) -> Flags:
        """Whether no documentation says that its engine runs its precision on its GPU, (n,)."""
        engines, gpus = self.catalogs.engines, self.catalogs.gpus
        kinds = Categorical.of(list(zip(*self.names("engine", "gpu", "precision"), strict=True)))
        return ~kinds.passing(lambda kind: engines[kind[0]].runs(gpus[kind[1]].architecture, kind[2]))

    def too_long(self) -> Flags:
        """Whether its requests exceed the context of its model, (n,)."""
        demand = self.found.demand
        whole = demand.new_tokens + demand.cached_tokens + demand.output_tokens
        longer: Flags = whole[:, 0] > self.found.setup.network.max_context
        return longer

    def guessed_stages(self, calibration: Calibration) -> Flags:
        """Whether it runs pipeline stages that nobody measured for its kind, (n,)."""
        guessed = self.table.layout["pp"][self.at] > 1
        names = pipelines(self.catalogs, *(each[guessed] for each in self.names("engine", "model", "gpu")))
        guessed[guessed] = ~np.isin(names, list(calibration.members(EVIDENCE)))
        return guessed


def _predicted(rows: _BatchRows, *, look_up: bool, foreign: bool) -> dict[str, Names]:
    """The columns of the predictable rows: values, the ends of their intervals, and what they rest on."""
    found, calibration = rows.found, calibration_of(rows.catalogs)
    own = OwnPredictions.of(rows.table, rows.at, rows.catalogs)
    seen = measured(rows.table, rows.at, rows.catalogs, shipped_measurements()) if look_up else None
    missing, unheard_of = rows.missing(foreign=foreign), rows.unheard_of()
    guessed = estimated(missing) | rows.guessed_stages(calibration) | unheard_of | found.aside
    rows.remark(unheard_of, UNHEARD_OF)
    rows.remark(rows.too_long(), TOO_LONG)
    known = (own.measured if seen is None else seen.rows | own.measured) & ~found.aside
    source = np.where(known, "measured", np.where(guessed, "estimated", "calibrated").astype(object))
    delivered = _delivered(rows, own)
    engine, model, gpu = rows.names("engine", "model", "gpu")
    traits = traits_of(rows.catalogs, model, gpu)
    around = _Intervals(calibration, delivered.loads, engine, missing, guessed, traits, own, foreign)
    columns = {"pred_source": source}
    for name, metric in PREDICTIONS.items():
        value, ends = delivered.columns[name], _ends(rows, around, delivered, name, metric)
        low, high = ends
        if seen is not None and name in LOOKED_UP:
            tokens = rows.output_tokens if name == "pred_request_throughput" else np.ones(len(rows.at))
            near = seen.narrowed(metric, value, ends, calibration.lookup(REPEAT_NOISE, metric), tokens)
            # one's own says more of it than somebody else's at the same point
            low, high = np.where(own.measured, ends, near)
        columns |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return columns | {name: around.room(metric) for name, metric in ROOM.items()}


def _ends(
    rows: _BatchRows, around: "_Intervals", delivered: "_Delivered", name: str, metric: str
) -> tuple[Floats, Floats]:
    """The ends of the interval around one predicted column, as the load of each row makes them."""
    found, value, one = rows.found, delivered.columns[name], np.ones(len(rows.at))
    knowing = around.ends(name, metric, value)
    if name in PER_TOKEN:
        of_steps = around.ends("pred_tpot_ms_mean", metric, one)
        knowing = [
            _of_slower_steps(found, name, value, ends, delivered.step, of_step)
            for ends, of_step in zip(knowing, of_steps, strict=True)
        ]
    # who knows less leaves no less room: no end lies within that of a row of which everything was measured
    lows, highs = zip(*knowing, strict=True)
    ends = np.minimum(*lows), np.maximum(*highs)
    if metric != "throughput":
        return ends
    per_request = rows.output_tokens if name == "pred_output_tok_s" else one
    return _as_they_arrive(found, delivered.utilization, value, ends, per_request)


class _Intervals(NamedTuple):
    """What the width of an interval follows from, row by row: how far from evidence each stands, and its load."""

    calibration: Calibration
    loads: list[str]
    engines: Names
    missing: Missing
    guessed: Flags
    traits: tuple[Names, Names]
    own: OwnPredictions
    foreign: bool

    def ends(self, name: str, metric: str, value: Floats) -> list[tuple[Floats, Floats]]:
        """The ends of the interval around one predicted column, a percentile's wider than its metric's.

        Twice: of what is known of each row, and as if everything of it were measured.
        """
        unknown = self.missing[metric]
        known = {kind: np.zeros_like(rows) for kind, rows in unknown.items()}
        calibration, tail = self.calibration, (TAIL, name) in self.calibration.position
        found = []
        for missing in (unknown, known):
            width = self.width(metric, missing, self.traits)
            width = np.hypot(width, calibration.lookup(TAIL, name)) if tail else width
            found.append(bounds(calibration, metric, self.loads, value, width, missing))
        return found

    def width(self, metric: str, missing: Mapping[str, Flags], traits: Sequence[Names] = ()) -> Floats:
        """Half-widths of a metric; those that plans take know no traits."""
        calibration, left = self.calibration, self.own.widths(metric, self.loads)
        width = half_width(calibration, metric, self.loads, self.engines, missing, self.guessed, traits)
        return width * left if self.foreign else narrowed(calibration, metric, width, left)

    def room(self, metric: str) -> Floats:
        """The logarithm of what a plan would leave between prediction and promise at `PLANNING_CONFIDENCE`."""
        missing = self.missing[metric]
        share = planning_share(self.calibration, metric, PLANNING_CONFIDENCE, missing)
        return share * self.width(metric, missing)


def _of_slower_steps(
    found: Deployments,
    name: str,
    value: Floats,
    ends: tuple[Floats, Floats],
    step: Floats,
    of_steps: tuple[Floats, Floats],
) -> tuple[Floats, Floats]:
    """The interval of what a token takes: under requests that come by the clock with what steps that take `of_steps`
    times as long as their own `step`, (n,) each, make of it, beside which as many more are running; what a percentile
    adds stays."""
    rows = np.flatnonzero(found.by_clock)
    part, field = found.take(rows), PER_TOKEN[name]
    predicted, low, high = getattr(deliver_slowed(part, step[rows]), field), *(end.copy() for end in ends)
    for end, times in zip((low, high), of_steps, strict=True):
        slower = np.log(getattr(deliver_slowed(part, step[rows] * times[rows]), field) / predicted)
        added = np.log(end[rows] / value[rows]) ** 2 - np.log(times[rows]) ** 2
        end[rows] = value[rows] * np.exp(np.copysign(np.sqrt(slower**2 + np.maximum(added, 0.0)), slower))
    return low, high


def _as_they_arrive(
    found: Deployments, utilization: Floats, value: Floats, ends: tuple[Floats, Floats], per_request: Floats
) -> tuple[Floats, Floats]:
    """The interval of what is delivered: of requests that arrive by the clock as many as arrive, or as can be served.

    What is uncertain is the capacity, so less is delivered only where that may be less than what arrives. Of a run's N
    requests as many more or fewer may have arrived as chance brings, 1/√N standard deviations.
    """
    by_clock = np.isfinite(utilization)
    run = given_or(found.requests, found.setup.constants["requests_per_run"]) * found.replicas
    chance = BY_CHANCE / np.sqrt(run)
    served = ends[0] / np.clip(utilization, SMALL, 1.0)
    low = np.fmin(value * np.exp(-chance), served)
    high = np.fmin(ends[1], np.fmax(value, found.value * found.replicas * per_request) * np.exp(chance))
    return np.where(by_clock, low, ends[0]), np.where(by_clock, high, ends[1])


class _Delivered(NamedTuple):
    """What whole deployments deliver.

    Attributes:
        columns: The predicted columns, (n,) each, in the published units.
        loads: The class of each row's load.
        utilization: (n,) the share of the capacity that arrives, NaN where nothing arrives by the clock.
        step: (n,) times as long as predicted that a step takes, by own measurements.
    """

    columns: dict[str, Floats]
    loads: list[str]
    utilization: Floats
    step: Floats


def _delivered(rows: _BatchRows, own: OwnPredictions) -> _Delivered:
    """What the predictable rows deliver."""
    found, output_tokens, point = rows.found, rows.output_tokens, deliver(rows.found)
    statistic, load_type = rows.names("ttft_statistic", "load_type")
    loads = load_class(load_type, found.value, point.ttft_mean_s, (output_tokens - 1) * point.tpot_s)
    arriving = found.value * found.replicas
    served = own.delivered(point.requests_per_s * found.replicas, point.utilization, arriving, loads)
    rows.remark(served.utilization > 1, OVERLOADED)
    requests, step = served.requests_per_s, own.factors("tpot", loads)
    # own measurements move steps, beside which more or fewer requests run
    beside = point if own.own is None else deliver(in_their_time(found, step))
    columns = {
        "pred_ttft_ms_mean": np.where(statistic == "p50", beside.ttft_median_s, beside.ttft_mean_s) * MS_PER_S,
        "pred_tpot_ms_mean": beside.tpot_s * MS_PER_S,
        "pred_output_tok_s": requests * output_tokens,
        "pred_request_throughput": requests,
        "pred_ttft_ms_p50": beside.ttft_median_s * MS_PER_S,
        "pred_ttft_ms_p95": beside.ttft_p95_s * MS_PER_S,
        "pred_ttft_ms_p99": beside.ttft_p99_s * MS_PER_S,
        "pred_tpot_ms_p95": beside.tpot_p95_s * MS_PER_S,
    }
    for name, metric in PREDICTIONS.items():
        if metric != "throughput":
            columns[name] = columns[name] * own.factors(metric, loads)
    return _Delivered(columns, loads, served.utilization, step)
