"""Deployments that lose replicas for a time: a router that is told of it divides what comes among what is left.

Of one that is lost whole others take what it had begun, too.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.performance.simulation.arrivals import Stream
from optimizer.performance.simulation.dealing import Dealing, sent
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
    router: Dealing,
    stream: Stream,
    server: Ints,
    left_per_s: Floats,
    outages: Mapping[int, Outage],
    whole: Collection[int],
    run: Run,
) -> Moved:
    """Who serves what where deployments lose replicas, by a router that is told of it.

    Args:
        rng: Decides what chance does of the router's work.
        router: What sends requests.
        stream: The requests.
        server: (N,) the deployment that each would go to.
        left_per_s: (K, servers) by which requests of each class are divided meanwhile. Where nothing is left of a class
            its requests wait until the lost ones are back.
        outages: Of deployments that lose replicas, all from the same time to the same time.
        whole: Of them those that lose all.
        run: Serves requests as if nothing were lost.
    """
    server, asked_s, outage = server.copy(), stream.arrived_s.copy(), next(iter(outages.values()))
    taken = left_per_s.sum(axis=1)[stream.request_class] > 0
    finished, begun = {}, [np.array([], dtype=np.int64)]
    for number in whole:
        early = np.flatnonzero((server == number) & (stream.arrived_s < outage.from_s))
        finished[number] = [before_loss(requests, done, outage) for requests, done in run(number, early)]
        ended = np.concatenate([requests for requests, _ in finished[number]])
        begun.append(np.setdiff1d(early, ended))
        server[ended] = DONE
    cut_short = np.sort(np.concatenate(begun))
    asked_s[cut_short] = outage.from_s
    meanwhile = np.flatnonzero((stream.arrived_s >= outage.from_s) & (stream.arrived_s < outage.to_s))
    # what was begun and not finished is asked once more, before all that comes meanwhile
    again = np.concatenate([cut_short, meanwhile])
    goes, waits = again[taken[again]], again[~taken[again]]
    server[goes] = sent(rng, router, stream.request_class[goes], left_per_s)
    asked_s[waits] = outage.to_s
    return Moved(server, asked_s, finished)
