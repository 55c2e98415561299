"""A deployment of which some replicas are lost for a time: others take what they had begun, and they come back empty.

What a lost replica had not finished is asked again at the moment of the loss, of those that are left; where none is,
it waits until they are back, as all waits that comes meanwhile. Latencies count from the first time it was asked.
"""

import hashlib
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.latest import Latest
from optimizer.base.once_of import OnceOf
from optimizer.performance.simulation.arrivals import Stream
from optimizer.performance.simulation.costs import ReplicaCosts, Work
from optimizer.performance.simulation.dealing import dealt
from optimizer.performance.simulation.replica import Served, serve

MOST_KEPT: Final = 20_000
"""Requests of which it is kept what a replica made of them, 24 bytes each: plans beside a plan send much the same to
the same replicas."""

_SERVED = OnceOf[ReplicaCosts, Latest[Served]](lambda _: Latest(MOST_KEPT))
"""By what was asked and when."""


@dataclass(frozen=True)
class Outage:
    """Replicas of a deployment that are lost together.

    Attributes:
        replicas: How many, at most all.
        from_s, to_s: From when until when, on the clock of the arrivals.
    """

    replicas: int
    from_s: float
    to_s: float


def served_requests(
    costs: ReplicaCosts, stream: Stream, requests: Ints, cached_input_share: float, asked_s: Floats | None = None
) -> Served:
    """What one replica makes of some requests of a stream.

    Args:
        costs: The replica.
        stream: All requests.
        requests: (n,) positions of those that it serves, in the order in which they are asked.
        cached_input_share: Of every prompt, in the prefix cache, where the stream does not know their blocks.
        asked_s: (n,) when they are asked of this replica; when they arrive unless given.
    """
    at_s = stream.arrived_s[requests] if asked_s is None else asked_s
    if stream.blocks is not None or len(requests) > MOST_KEPT:
        return serve(costs, at_s, work_of(costs, stream, requests, cached_input_share))
    lengths = stream.input_tokens[requests], stream.output_tokens[requests]
    digest = hashlib.sha256(b"".join(each.tobytes() for each in (at_s, *lengths))).digest()
    kept, asked = _SERVED(costs), (digest, cached_input_share)
    if (known := kept.get(asked)) is not None:
        return known
    served = serve(costs, at_s, work_of(costs, stream, requests, cached_input_share))
    kept.put(asked, served, len(requests))
    return served


def work_of(costs: ReplicaCosts, stream: Stream, requests: Ints, cached_input_share: float) -> Work:
    """What some requests of a stream ask of a replica, with that share of every prompt in its prefix cache; where their
    blocks are known, with what it finds of them."""
    prompt = stream.input_tokens[requests]
    if stream.blocks is not None:
        work = costs.work(prompt, np.zeros_like(prompt), stream.output_tokens[requests])
        return replace(work, prefixes=costs.prefixes(prompt, stream.blocks.of(requests)))
    cached = np.minimum((prompt * cached_input_share).astype(np.int64), prompt - 1)
    return costs.work(prompt - cached, cached, stream.output_tokens[requests])


def served_through(
    costs: ReplicaCosts,
    stream: Stream,
    mine: Ints,
    asked_s: Floats,
    replicas: int,
    cached_input_share: float,
    outage: Outage,
    chance: np.random.Generator | None = None,
) -> list[tuple[Ints, Served]]:
    """What each replica of a deployment makes of its requests, dealt to those that are there.

    Args:
        costs: One replica's steps.
        stream: All requests.
        mine: (n,) positions of those of this deployment, in the order in which they are asked.
        asked_s: (n,) when that is.
        replicas: How many there are.
        cached_input_share: Of every prompt, in the prefix cache.
        outage: Which are lost, and when.
        chance: Decides which replica serves each request; in turn without it.
    """
    asked_s = asked_s.copy()
    every, left = np.arange(replicas), np.arange(min(outage.replicas, replicas), replicas)
    there, again_s = (left, outage.from_s) if len(left) else (every, outage.to_s)
    meanwhile: Flags = (asked_s >= outage.from_s) & (asked_s < outage.to_s)
    # the usual replicas first, so that chance has them as it has without a loss
    usual = dealt(~meanwhile, every, chance)
    place = np.where(meanwhile, dealt(meanwhile, there, chance), usual)
    if not len(left):
        asked_s[meanwhile] = outage.to_s
    begun: Flags = (place < outage.replicas) & (asked_s < outage.from_s)
    until_lost = []
    for one in every:
        first = begun & (place == one)
        done = served_requests(costs, stream, mine[first], cached_input_share, asked_s[first])
        until_lost.append(before_loss(mine[first], done, outage))
    finished = np.isin(mine, np.concatenate([requests for requests, _ in until_lost]))
    # what was begun and not finished is asked once more
    interrupted: Flags = begun & ~finished
    place[interrupted], asked_s[interrupted] = dealt(interrupted, there, chance)[interrupted], again_s
    found = []
    for one, (early, before) in zip(every, until_lost, strict=True):
        (rest,) = np.nonzero((place == one) & ~finished)
        rest = rest[np.argsort(asked_s[rest], kind="stable")]
        after = served_requests(costs, stream, mine[rest], cached_input_share, asked_s[rest])
        found.append((np.concatenate([early, mine[rest]]), one_after_the_other(before, after)))
    return found


def before_loss(requests: Ints, done: Served, outage: Outage) -> tuple[Ints, Served]:
    """What a replica finished of its requests before it was lost."""
    in_time: Flags = done.finished_s <= outage.from_s
    kept = replace(
        done,
        first_token_s=done.first_token_s[in_time],
        finished_s=done.finished_s[in_time],
        cached_tokens=done.cached_tokens[in_time],
    )
    return requests[in_time], kept


def one_after_the_other(before: Served, after: Served) -> Served:
    """What one replica did before it was lost and since."""
    return Served(
        np.concatenate([before.first_token_s, after.first_token_s]),
        np.concatenate([before.finished_s, after.finished_s]),
        np.concatenate([before.cached_tokens, after.cached_tokens]),
        before.preempted + after.preempted,
        before.busy_s + after.busy_s,
        before.sequence_s + after.sequence_s,
    )
