"""A prompt on its way through the engine, chunk by chunk."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from optimizer.performance.simulation.costs import ReplicaCosts


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
    # (a + b)² − a² = b (2a + b), in whole numbers exactly
    return chunk * (2 * (behind + computed) + chunk) / (tokens * (2 * behind + tokens))


def read(
    costs: ReplicaCosts, prompts: deque[Prompt], cached_tokens: Sequence[int], left: int, running: int
) -> tuple[float, list[int]]:
    """As much of the prompts as fits into what is left of a step: the seconds that it adds, and which are complete.

    Args:
        costs: The replica.
        prompts: Those that are complete are taken out.
        cached_tokens: Of each request's prompt, in the prefix cache.
        left: Tokens that the step may have beside its running sequences.
        running: Those sequences.
    """
    # `list[int]()` would take as long as the rest of this
    complete: list[int] = []
    taken, longest, attention_s = 0, 0, 0.0
    while prompts and left:
        prompt = prompts[0]
        tokens, computed = prompt.tokens, prompt.computed
        chunk = tokens - computed
        if chunk > left:
            chunk = left
        if chunk == tokens:
            attention_s += prompt.attention_s
        else:
            share = share_of_square(cached_tokens[prompt.request], computed, chunk, tokens)
            attention_s += prompt.attention_s * share
        if tokens > longest:
            longest = tokens
        left, taken, prompt.computed = left - chunk, taken + chunk, computed + chunk
        if computed + chunk < tokens:
            break
        complete.append(prompts.popleft().request)
    added_s = costs.added(running, taken, len(complete)) + attention_s
    return added_s * costs.held_up(costs.chunks(longest)), complete


def seconds_reading(
    costs: ReplicaCosts, prompt: Prompt, behind: int, steps: int, tokens: int, running: int, context: float
) -> float:
    """What so many steps with `tokens` each of a prompt take, the context of the middle for all of them.

    Args:
        costs: The replica.
        prompt: The one that is read.
        behind: Tokens of it in the prefix cache.
        steps, tokens: How many, and of it in each.
        running: Sequences beside it.
        context: Tokens that each of those holds on average.
    """
    share = share_of_square(behind, prompt.computed, steps * tokens, prompt.tokens)
    added = steps * costs.added(running, tokens, 0) + prompt.attention_s * share
    decode = costs.decode(running, context + (steps - 1) * costs.kept / 2) if running else 0.0
    return steps * decode + added * costs.held_up(costs.chunks(prompt.tokens))
