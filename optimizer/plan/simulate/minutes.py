"""Minutes in which a promise was broken, taken by themselves."""

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.units import SECONDS_PER_MINUTE
from optimizer.performance.physics.queueing import QUANTILES
from optimizer.plan.simulate.judging import MEAN, ServedRequests, asked_limits
from optimizer.plan.simulate.servers import ServedWorkload


def broken_minutes(service: ServedWorkload, found: ServedRequests, minutes: int) -> int:
    """Of so many minutes those in which the requests of a class that came break a promise of it.

    A percentile is broken where too few of them are within the limit, a mean where theirs is above it. Minutes without
    requests break nothing.
    """
    broken = np.zeros(minutes, dtype=np.bool_)
    minute = np.minimum((found.arrived_s / SECONDS_PER_MINUTE).astype(np.int64), minutes - 1)
    for number in range(len(service.names)):
        mine: Flags = found.request_class == number
        for metric, statistic, limit_ms in asked_limits(service.workload):
            values = found.latency_ms[metric][mine]
            broken |= _broken(minute[mine], values, statistic, limit_ms, minutes)
    return int(broken.sum())


def _broken(minute: Ints, values_ms: Floats, statistic: str, limit_ms: float, minutes: int) -> Flags:
    """(minutes,) whether a promise is broken in each."""
    requests = np.bincount(minute, minlength=minutes)
    if statistic == MEAN:
        summed = np.bincount(minute, values_ms, minlength=minutes)
        above: Flags = summed > limit_ms * requests
        return above
    within = np.bincount(minute[values_ms <= limit_ms], minlength=minutes)
    # the percentile is an order statistic: so many of them have to be within
    too_few: Flags = within < np.ceil(QUANTILES[statistic] * requests - 1e-9)
    return too_few
