"""Requests of a trace as arrays, and what of them a scenario keeps."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.units import MS_PER_S
from optimizer.inputs.scenario.demand import MOST_REQUESTS, RecordedRequest, RecordedRequests
from optimizer.inputs.scenario.traces.blocks import PromptBlocks, chained


class TraceRequests(NamedTuple):
    """Requests of a trace in time order, (N,) each: seconds from the first of them, lengths, and the blocks of their
    prompts where the trace says them."""

    arrived_s: Floats
    input_tokens: Ints
    output_tokens: Ints
    blocks: PromptBlocks | None = None


def kept_requests(recorded: RecordedRequests) -> TraceRequests:
    """The requests that a scenario keeps."""
    gap_ms, prompt, answer, *begins = np.array(recorded.rows(), dtype=np.int64).T
    blocks = None if recorded.block_tokens is None else chained(recorded.block_tokens, prompt, *begins)
    return TraceRequests(np.cumsum(gap_ms) / MS_PER_S, prompt, answer, blocks)


def recorded_requests(
    peak_per_s: float, mean_tokens: tuple[int, int], all_of_them: TraceRequests
) -> RecordedRequests | None:
    """The stretch of a trace in which its requests come fastest; None where they all come at one moment.

    Args:
        peak_per_s: The rate that a plan is made for.
        mean_tokens: Of prompts and answers that it is made for.
        all_of_them: In time order, of the whole trace.
    """
    arrived_s, prompt, answer, blocks = all_of_them
    last = min(len(arrived_s), MOST_REQUESTS) - 1
    # the earliest of the shortest stretches of so many
    first = int(np.argmin(arrived_s[last:] - arrived_s[: len(arrived_s) - last]))
    stretch = np.arange(first, first + last + 1)
    # whole milliseconds since the start, so that rounding does not add up
    gap_ms = np.diff(np.round((arrived_s[stretch] - arrived_s[first]) * MS_PER_S).astype(np.int64), prepend=0)
    if not gap_ms.any():
        return None
    begins = None if blocks is None else np.array(list(_beginnings(blocks.of(stretch).each())))
    columns = [gap_ms, prompt[stretch], answer[stretch], *([] if begins is None else begins.T)]
    rows = [RecordedRequest(*row) for row in np.column_stack(columns).tolist()]
    input_tokens, output_tokens = mean_tokens
    return RecordedRequests(
        peak_requests_per_second=peak_per_s,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        block_tokens=None if blocks is None else blocks.block_tokens,
        requests=" ".join(row.text for row in rows),
    )


def _beginnings(prompts: list[list[int]]) -> Iterator[tuple[int, int]]:
    """For each prompt how many requests before it one came that begins with the same blocks, and how many of them."""
    known: dict[int, int] = {}
    for number, blocks in enumerate(prompts):
        # a block stands for all before it, so whoever had the last of them had them all
        count = next((place for place, block in enumerate(blocks) if block not in known), len(blocks))
        yield (number - known[blocks[count - 1]], count) if count else (0, 0)
        known.update((block, number) for block in blocks[count:])
