"""Replicas that come and go, by the hour or as a scaler asks: one that is stopped ends what it began."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.units import SECONDS_PER_HOUR
from optimizer.performance.simulation.arrivals import Stream
from optimizer.performance.simulation.costs import ReplicaCosts
from optimizer.performance.simulation.outage import served_requests
from optimizer.performance.simulation.replica import Served


class ComingAndGoing(Protocol):
    """Replicas of which not always as many serve."""

    def there(self) -> tuple[Floats, Ints]:
        """Times from the first on, (B,) seconds, and the number that serves from each on, (B,)."""

    @property
    def most(self) -> int:
        """That there ever are."""

    @property
    def end_s(self) -> float:
        """After which all of them serve."""


@dataclass(frozen=True)
class Schedule:
    """Replicas by hour, (H,), each there when its hour begins."""

    replicas: Ints

    def there(self) -> tuple[Floats, Ints]:
        """When each hour begins, (H,) seconds from the first, and how many serve in it."""
        begins: Floats = np.arange(len(self.replicas), dtype=np.float64) * SECONDS_PER_HOUR
        return begins, self.replicas

    @property
    def most(self) -> int:
        """That are ever planned."""
        return int(self.replicas.max())

    @property
    def end_s(self) -> float:
        """Of the last hour."""
        return len(self.replicas) * float(SECONDS_PER_HOUR)


def served_by_schedule(
    costs: ReplicaCosts,
    stream: Stream,
    mine: Ints,
    schedule: ComingAndGoing,
    cached_input_share: float,
    most_replicas: int,
    chance: np.random.Generator | None,
) -> list[tuple[Ints, Served]]:
    """What the replicas that are looked at, evenly among all, make of their requests.

    Args:
        costs: One replica.
        stream: All requests, from the first hour on.
        mine: (n,) positions of those of this deployment, in the order of arrival.
        schedule: Its replicas; a request that finds none waits for the next that serves.
        cached_input_share: Of every prompt, in the prefix cache.
        most_replicas: That are looked at.
        chance: Decides which replica serves each request; in turn without it.
    """
    begins, there = schedule.there()
    asked_s = stream.arrived_s[mine]
    part = np.searchsorted(begins, asked_s, side="right") - 1
    # where none serves, the next part in which one does; after the end all of them would
    serving = np.append(np.flatnonzero(there), len(there))
    later = serving[np.searchsorted(serving, part)]
    most = max(schedule.most, 1)
    asked_s = np.maximum(asked_s, np.append(begins, schedule.end_s)[later])
    count = np.append(there, most)[later]
    turn = np.arange(len(mine)) % count if chance is None else chance.integers(count)
    looked_at = np.unique(np.floor((np.arange(most_replicas) + 0.5) * most / most_replicas).astype(np.int64))
    found = []
    for one in looked_at[:most]:
        own = turn == one
        found.append((mine[own], served_requests(costs, stream, mine[own], cached_input_share, asked_s[own])))
    return found
