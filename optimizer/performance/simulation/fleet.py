"""A workload's requests dealt to its replicas, and each replica that is looked at served from the first to the last.

Requests go to deployments in the shares that the plan sends them, and inside a deployment to its replicas, as the
policy's router does it. Replicas of a deployment are alike, so of many only a few are looked at, which stand for the
rest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.performance.simulation.arrivals import Stream
from optimizer.performance.simulation.choosing import FewestInFlight, LongestPrefix, ReplicaChoice
from optimizer.performance.simulation.costs import ReplicaCosts, Work
from optimizer.performance.simulation.dealing import KNOWING, Dealing, dealt, sent
from optimizer.performance.simulation.failover import moved
from optimizer.performance.simulation.outage import (
    Outage,
    one_after_the_other,
    served_requests,
    served_through,
    work_of,
)
from optimizer.performance.simulation.replica import Served
from optimizer.performance.simulation.side_by_side import served_side_by_side

NO_OUTAGES: Final[Mapping[int, Outage]] = MappingProxyType({})


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
        cached_tokens: Of its prompt, in the prefix cache.
        replicas: What each replica that was looked at did, by deployment.
    """

    request: Ints
    server: Ints
    ttft_s: Floats
    tpot_s: Floats
    e2e_s: Floats
    cached_tokens: Ints
    replicas: Sequence[Sequence[Served]]


def serve_stream(
    rng: np.random.Generator,
    stream: Stream,
    servers: Sequence[Server],
    cached_input_share: float,
    most_replicas: int,
    *,
    router: Dealing = "by_chance",
    outages: Mapping[int, Outage] = NO_OUTAGES,
    left_per_s: Floats | None = None,
) -> Outcome:
    """The stream served by the deployments.

    Args:
        rng: Decides what chance does of the router's work.
        stream: The requests.
        servers: The deployments.
        cached_input_share: Of every prompt, in the prefix cache.
        most_replicas: How many replicas of a deployment are looked at.
        router: What sends requests to replicas.
        outages: By deployment, replicas that are lost for a time, all for the same; all of it are then looked at.
        left_per_s: (K, servers) by which requests of each class are divided meanwhile; what the replicas that are left
            are sent otherwise, unless given.
    """
    rates = np.column_stack([each.rate_per_s for each in servers])
    server = sent(rng, router, stream.request_class, rates)
    serving = _Serving(rng, stream, servers, cached_input_share, router, stream.arrived_s)
    finished: Mapping[int, Sequence[tuple[Ints, Served]]] = {}
    lost = np.array([outages[n].replicas / each.replicas if n in outages else 0.0 for n, each in enumerate(servers)])
    if outages and len(servers) > 1:
        left = rates * np.maximum(1 - lost, 0.0) if left_per_s is None else left_per_s
        whole = [number for number in outages if lost[number] >= 1]
        after = moved(rng, router, stream, server, left, outages, whole, serving.by_all)
        server, finished, serving = after.server, after.finished, replace(serving, asked_s=after.asked_s)
    served = []
    for number in range(len(servers)):
        (mine,) = np.nonzero(server == number)
        if number in finished:
            late = serving.by_all(number, mine)
            served.append([_joined(early, rest) for early, rest in zip(finished[number], late, strict=True)])
        else:
            served.append(serving.by(number, mine, most_replicas, outages.get(number)))
    return outcome_of(stream, [each.replicas for each in servers], served, most_replicas)


@dataclass(frozen=True)
class _Serving:
    """Deployments, what sends requests to their replicas, and when each request is asked of its own, (N,)."""

    rng: np.random.Generator
    stream: Stream
    servers: Sequence[Server]
    cached_input_share: float
    router: Dealing
    asked_s: Floats

    def by_all(self, number: int, mine: Ints) -> list[tuple[Ints, Served]]:
        """What all replicas of a deployment make of requests at those positions."""
        return self.by(number, mine, self.servers[number].replicas, None)

    def by(self, number: int, mine: Ints, most_replicas: int, lost: Outage | None) -> list[tuple[Ints, Served]]:
        """The same of so many replicas, or of all where some of them are lost for a time."""
        mine = mine[np.argsort(self.asked_s[mine], kind="stable")]
        each, asked_s, cached = self.servers[number], self.asked_s[mine], self.cached_input_share
        chance = self.rng if self.router == "by_chance" else None
        if self.router in KNOWING:
            work = work_of(each.costs, self.stream, mine, cached)
            found = served_side_by_side(each.costs, asked_s, work, each.replicas, self._choice(work), lost)
            return [(mine[positions], one) for positions, one in found]
        if lost is not None:
            return served_through(each.costs, self.stream, mine, asked_s, each.replicas, cached, lost, chance)
        turns = dealt(np.ones(len(mine), dtype=np.bool_), np.arange(each.replicas), chance)
        parts = [turns == one for one in range(min(each.replicas, most_replicas))]
        return [(mine[p], served_requests(each.costs, self.stream, mine[p], cached, asked_s[p])) for p in parts]

    def _choice(self, work: Work) -> ReplicaChoice:
        """Who of the replicas of a deployment takes a request; of prompts that nobody knows none has the longest."""
        if self.router == "prefix_aware" and work.prefixes is not None:
            return LongestPrefix(work.prefixes.blocks)
        return FewestInFlight()


def _joined(early: tuple[Ints, Served], late: tuple[Ints, Served]) -> tuple[Ints, Served]:
    """What one replica did before it was lost and since."""
    return np.concatenate([early[0], late[0]]), one_after_the_other(early[1], late[1])


def outcome_of(
    stream: Stream, replicas: Sequence[int], served: Sequence[Sequence[tuple[Ints, Served]]], most_replicas: int
) -> Outcome:
    """What became of the requests that replicas of each deployment served, positions in the stream and times."""
    fewest = min(min(most_replicas / each, 1.0) for each in replicas)
    parts = []
    for number, done in enumerate(served):
        kept = fewest * replicas[number] / len(done)
        parts += [_latencies(stream, requests, one, number, kept) for requests, one in done]
    request, owner, ttft, tpot, e2e, cached = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(request, kind="stable")
    return Outcome(
        request[order],
        owner[order],
        ttft[order],
        tpot[order],
        e2e[order],
        cached[order],
        [[one for _, one in done] for done in served],
    )


def _latencies(
    stream: Stream, requests: Ints, done: Served, server: int, kept: float
) -> tuple[Ints, Ints, Floats, Floats, Floats, Ints]:
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
        done.cached_tokens[counts],
    )
