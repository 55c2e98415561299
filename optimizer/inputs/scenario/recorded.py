"""Requests of a trace kept one by one, as a text that a scenario carries wherever it goes: into plans and files."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Final, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from optimizer.base.arrays import Floats, Ints
from optimizer.base.model import Strict
from optimizer.base.units import MS_PER_S
from optimizer.inputs.scenario.fields import MAX_TOKENS, Rate, Tokens
from optimizer.inputs.scenario.prompt_blocks import PromptBlocks, chained

MOST_REQUESTS: Final = 10_000
"""That are kept: some 0.1 MB of text, simulated in half a second."""
FEWEST_REQUESTS: Final = 2
"""That have a time between them."""
REQUEST: Final = r"\d{1,12}/\d{1,8}/\d{1,8}(?:/\d{1,5}:\d{1,6})?"
REQUESTS: Final = re.compile(f"{REQUEST}(?: {REQUEST})*")
CHARACTERS: Final = 40
"""Of a request at most."""
MOST_TEXTS: Final = 8
"""That are kept as arrays."""


class TraceRequests(NamedTuple):
    """Requests of a trace in time order, (N,) each: seconds from the first of them, lengths, and the blocks of their
    prompts where the trace says them."""

    arrived_s: Floats
    input_tokens: Ints
    output_tokens: Ints
    blocks: PromptBlocks | None = None


class RecordedRequests(Strict):
    """Requests of a trace, in the stretch of it in which they come fastest."""

    peak_requests_per_second: Rate
    """Of the whole trace in its busiest minute, the rate that is planned for; so the next two where nothing else
    changes them afterwards: with them rate and lengths are what is asked by then."""
    input_tokens: Tokens
    """Mean of the whole trace."""
    output_tokens: Tokens
    block_tokens: Tokens | None = None
    """Of a block of prompts; None where the trace does not say them."""
    requests: Annotated[str, Field(max_length=CHARACTERS * MOST_REQUESTS)]
    """Each as milliseconds since the one before it, tokens of its prompt and tokens of its answer: `12/1024/256`; then
    how many requests before it the one came whose prompt begins with the same blocks, and how many: `12/1024/256/3:2`.
    """

    @model_validator(mode="after")
    def _are_requests(self) -> Self:
        if REQUESTS.fullmatch(self.requests) is None:
            raise ValueError("requests are written as `milliseconds/prompt tokens/answer tokens`, a blank between two")
        kept = self.kept()
        if not FEWEST_REQUESTS <= len(kept.arrived_s) <= MOST_REQUESTS or not kept.arrived_s[-1]:
            raise ValueError(f"{FEWEST_REQUESTS} to {MOST_REQUESTS:,} requests, not all of them at one moment")
        lengths = np.concatenate([kept.input_tokens, kept.output_tokens])
        if lengths.min() < 1 or lengths.max() > MAX_TOKENS:
            raise ValueError(f"prompts and answers have 1 to {MAX_TOKENS:,} tokens")
        return self

    def kept(self) -> TraceRequests:
        """All of them."""
        return _read(self.requests, self.block_tokens)


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
    rows = zip(gap_ms.tolist(), prompt[stretch].tolist(), answer[stretch].tolist(), strict=True)
    written = [f"{gap}/{own}/{out}" for gap, own, out in rows]
    if blocks is not None:
        begins = zip(written, _beginnings(blocks.of(stretch).each()), strict=True)
        written = [f"{each}/{back}:{count}" if count else each for each, (back, count) in begins]
    input_tokens, output_tokens = mean_tokens
    return RecordedRequests(
        peak_requests_per_second=peak_per_s,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        block_tokens=None if blocks is None else blocks.block_tokens,
        requests=" ".join(written),
    )


def _beginnings(prompts: list[list[int]]) -> Iterator[tuple[int, int]]:
    """For each prompt how many requests before it one came that begins with the same blocks, and how many of them."""
    known: dict[int, int] = {}
    for number, blocks in enumerate(prompts):
        # a block stands for all before it, so whoever had the last of them had them all
        count = next((place for place, block in enumerate(blocks) if block not in known), len(blocks))
        yield (number - known[blocks[count - 1]], count) if count else (0, 0)
        known.update((block, number) for block in blocks[count:])


@lru_cache(maxsize=MOST_TEXTS)
def _read(text: str, block_tokens: int | None) -> TraceRequests:
    """The requests that a text holds.

    Raises:
        ValueError: a prompt begins as one that did not come, or with more blocks than it or that one has.
    """
    fields = [each.split("/") for each in text.split()]
    gap_ms, prompt, answer = np.array([each[:3] for each in fields], dtype=np.int64).T
    blocks = None
    if block_tokens is not None:
        begins = [each[3].split(":") if len(each) > 3 else ("0", "0") for each in fields]
        blocks = chained(block_tokens, prompt, [(int(back), int(count)) for back, count in begins])
    return TraceRequests(np.cumsum(gap_ms) / MS_PER_S, prompt, answer, blocks)
