"""What broke and when: the stretches of time in which requests did not keep a promise."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from optimizer.base.arrays import Ints
from optimizer.plan.record.simulation import BrokenSpell, MeasuredLimit
from optimizer.plan.simulate.judging import ServedRequests, limits_of
from optimizer.plan.simulate.servers import ServedWorkload

REQUESTS_OF_A_PART: Final = 200
"""Of a class, on average, in each of the parts of time that are looked at; fewer decide nothing of a p99."""
MOST_PARTS: Final = 500


def broken_spells(service: ServedWorkload, found: ServedRequests, span_s: float) -> Iterator[BrokenSpell]:
    """Parts of the time, next to each other, whose requests alone leave no doubt that a promise was broken in them."""
    for number, name in enumerate(service.names):
        mine = found.of(found.request_class == number)
        parts = int(np.clip(len(mine.request_class) // REQUESTS_OF_A_PART, 1, MOST_PARTS))
        part = np.minimum((mine.arrived_share * parts).astype(np.int64), parts - 1)
        # parts without any request, as of hours in which nothing is asked, break nothing and part what lies around them
        filled = np.unique(part)
        limits = [list(limits_of(service.workload, mine.of(part == each))) for each in filled]
        for of_limit in zip(*limits, strict=True):
            for run in _runs(filled, of_limit):
                first, last, limit = int(run[0]), int(run[-1]), of_limit[0]
                during = mine.of((part >= first) & (part <= last))
                values = during.latency_ms[limit.metric]
                yield BrokenSpell.model_validate(
                    {
                        "workload": service.workload.name,
                        "class": name,
                        "metric": limit.metric,
                        "statistic": limit.statistic,
                        "limit_ms": limit.limit_ms,
                        "from_s": first * span_s / parts,
                        "to_s": (last + 1) * span_s / parts,
                        "requests": len(values),
                        "share_within_limit": float(np.mean(values <= limit.limit_ms)),
                        "worst_ms": _worst(
                            [each for each, at in zip(of_limit, filled, strict=True) if first <= at <= last]
                        ),
                    }
                )


def _runs(parts: Ints, limits: Sequence[MeasuredLimit]) -> Iterator[Ints]:
    """Parts in a row in which a promise was broken, of those that have requests."""
    broken: Ints = parts[np.array([limit.verdict == "broken" for limit in limits], dtype=np.bool_)]
    return (run for run in np.split(broken, np.flatnonzero(np.diff(broken) > 1) + 1) if len(run))


def _worst(limits: Sequence[MeasuredLimit]) -> float | None:
    """The highest figure of a part; None where some of its requests were never answered."""
    highest = max(limit.value_ms for limit in limits)
    return highest if np.isfinite(highest) else None
