"""Whether the limits hold over all requests to containers, of which some wait for one to start."""

from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.base.units import SECONDS_PER_MONTH
from optimizer.inputs.scenario.scenario import Workload
from optimizer.performance.candidates.predict import LatencyLimits, OperatingPoint
from optimizer.performance.per_second.cycles import Cycle
from optimizer.performance.physics.queueing import QUANTILES

NEGLIGIBLE: Final = 1e-6
"""Share of requests that wait for a start below which no percentile notices."""
ROUNDING: Final = 1e-9
"""Relative, of shares that just suffice."""


def fits_after_start(workload: Workload, met: Cycle, gathered: Floats, full: Floats) -> Flags:
    """(n,) whether the requests that wait for a start are no more than run at once within the limits, or it hardly
    ever happens; always where no latency is promised."""
    slo = workload.slo
    if slo.ttft_ms is None and slo.tpot_ms is None and slo.e2e_ms is None:
        return np.ones(len(full), dtype=np.bool_)
    fits: Flags = (gathered <= full) | (met.starts_per_s * SECONDS_PER_MONTH < 1)
    return fits


def keeps_limits(
    bound: OperatingPoint, limits: LatencyLimits, met: Cycle, start_s: Floats, each_per_s: Floats
) -> Flags:
    """(n,) whether TTFT and E2E, at their bounds, hold over all requests, of which some wait for a start.

    Of a percentile q either those that wait are in time, too, or so few wait that a higher percentile q' of the others
    does: waiting + (1 − waiting) (1 − q') ≤ 1 − q. Means add up. TPOT waits for nothing.
    """
    held = np.ones(len(start_s), dtype=np.bool_)
    # those that gathered during the start are prefilled one after the other
    late_s = start_s + (1 + each_per_s * start_s) * limits.margins.ttft * bound.prefill_s.max(axis=1)
    mean_late_s = met.mean_wait_s + met.waiting * (late_s - start_s)
    waiting = np.where(met.waiting < NEGLIGIBLE, 0.0, met.waiting)
    for latency_s, wanted in ((bound.ttft_s, limits.ttft_s), (bound.e2e_s, limits.e2e_s)):
        seconds = {name: each.max(axis=1) + limits.before_s for name, each in latency_s.items()}
        for name, limit in wanted.items():
            if name == "mean":
                held &= seconds["mean"] + mean_late_s <= limit
                continue
            kept = seconds[name] + late_s <= limit
            for higher, share in QUANTILES.items():
                enough = waiting + (1 - waiting) * (1 - share) <= (1 - QUANTILES[name]) * (1 + ROUNDING)
                kept |= enough & (seconds[higher] <= limit)
            held &= kept
    return held
