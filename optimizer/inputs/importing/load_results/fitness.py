"""Whether a run may stand for what it measured: enough answers, at the rate that was asked for, nothing hidden."""

import math
from typing import Final

from optimizer.base.figures import figure
from optimizer.base.units import MS_PER_S
from optimizer.inputs import open_loop
from optimizer.inputs.importing.load_results.record import Flaw, LoadResult

MAX_FAILED_SHARE: Final = 0.01
"""More requests without an answer than this, and the others had it easier than all would have."""


def unfit(result: LoadResult) -> tuple[Flaw, ...]:
    """Everything for which a run must not be used; empty where it may be."""
    return (*result.flaws, *failures(result), *fell_behind(result))


def doubts(result: LoadResult) -> tuple[str, ...]:
    """What a reader should know of the load of a run that may be used."""
    offered, served = _rates(result)
    uncounted = result.requests_completed is not None and result.requests_failed is None
    faster = served > offered * (1 + rate_tolerance(result))
    return (
        *(("does not say how many requests failed",) if uncounted else ()),
        *((f"served {figure(served)} requests/s where {figure(offered)} were asked for",) if faster else ()),
    )


def failures(result: LoadResult) -> tuple[Flaw, ...]:
    """Too many requests without an answer."""
    if result.requests_completed == 0:
        return (Flaw("no request was answered", "look at the server's log"),)
    sent = result.requests_offered or (result.requests_completed or 0) + (result.requests_failed or 0)
    if not sent or not result.requests_failed or result.requests_failed <= MAX_FAILED_SHARE * sent:
        return ()
    problem = f"{result.requests_failed:,} of {sent:,} requests failed, more than {MAX_FAILED_SHARE:.0%}"
    return (Flaw(problem, "mend what failed, or offer less load"),)


def fell_behind(result: LoadResult) -> tuple[Flaw, ...]:
    """An open loop that fell behind: its queue grew as long as it ran, so its TTFT tells how long that was."""
    offered, served = _rates(result)
    if served >= offered * (1 - _shortfall(result)):
        return ()
    problem = f"served {figure(served)} requests/s of the {figure(offered)} offered, so its queue never settled"
    return (Flaw(problem, "offer what the server can keep up with, or run a closed loop"),)


def _rates(result: LoadResult) -> tuple[float, float]:
    """Requests/s that an open loop offered and that were answered; zeros where the two cannot be compared."""
    load, served = result.load, result.requests_per_s
    if load is None or load.type != "request_rate" or load.value is None or served is None:
        return 0.0, 0.0
    return load.value, served


def rate_tolerance(result: LoadResult) -> float:
    """The share by which the rate served may miss the rate offered."""
    return float(open_loop.rate_tolerance(result.requests_completed or math.nan))


def _shortfall(result: LoadResult) -> float:
    """The share that the whole run may have served less than it offered."""
    offered, _ = _rates(result)
    answering_ms = result.tpot_ms.get("mean", math.nan) * ((result.output_tokens or math.nan) - 1)
    count = result.requests_completed or math.nan
    return float(open_loop.shortfall_tolerance(count, offered, answering_ms / MS_PER_S))
