"""A workload's requests dealt to its replicas, and each replica that is looked at served from the first to the last.

Requests go to deployments by chance, in the shares that the plan sends them, and inside a deployment to one replica
after the other, or by chance as well. Replicas of a deployment are alike, so of many only a few are looked at, which
stand for the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.performance.simulation.arrivals import Stream
from optimizer.performance.simulation.costs import ReplicaCosts
from optimizer.performance.simulation.outage import Outage, dealt, served_requests, served_through
from optimizer.performance.simulation.replica import Served


@dataclass(frozen=True)
class Server:
    """A deployment: so many replicas of one configuration.

    Attributes:
        costs: One replica's steps.
        replicas: How many there are.
        rate_per_s: (K,) requests a second of each class that the plan sends here.
    """

    costs: ReplicaCosts
    replicas: int
    rate_per_s: Floats


@dataclass(frozen=True)
class Outcome:
    """What became of the requests that count, (n,) each, in the order of arrival.

    Attributes:
        request: Position in the stream.
        server: Which deployment served it.
        ttft_s, e2e_s: From its arrival; infinite where it never fits.
        tpot_s: Between its tokens; 0 for an answer of one token.
        replicas: What each replica that was looked at did, by deployment.
    """

    request: Ints
    server: Ints
    ttft_s: Floats
    tpot_s: Floats
    e2e_s: Floats
    replicas: Sequence[Sequence[Served]]


def serve_stream(
    rng: np.random.Generator,
    stream: Stream,
    servers: Sequence[Server],
    cached_input_share: float,
    most_replicas: int,
    *,
    by_chance: bool = False,
    outage: Outage | None = None,
) -> Outcome:
    """The stream served by the deployments.

    Args:
        rng: Decides to which deployment each request goes, and by chance to which replica.
        stream: The requests.
        servers: The deployments.
        cached_input_share: Of every prompt, in the prefix cache.
        most_replicas: How many replicas of a deployment are looked at.
        by_chance: Whether a request goes to any replica of its deployment alike, and not to the next in turn.
        outage: Replicas that are lost for a time; all of their deployment are then looked at.
    """
    server, chance = _sent(rng, stream, servers), rng if by_chance else None
    fewest = min(min(most_replicas / each.replicas, 1.0) for each in servers)
    parts, looked_at = [], []
    for number, each in enumerate(servers):
        (mine,) = np.nonzero(server == number)
        if outage is not None and outage.server == number:
            done = served_through(each.costs, stream, mine, each.replicas, cached_input_share, outage, chance)
        else:
            turns = dealt(np.ones(len(mine), dtype=np.bool_), np.arange(each.replicas), chance)
            parts_of = [mine[turns == one] for one in range(min(each.replicas, most_replicas))]
            done = [(part, served_requests(each.costs, stream, part, cached_input_share)) for part in parts_of]
        kept = fewest * each.replicas / len(done)
        parts += [_latencies(stream, requests, one, number, kept) for requests, one in done]
        served = [one for _, one in done]
        looked_at.append(served)
    request, owner, ttft, tpot, e2e = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(request, kind="stable")
    return Outcome(request[order], owner[order], ttft[order], tpot[order], e2e[order], looked_at)


def _sent(rng: np.random.Generator, stream: Stream, servers: Sequence[Server]) -> Ints:
    """(N,) the deployment that each request goes to: by chance, in the shares of its class."""
    # (class, server) -> cumulative share, of a class that nobody sends nothing
    rates = np.column_stack([each.rate_per_s for each in servers])
    share = np.cumsum(rates, axis=1) / np.maximum(rates.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    drawn = rng.random(stream.requests)
    sent: Ints = np.sum(drawn[:, None] >= share[stream.request_class], axis=1)
    return np.minimum(sent, len(servers) - 1)


def _latencies(
    stream: Stream, requests: Ints, done: Served, server: int, kept: float
) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """The columns of an outcome for one replica.

    Only the share `kept` of its requests counts, evenly spread, so that a deployment of which few replicas are looked
    at weighs no less than another.
    """
    place = np.arange(len(requests))
    counts: Flags = np.floor((place + 1) * kept) > np.floor(place * kept)
    request, first, finished = requests[counts], done.first_token_s[counts], done.finished_s[counts]
    arrived, answer = stream.arrived_s[request], stream.output_tokens[request]
    fits: Flags = np.isfinite(finished)
    decoding = np.where(fits, finished, 0.0) - np.where(fits, first, 0.0)
    return (
        request,
        np.full(len(request), server),
        first - arrived,
        np.where(fits, decoding / np.maximum(answer - 1, 1), np.inf),
        finished - arrived,
    )
