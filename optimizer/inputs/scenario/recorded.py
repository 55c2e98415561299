"""Requests of a trace kept one by one, as a text that a scenario carries wherever it goes: into plans and files."""

import re
from functools import lru_cache
from typing import Annotated, Final, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from optimizer.base.arrays import Floats, Ints
from optimizer.base.model import Strict
from optimizer.base.units import MS_PER_S
from optimizer.inputs.scenario.fields import MAX_TOKENS, Rate, Tokens

MOST_REQUESTS: Final = 10_000
"""That are kept: 0.1 MB of text, simulated in half a second."""
FEWEST_REQUESTS: Final = 2
"""That have a time between them."""
REQUEST: Final = r"\d{1,12}/\d{1,8}/\d{1,8}"
REQUESTS: Final = re.compile(f"{REQUEST}(?: {REQUEST})*")
MOST_TEXTS: Final = 8
"""That are kept as arrays."""


class KeptRequests(NamedTuple):
    """Requests in time order, (N,) each: seconds from the first of them, and lengths."""

    arrived_s: Floats
    input_tokens: Ints
    output_tokens: Ints


class RecordedRequests(Strict):
    """Requests of a trace, in the stretch of it in which they come fastest."""

    peak_requests_per_second: Rate
    """Of the whole trace in its busiest minute, the rate that is planned for; so the next two where nothing else
    changes them afterwards: with them rate and lengths are what is asked by then."""
    input_tokens: Tokens
    """Mean of the whole trace."""
    output_tokens: Tokens
    requests: Annotated[str, Field(max_length=30 * MOST_REQUESTS)]
    """Each as milliseconds since the one before it, tokens of its prompt and tokens of its answer: `12/1024/256`."""

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

    def kept(self) -> KeptRequests:
        """All of them."""
        return _read(self.requests)


def recorded_requests(
    peak_per_s: float, mean_tokens: tuple[int, int], all_of_them: KeptRequests
) -> RecordedRequests | None:
    """The stretch of a trace in which its requests come fastest; None where they all come at one moment.

    Args:
        peak_per_s: The rate that a plan is made for.
        mean_tokens: Of prompts and answers that it is made for.
        all_of_them: In time order, of the whole trace.
    """
    arrived_s, prompt, answer = all_of_them
    last = min(len(arrived_s), MOST_REQUESTS) - 1
    # the earliest of the shortest stretches of so many
    first = int(np.argmin(arrived_s[last:] - arrived_s[: len(arrived_s) - last]))
    stretch = slice(first, first + last + 1)
    # whole milliseconds since the start, so that rounding does not add up
    gap_ms = np.diff(np.round((arrived_s[stretch] - arrived_s[first]) * MS_PER_S).astype(np.int64), prepend=0)
    if not gap_ms.any():
        return None
    rows = zip(gap_ms.tolist(), prompt[stretch].tolist(), answer[stretch].tolist(), strict=True)
    input_tokens, output_tokens = mean_tokens
    return RecordedRequests(
        peak_requests_per_second=peak_per_s,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        requests=" ".join(f"{gap}/{own}/{out}" for gap, own, out in rows),
    )


@lru_cache(maxsize=MOST_TEXTS)
def _read(text: str) -> KeptRequests:
    """The requests that a text holds."""
    numbers = np.array(text.replace("/", " ").split(), dtype=np.int64).reshape(-1, 3)
    arrived_s: Floats = np.cumsum(numbers[:, 0]) / MS_PER_S
    return KeptRequests(arrived_s, numbers[:, 1], numbers[:, 2])
