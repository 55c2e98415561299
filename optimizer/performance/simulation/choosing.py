"""Routers that know replicas: to the one with the fewest requests in flight, or to the one that has most of the prompt.

The second rule is the one that vLLM's router and SGLang's gateway start with, called `cache_aware`. The router
remembers what it sent where. A request goes to the replica that was sent the longest beginning of its prompt, where
that is more than a part of it; else, and wherever replicas are out of balance, to the one with the fewest in flight.
Source: vllm-project/router, src/policies/cache_aware.rs; the defaults of both are 0.3, 64 and 1.5
(https://docs.gpustack.ai, routers of model deployments: vLLM router 0.1.15, SGLang gateway 0.3.1). They match text and
forget what was used least recently beyond 2²⁶ characters a replica; here blocks are matched and nothing is forgotten.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

LEAST_SHARE: Final = 0.3
"""Of a prompt, that a replica must have been sent to be chosen for it."""
MOST_APART: Final = 64
"""Requests by which the fullest replica may be ahead of the emptiest."""
MOST_TIMES: Final = 1.5
"""As many as the emptiest has, that the fullest may have; out of balance is what is beyond both."""


class ReplicaChoice(Protocol):
    """What sends requests to replicas that stand side by side."""

    def choose(self, request: int, there: range, in_flight: Sequence[int]) -> int:
        """The replica, of those that are there, for a request; all replicas' requests in flight are known."""

    def forget(self, replicas: Iterable[int]) -> None:
        """These have lost all that they had."""


@dataclass
class FewestInFlight:
    """To the replica with the fewest in flight; of several the next after the last one chosen."""

    last: int = -1

    def choose(self, request: int, there: range, in_flight: Sequence[int]) -> int:  # noqa: ARG002
        """The emptiest, whatever is asked."""
        first = there.start
        turns = (first + (self.last + 1 + step - first) % len(there) for step in range(len(there)))
        self.last = min(turns, key=in_flight.__getitem__)
        return self.last

    def forget(self, replicas: Iterable[int]) -> None:
        """What they had does not matter."""


@dataclass
class LongestPrefix:
    """To the replica that was sent the longest beginning of the prompt, as long as none gets far ahead of the others.

    Attributes:
        blocks: Of each request's prompt.
        least_share, most_apart, most_times: As the constants say.
    """

    blocks: Sequence[Sequence[int]]
    least_share: float = LEAST_SHARE
    most_apart: int = MOST_APART
    most_times: float = MOST_TIMES
    sent: dict[int, int] = field(default_factory=dict)
    """Block -> replicas that were sent it, a bit each."""
    fewest: FewestInFlight = field(default_factory=FewestInFlight)

    def choose(self, request: int, there: range, in_flight: Sequence[int]) -> int:
        """By the prompt where that is safe, else the emptiest."""
        chosen = self._by_prefix(request, there, in_flight)
        if chosen is None:
            chosen = self.fewest.choose(request, there, in_flight)
        sent, one = self.sent, 1 << chosen
        for block in self.blocks[request]:
            sent[block] = sent.get(block, 0) | one
        return chosen

    def _by_prefix(self, request: int, there: range, in_flight: Sequence[int]) -> int | None:
        """That with the longest beginning, of several the emptiest; None where none has enough, or out of balance."""
        loads = in_flight[there.start : there.stop]
        most, least = max(loads), min(loads)
        if most - least > self.most_apart and most > self.most_times * least:
            return None
        blocks, longest, found = self.blocks[request], 0, 0
        having = (1 << there.stop) - (1 << there.start)
        for block in blocks:
            having &= self.sent.get(block, 0)
            if not having:
                break
            longest, found = having, found + 1
        if found <= self.least_share * len(blocks):
            return None
        return min((one for one in there if longest >> one & 1), key=in_flight.__getitem__)

    def forget(self, replicas: Iterable[int]) -> None:
        """Their bits are taken out of all blocks."""
        kept = ~sum(1 << one for one in replicas)
        self.sent = {block: having & kept for block, having in self.sent.items()}
