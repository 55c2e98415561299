"""Deployments that are lost whole for a time: others take what comes for them meanwhile, and what they had begun."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.inputs.scenario.policy import Router
from optimizer.performance.simulation.arrivals import Stream
from optimizer.performance.simulation.dealing import sent
from optimizer.performance.simulation.outage import Outage, before_loss
from optimizer.performance.simulation.replica import Served

Run = Callable[[int, Ints], Sequence[tuple[Ints, Served]]]
"""What all replicas of a deployment make of some requests, were none lost."""
DONE = -1
"""Where a request goes that was finished before the loss."""


@dataclass(frozen=True)
class Moved:
    """Requests of a stream after losses.

    Attributes:
        server: (N,) the deployment that each goes to at last, `DONE` for those that were finished before.
        asked_s: (N,) when it is asked of that one.
        finished: Of each deployment that is lost whole, what its replicas finished before.
    """

    server: Ints
    asked_s: Floats
    finished: Mapping[int, Sequence[tuple[Ints, Served]]]


def moved(
    rng: np.random.Generator,
    router: Router,
    stream: Stream,
    server: Ints,
    left_per_s: Floats,
    outages: Mapping[int, Outage],
    run: Run,
) -> Moved:
    """Who serves what where deployments are lost.

    Args:
        rng: Decides what chance does of the router's work.
        router: What sends requests.
        stream: The requests.
        server: (N,) the deployment that each would go to.
        left_per_s: (K, servers) what deployments are sent of each class, as far as replicas are left of them. Where
            nothing is left of a class its requests wait until the lost ones are back.
        outages: Of deployments that are lost whole.
        run: Serves requests as if nothing were lost.
    """
    server, asked_s = server.copy(), stream.arrived_s.copy()
    taken = left_per_s.sum(axis=1)[stream.request_class] > 0
    finished = {}
    for number, outage in outages.items():
        mine = server == number
        early = np.flatnonzero(mine & (stream.arrived_s < outage.from_s))
        finished[number] = [before_loss(requests, done, outage) for requests, done in run(number, early)]
        ended = np.concatenate([requests for requests, _ in finished[number]])
        begun = np.setdiff1d(early, ended)
        asked_s[begun] = outage.from_s
        meanwhile = np.flatnonzero(mine & (stream.arrived_s >= outage.from_s) & (stream.arrived_s < outage.to_s))
        again = np.concatenate([begun, meanwhile])
        goes, waits = again[taken[again]], again[~taken[again]]
        server[goes] = sent(rng, router, stream.request_class[goes], left_per_s)
        asked_s[waits] = outage.to_s
        server[ended] = DONE
    return Moved(server, asked_s, finished)
