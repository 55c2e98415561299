"""A prompt on its way through the engine, chunk by chunk."""

from dataclasses import dataclass


@dataclass(slots=True)
class Prompt:
    """A prompt on its way through the engine: how many of its tokens are computed, of how many."""

    request: int
    tokens: int
    attention_s: float
    computed: int = 0


def attention_with(again: float, new: int, cached: int) -> float:
    """Causal attention of a prompt with so many of its answer's tokens to compute again, over that of the prompt alone.

    Each token to compute sees the cached ones and half of those computed with it.
    """
    tokens = new + again
    return tokens * (2 * cached + tokens) / (new * (2 * cached + new))


def share_of_square(behind: int, computed: int, chunk: int, tokens: int) -> float:
    """The part of a prompt's causal attention that falls to a chunk of it."""
    whole = (behind + tokens) ** 2 - behind**2
    return ((behind + computed + chunk) ** 2 - (behind + computed) ** 2) / whole
