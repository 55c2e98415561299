"""How much of the prompts of a trace was found in the prefix caches of the replicas that it was sent to."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags, Ints
from optimizer.inputs.scenario.scenario import Workload
from optimizer.performance.simulation.arrivals import Stream
from optimizer.performance.simulation.fleet import Outcome
from optimizer.plan.record.simulation import FoundPrefixes


@dataclass(frozen=True)
class FoundPrompts:
    """Tokens of prompts, (n,): all, those found, and those that an earlier request of the trace had, too."""

    tokens: Ints
    found: Ints
    repeated: Ints

    def of(self, members: Flags) -> "FoundPrompts":
        """Some of them."""
        return FoundPrompts(self.tokens[members], self.found[members], self.repeated[members])

    def share(self, workload: Workload) -> FoundPrefixes:
        """Of all tokens, beside what the plan of the workload counts on."""
        whole = max(int(self.tokens.sum()), 1)
        return FoundPrefixes(
            found_share=int(self.found.sum()) / whole,
            repeated_share=int(self.repeated.sum()) / whole,
            planned_share=workload.cached_input_share,
        )


def prompts_of(stream: Stream, outcome: Outcome) -> FoundPrompts | None:
    """Of the requests that count; None where nobody knows the blocks of their prompts."""
    if stream.blocks is None:
        return None
    repeated = stream.blocks.repeated_tokens(stream.input_tokens)
    return FoundPrompts(stream.input_tokens[outcome.request], outcome.cached_tokens, repeated[outcome.request])


def joined(parts: Sequence[FoundPrompts]) -> FoundPrompts | None:
    """The same of several runs."""
    if not parts:
        return None
    columns = ((part.tokens, part.found, part.repeated) for part in parts)
    return FoundPrompts(*(np.concatenate(column) for column in zip(*columns, strict=True)))
