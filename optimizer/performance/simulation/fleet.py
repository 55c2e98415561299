"""A workload's requests dealt to its replicas, and each replica that is looked at served from the first to the last.

Requests go to deployments in the shares that the plan sends them, and inside a deployment to its replicas, as the
router does it that the policy states; where it states none, to deployments by chance and to replicas in turn. Replicas
of a deployment are alike, so of many only a few are looked at, which stand for the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.inputs.scenario.policy import Router
from optimizer.performance.simulation.arrivals import Stream
from optimizer.performance.simulation.costs import ReplicaCosts
from optimizer.performance.simulation.dealing import dealt, sent
from optimizer.performance.simulation.fewest import served_by_fewest
from optimizer.performance.simulation.outage import Outage, served_requests, served_through, work_of
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
    router: Router | None = None,
    outage: Outage | None = None,
) -> Outcome:
    """The stream served by the deployments.

    Args:
        rng: Decides what chance does of the router's work.
        stream: The requests.
        servers: The deployments.
        cached_input_share: Of every prompt, in the prefix cache.
        most_replicas: How many replicas of a deployment are looked at.
        router: What sends requests to replicas; None where nobody says.
        outage: Replicas that are lost for a time; all of their deployment are then looked at.
    """
    server = sent(rng, router, stream.request_class, np.column_stack([each.rate_per_s for each in servers]))
    chance = rng if router == "by_chance" else None
    served = []
    for number, each in enumerate(servers):
        (mine,) = np.nonzero(server == number)
        lost = outage if outage is not None and outage.server == number else None
        if router == "least_loaded":
            work = work_of(each.costs, stream, mine, cached_input_share)
            found = served_by_fewest(each.costs, stream.arrived_s[mine], work, each.replicas, lost)
            done = [(mine[positions], one) for positions, one in found]
        elif lost is not None:
            done = served_through(each.costs, stream, mine, each.replicas, cached_input_share, lost, chance)
        else:
            turns = dealt(np.ones(len(mine), dtype=np.bool_), np.arange(each.replicas), chance)
            parts_of = [mine[turns == one] for one in range(min(each.replicas, most_replicas))]
            done = [(part, served_requests(each.costs, stream, part, cached_input_share)) for part in parts_of]
        served.append(done)
    return outcome_of(stream, [each.replicas for each in servers], served, most_replicas)


def outcome_of(
    stream: Stream, replicas: Sequence[int], served: Sequence[Sequence[tuple[Ints, Served]]], most_replicas: int
) -> Outcome:
    """What became of the requests that replicas of each deployment served, positions in the stream and times."""
    fewest = min(min(most_replicas / each, 1.0) for each in replicas)
    parts = []
    for number, done in enumerate(served):
        kept = fewest * replicas[number] / len(done)
        parts += [_latencies(stream, requests, one, number, kept) for requests, one in done]
    request, owner, ttft, tpot, e2e = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(request, kind="stable")
    return Outcome(
        request[order],
        owner[order],
        ttft[order],
        tpot[order],
        e2e[order],
        [[one for _, one in done] for done in served],
    )


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
