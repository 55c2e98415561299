"""Replicas that are simulated side by side, for routers that must know how many requests each has when one comes.

In flight is what waits, is read, or is answered when the step ends that is under way.
"""

from dataclasses import dataclass, field

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.performance.simulation.choosing import ReplicaChoice
from optimizer.performance.simulation.costs import ReplicaCosts, Work
from optimizer.performance.simulation.outage import Outage, one_after_the_other
from optimizer.performance.simulation.replica import Replica, Served


def served_side_by_side(
    costs: ReplicaCosts, asked_s: Floats, work: Work, replicas: int, choice: ReplicaChoice, outage: Outage | None = None
) -> list[tuple[Ints, Served]]:
    """What each replica makes of the requests that it is sent: their positions and what became of them.

    Args:
        costs: One replica.
        asked_s: (n,) when each request arrives, rising.
        work: What each asks.
        replicas: How many there are.
        choice: To which of them each request goes.
        outage: Which are lost, and when; what they had begun is asked again then, of those that are left.
    """
    fleet = _Fleet(costs, work, [Replica(costs, work) for _ in range(replicas)], choice)
    losses = [] if outage is None else [(outage.from_s, True), (outage.to_s, False)]
    for request, at_s in enumerate(asked_s.tolist()):
        while losses and losses[0][0] <= at_s:
            fleet.lose_or_restore(*losses.pop(0), min(outage.replicas, replicas) if outage else 0)
        fleet.send(request, at_s)
    for loss in losses:
        fleet.lose_or_restore(*loss, min(outage.replicas, replicas) if outage else 0)
    return fleet.ended()


@dataclass
class _Fleet:
    """Replicas side by side, and what is sent to them."""

    costs: ReplicaCosts
    work: Work
    replicas: list[Replica]
    choice: ReplicaChoice
    sent: list[list[int]] = field(init=False)
    """Of each replica, the requests that it has not finished before it was lost."""
    before: dict[int, tuple[list[int], Served]] = field(default_factory=dict)
    """Of each replica that was lost, what it had finished."""
    waiting: list[int] = field(default_factory=list)
    """Requests for which no replica is there."""
    lost: int = 0

    def __post_init__(self) -> None:
        self.sent = [[] for _ in self.replicas]

    def send(self, request: int, at_s: float) -> None:
        """One request to the replica that is chosen, of those that are there."""
        there = range(self.lost, len(self.replicas))
        if not there:
            self.waiting.append(request)
            return
        for number in there:
            self.replicas[number].run(at_s)
        chosen = self.choice.choose(request, there, [each.in_flight for each in self.replicas])
        self.replicas[chosen].take(request, at_s)
        self.sent[chosen].append(request)

    def lose_or_restore(self, at_s: float, loses: bool, replicas: int) -> None:
        """The first so many replicas go, and others take what they had not finished; or they come back empty."""
        again: list[int] = []
        for number in range(replicas) if loses else ():
            again += self._lose(number, at_s)
        self.lost = replicas if loses else 0
        if loses:
            self.choice.forget(range(replicas))
        else:
            again, self.waiting = self.waiting, []
        for request in sorted(again):
            self.send(request, at_s)

    def _lose(self, number: int, at_s: float) -> list[int]:
        """The requests that a replica had not finished; in its place an empty one stands."""
        replica, mine = self.replicas[number], self.sent[number]
        replica.run(at_s)
        finished = [request for request in mine if replica.finished_s[request] <= at_s]
        self.before[number] = (finished, replica.served(np.array(finished, dtype=np.int64)))
        self.replicas[number], self.sent[number] = Replica(self.costs, self.work, now_s=at_s), []
        return sorted(set(mine) - set(finished))

    def ended(self) -> list[tuple[Ints, Served]]:
        """Every replica run to its end."""
        found = []
        for number, (replica, mine) in enumerate(zip(self.replicas, self.sent, strict=True)):
            replica.run()
            requests = np.array(mine, dtype=np.int64)
            after = replica.served(requests)
            early, before = self.before.get(number, ([], None))
            requests = np.concatenate([np.array(early, dtype=np.int64), requests])
            found.append((requests, after if before is None else one_after_the_other(before, after)))
        return found
