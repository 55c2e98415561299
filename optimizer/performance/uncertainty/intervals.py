"""How far off a prediction may be: intervals calibrated on measurements that a fit had not seen.

All widths are logarithms: a half-width of 0.3 means that 90 % of unseen measurements lay between the prediction times
and divided by exp(0.3). With h the half-width of the row's metric, load and engine, and u that of whatever nobody
measured about it,

    half-width = √((h · Π f)² + Σ u²)      low = value · exp(−a · half-width)      high = value · exp(b · half-width)

where each f says how much wider a row is than others for what it is of: its GPU's architecture, dense or routed models.
Plans take none of them, for open arrivals were timed on few architectures and of dense models alone, and no data is no
merit. a and b, near 1, say that errors are not the same on both sides; where something was not measured they are others
(`NOVEL`), for errors there are more one-sided. The catalog's rows are `interval_half_width`, `interval_factor`,
`interval_unseen`, `interval_low_share`, `interval_high_share` and, for plans, `planning_share`.
"""

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from optimizer.base.arrays import Flags, Floats
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.constants import Calibration, group_name

HALF_WIDTH: Final = "interval_half_width"
FACTOR: Final = "interval_factor"
"""By metric and trait, f above; of the metric alone, that of traits which nobody measured."""

UNSEEN: Final = "interval_unseen"
DRAFTED: Final = "interval_drafted"
APART: Final = "interval_apart"
"""By metric, how much wider for steps that verify a draft, and where prompts are read on workers of their own, neither
of which a fit has seen; also the names of such rows."""
LOW: Final = "interval_low_share"
HIGH: Final = "interval_high_share"
NOVEL: Final = "novel"
"""Names the shares of rows of which something was not measured."""
PLANNING: Final = "planning_share"
"""One-sided error at `PLANNING_CONFIDENCE`, on the side that breaks a promise, as a share of the half-width."""

REPEAT_NOISE: Final = "repeat_noise"
"""By metric, the log half-width around one run that holds `COVERAGE` of its repetitions."""

PLANNING_CONFIDENCE: Final = 0.9
COVERAGE: Final = 0.90
"""Share of measurements that an interval is meant to hold."""

FEW_CLIENTS: Final = 4
MANY_CLIENTS: Final = 64
CROWD: Final = 128
"""Closed loops up to the first are lightly loaded, beyond the second heavily; beyond the third most requests wait where
servers and clients have limits that nobody states."""

WAITING_SHARE: Final = 0.1
"""Where a request spends more of its life before its first token, it waits in line, which is hard to predict."""

Column = Sequence[str] | NDArray[Any]


def load_class(load: Column, value: Floats, ttft_s: Floats, decoding_s: Floats) -> list[str]:
    """The class of each row's load: closed loops differ by their clients and by whether these wait, (n,).

    Args:
        load: Kind of load of each row.
        value: Its clients, rate or batch.
        ttft_s: Predicted mean time to the first token.
        decoding_s: Predicted time from the first token to the last.
    """
    waiting = ttft_s > WAITING_SHARE * (ttft_s + decoding_s)
    closed = np.select(
        [value <= FEW_CLIENTS, waiting, value <= MANY_CLIENTS, value <= CROWD],
        ["low", "waiting", "middle", "high"],
        default="crowd",
    )
    return [f"{kind}-{size}" if kind == "concurrency" else str(kind) for kind, size in zip(load, closed, strict=True)]


def half_width(
    calibration: Calibration,
    metric: str,
    loads: Column,
    engines: Column,
    missing: Mapping[str, Flags],
    guessed: Flags | None = None,
    traits: Sequence[Column] = (),
) -> Floats:
    """Half-width of each row's interval as a logarithm, (n,).

    Args:
        calibration: Holds the widths by metric, metric@load and metric@load@engine.
        metric: `ttft`, `tpot` or `throughput`.
        loads: Load class of each row, as `load_class` names it.
        engines: Engine of each row.
        missing: For each kind of novelty whether a row has it, (n,); widths add in squares.
        guessed: Whether a row is estimated, (n,): it starts from the widest engine of its load, never from a narrower.
        traits: What each row is of, one column a trait: each makes it wider or narrower by a factor.
    """
    classes = Categorical.of(list(zip(loads, engines, strict=True)))
    # (load, engine) -> the most specific width that the catalog holds
    groups = [(group_name((metric, *pair)), group_name((metric, pair[0])), metric) for pair in classes.categories]
    squared: Floats = classes.by_row([calibration.lookup(HALF_WIDTH, *each) ** 2 for each in groups])
    if guessed is not None:
        widths = calibration.members(HALF_WIDTH)
        widest = [
            max(width for group, width in widths.items() if group == each[-1] or group.startswith(each[1]))
            for each in groups
        ]
        squared = np.where(guessed, classes.by_row(widest) ** 2, squared)
    # older calibrations have widths that know no traits
    for column in traits if (FACTOR, metric) in calibration.position else ():
        names = Categorical.of(column)
        factors = [calibration.lookup(FACTOR, group_name((metric, name)), metric) for name in names.categories]
        squared = squared * names.by_row(factors) ** 2
    for kind, rows in missing.items():
        parameter, group = (kind, metric) if kind in (DRAFTED, APART) else (UNSEEN, f"{metric}@{kind}")
        squared = squared + np.where(rows, calibration.lookup(parameter, group) ** 2, 0.0)
    return np.sqrt(squared)


def bounds(
    calibration: Calibration, metric: str, loads: Column, value: Floats, width: Floats, missing: Mapping[str, Flags]
) -> tuple[Floats, Floats]:
    """Low and high end of the interval around each value, (n,); `missing` as of `half_width`."""
    kinds = Categorical.of(list(zip(loads, anything_missing(missing).tolist(), strict=True)))

    def share(side: str) -> Floats:
        return kinds.by_row([calibration.lookup(side, *share_groups(metric, *kind)) for kind in kinds.categories])

    return value * np.exp(-share(LOW) * width), value * np.exp(share(HIGH) * width)


def share_groups(metric: str, load: str, novel: bool) -> tuple[str, ...]:
    """Names of the shares of the ends, by load and for all loads, then what stands for them in older calibrations."""
    measured = group_name((metric, load)), metric
    unmeasured = group_name((metric, NOVEL, load)), group_name((metric, NOVEL))
    return (*unmeasured, *measured) if novel else measured


def planning_share(calibration: Calibration, metric: str, confidence: float, missing: Mapping[str, Flags]) -> Floats:
    """The part of a half-width that a promise with this confidence leaves as room, (n,): 0 at one half, monotone."""
    of_measured = calibration.lookup(PLANNING, metric)
    of_novel = calibration.lookup(PLANNING, group_name((metric, NOVEL)), metric)
    return np.where(anything_missing(missing), of_novel, of_measured) * deviations(confidence)


def deviations(confidence: float) -> float:
    """What a promise with this confidence leaves as room, relative to one with `PLANNING_CONFIDENCE`."""
    return NormalDist().inv_cdf(confidence) / NormalDist().inv_cdf(PLANNING_CONFIDENCE)


def anything_missing(missing: Mapping[str, Flags]) -> Flags:
    """Whether something about each row was not measured, (n,)."""
    rows: Flags = np.logical_or.reduce(list(missing.values()))
    return rows
