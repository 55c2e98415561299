"""A prompt on its way through the engine, chunk by chunk."""

from dataclasses import dataclass


@dataclass(slots=True)
class Prompt:
    """A prompt on its way through the engine: how many of its tokens are computed, of how many."""

    request: int
    tokens: int
    attention_s: float
    computed: int = 0


def share_of_square(behind: int, computed: int, chunk: int, tokens: int) -> float:
    """The part of a prompt's causal attention that falls to a chunk of it."""
    whole = (behind + tokens) ** 2 - behind**2
    return ((behind + computed + chunk) ** 2 - (behind + computed) ** 2) / whole
