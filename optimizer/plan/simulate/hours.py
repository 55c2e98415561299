"""Promises over days hold in every hour: one that the requests of an hour alone break is broken, in that hour."""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from optimizer.base.units import SECONDS_PER_HOUR
from optimizer.plan.record.simulation import MeasuredLimit, SimulatedClass
from optimizer.plan.simulate.judging import LIKELY, ServedRequests, limits_of
from optimizer.plan.simulate.servers import ServedWorkload

FEWEST: Final = 40
"""Requests of an hour of which a mean is bounded."""


def held_by_hour(
    service: ServedWorkload, sample: ServedRequests, classes: Iterable[SimulatedClass]
) -> Iterator[SimulatedClass]:
    """Classes that were judged over all hours, with the figures of the hour that breaks a promise most clearly.

    Of many hours one breaks a promise by chance: each is bounded so that all of them together are as likely to be
    right as the whole (Bonferroni). An hour of few requests decides nothing.
    """
    number_of = {name: number for number, name in enumerate(service.names)}
    for item in classes:
        mine = sample.of(sample.request_class == number_of[item.request_class])
        hour = (mine.arrived_s // SECONDS_PER_HOUR).astype(np.int64)
        hours, requests = np.unique(hour, return_counts=True)
        likely = 1 - (1 - LIKELY) / max(len(hours), 1)
        found = {
            int(each): list(limits_of(service.workload, mine.of(hour == each), likely))
            for each in hours[requests >= FEWEST]
        }
        yield item.model_copy(update={"limits": [_worst(n, limit, found) for n, limit in enumerate(item.limits)]})


def _worst(number: int, limit: MeasuredLimit, by_hour: dict[int, list[MeasuredLimit]]) -> MeasuredLimit:
    """A promise over all hours, or in the one that breaks it most clearly."""
    broken = [(limits[number].low_ms, hour) for hour, limits in by_hour.items() if limits[number].verdict == "broken"]
    if not broken:
        return limit
    hour = max(broken)[1]
    return by_hour[hour][number].model_copy(update={"hour": hour})
