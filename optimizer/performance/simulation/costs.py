"""What steps cost on one replica, tabulated: the physics is asked once, the simulation looks up.

A table answers for every batch and every number of tokens that a step may hold, so that an event costs a few
additions.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.inputs.scenario.traces.blocks import PromptBlocks
from optimizer.performance.physics.memory import (
    cache_copies,
    kv_bytes_per_sequence,
    kv_bytes_per_token,
    memory_use,
)
from optimizer.performance.physics.roofline import decode_attention_seconds, prefill_attention_seconds
from optimizer.performance.physics.setup import Setup
from optimizer.performance.physics.step import (
    first_token_seconds,
    layers_overhead_seconds,
    prefill_seconds,
    step_costs,
)
from optimizer.performance.simulation.prefix_cache import PrefixWork

CONTEXTS = 256
"""Points of the table of attention over context; between two of them it is a line."""
ROWS_AT_ONCE = 1 << 18
"""Prompts whose costs are computed together, so that traces of small blocks take little memory."""


@dataclass(frozen=True)
class Slowdown:
    """Factors on the predicted times, such as the bounds that a plan is held to; 1 is the prediction itself.

    Attributes:
        decode: On the steps of running sequences.
        prefill: On the time for which a prompt holds up the engine.
        first_token: On what a prompt takes that meets nobody, from its start to its first token.
    """

    decode: float = 1.0
    prefill: float = 1.0
    first_token: float = 1.0


@dataclass(frozen=True)
class Work:
    """What each of N requests asks of a replica.

    Attributes:
        new_tokens, cached_tokens: (N,) of the prompt to compute, of it in the prefix cache.
        answer_steps: (N,) steps that its answer takes, that of its first token among them.
        attention_s: (N,) attention over the prompt, on the engine.
        first_token_s: (N,) from the start of the prompt alone on an idle replica to its first token.
        start_bytes: (N,) of KV cache a GPU holds once the prompt is read.
        growth_bytes: (N,) by which that grows with every step of the answer.
        prefixes: What of it a prefix cache saves, by the blocks of the prompts; None where the share is given.
    """

    new_tokens: Ints
    cached_tokens: Ints
    answer_steps: Ints
    attention_s: Floats
    first_token_s: Floats
    start_bytes: Floats
    growth_bytes: Floats
    prefixes: PrefixWork | None = None


@dataclass(frozen=True)
class ReplicaCosts:
    """One replica's steps, seconds.

    Attributes:
        setup: The configuration, one row.
        decode_s: (B + 1,) a decode step of so many sequences, with what a draft proposes for it, without attention.
        batch: (B + 1,) sequences that stand in one pipeline stage at a time.
        attention_s: (CONTEXTS + 1,) decode attention of a sequence at contexts evenly apart.
        context_step: Tokens between two of them.
        pass_s: (T + 1,) so many tokens through all layers, without attention and the output head.
        floor_s: The least that the kernels between products take in a pass of its own; a decode step holds it.
        head_s: (B · verified + 1,) the output head for so many tokens.
        verified, kept: Tokens of a sequence in a decode step, and how many of them it keeps; 1 each without a draft.
        mixed: How far the engine adds prompts to decode steps, which read the weights anyway, instead of computing
            them apart and before.
        stages, bubble_share: Pipeline stages, and how far prompts reach them at random rather than in one row.
        max_sequences, max_tokens: Most sequences that run, most tokens in a step.
        cache_bytes: KV cache, all ranks' together.
        slowdown: Factors on all of these.
    """

    setup: Setup
    decode_s: list[float]
    batch: list[float]
    attention_s: list[float]
    context_step: float
    pass_s: list[float]
    floor_s: float
    head_s: list[float]
    verified: int
    kept: float
    mixed: float
    stages: int
    bubble_share: float
    max_sequences: int
    max_tokens: int
    cache_bytes: float
    slowdown: Slowdown

    def decode(self, sequences: int, context: float) -> float:
        """A step of the sequences, which hold `context` tokens on average."""
        place = context / self.context_step
        at, attention_s = int(place), self.attention_s
        if at >= CONTEXTS:
            at = CONTEXTS - 1
        attention = attention_s[at] + (place - at) * (attention_s[at + 1] - attention_s[at])
        return self.decode_s[sequences] + attention * self.batch[sequences]

    def chunks(self, tokens: int) -> int:
        """Steps that a prompt alone fills."""
        return -(-tokens // self.max_tokens)

    def held_up(self, chunks: int) -> float:
        """Part of a prompt's work for which every pipeline stage waits: all of it on one stage; chunks overlap.

        Source: as `StepCosts.held_up`.
        """
        return 1 / self.stages + (1 - 1 / self.stages) * self.bubble_share / chunks

    def added(self, sequences: int, tokens: int, prompts: int) -> float:
        """What prompts add to a step of some sequences: `tokens` of them, `prompts` of which are then complete.

        Where nothing runs there is no step to ride on.
        """
        batch = int(self.batch[sequences]) * self.verified
        apart = self.pass_s[tokens] + self.head_s[prompts] + self.floor_s
        if not sequences:
            return apart
        riding = self.pass_s[batch + tokens] - self.pass_s[batch] + self.head_s[batch + prompts] - self.head_s[batch]
        return (1 - self.mixed) * apart + self.mixed * riding

    def work(self, new_tokens: Ints, cached_tokens: Ints, output_tokens: Ints) -> Work:
        """What requests of these lengths, (N,) each, ask of the replica.

        An engine that holds the share s of an answer on average keeps room for 2s − 1 of it from the start.
        """
        new, cached, answer = (
            np.asarray(part, np.float64)[None, :] for part in (new_tokens, cached_tokens, output_tokens)
        )
        kept = (2 * self.setup.constants["kv_growth_share"][:, None] - 1) * answer
        start = kv_bytes_per_sequence(self.setup, new + cached + kept)[0]
        steps = 1 + np.maximum(np.rint((answer[0] - 1) / self.kept), answer[0] > 1)
        whole = kv_bytes_per_sequence(self.setup, new + cached + answer)[0]
        attention_s, first_token_s = self._prompts(new, cached)
        return Work(
            new_tokens=np.asarray(new_tokens),
            cached_tokens=np.asarray(cached_tokens),
            answer_steps=steps.astype(np.int64),
            attention_s=attention_s,
            first_token_s=first_token_s,
            start_bytes=start,
            growth_bytes=(whole - start) / steps,
        )

    def prefixes(self, input_tokens: Ints, blocks: PromptBlocks) -> PrefixWork:
        """What prompts of these lengths, (N,), ask by how many of their blocks a prefix cache holds."""
        counts = blocks.repeated + 1
        first = np.cumsum(counts) - counts
        # (row,) -> a prompt and how many of its blocks are found
        prompt = np.repeat(np.arange(len(counts)), counts)
        tokens = input_tokens[prompt]
        cached = np.minimum((np.arange(len(prompt)) - first[prompt]) * blocks.block_tokens, tokens - 1)
        parts = [slice(at, at + ROWS_AT_ONCE) for at in range(0, max(len(prompt), 1), ROWS_AT_ONCE)]
        found = [self._prompts(*((each[part][None, :]) for each in (tokens - cached, cached))) for part in parts]
        attention_s, first_token_s = (np.concatenate(each) for each in zip(*found, strict=True))
        longest = float(self.setup.network.max_context[0])
        ends = kv_bytes_per_sequence(self.setup, np.array([[longest - 1, longest]]))[0]
        return PrefixWork(
            block_tokens=blocks.block_tokens,
            blocks=blocks.each(),
            prompt_tokens=input_tokens.tolist(),
            first_row=first.tolist(),
            attention_s=attention_s.tolist(),
            first_token_s=first_token_s.tolist(),
            most_found=blocks.repeated.tolist(),
            token_bytes=float(kv_bytes_per_token(self.setup)[0]),
            shared_bytes=float(ends[1] - ends[0]),
        )

    def _prompts(self, new: Floats, cached: Floats) -> tuple[Floats, Floats]:
        """(N,) attention over prompts, (1, N), and the time of each alone to its first token."""
        new, cached = np.asarray(new, np.float64), np.asarray(cached, np.float64)
        prefill = prefill_seconds(self.setup, new, cached, np.ones_like(new))
        return (
            self.slowdown.prefill * prefill_attention_seconds(self.setup, new, cached)[0],
            self.slowdown.first_token * first_token_seconds(self.setup, prefill)[0],
        )


def _as_measured(slowdown: Slowdown, one: Setup) -> Slowdown:
    """The factors on what own measurements say of one configuration's times."""
    if one.own is None:
        return slowdown
    tpot, ttft = float(one.own.tpot[0]), float(one.own.ttft[0])
    return Slowdown(slowdown.decode * tpot, slowdown.prefill * tpot, slowdown.first_token * ttft)


def replica_costs(setup: Setup, row: int, slowdown: Slowdown = Slowdown()) -> ReplicaCosts:
    """The tables of one row of a setup."""
    one = setup.take(np.array([row]))
    slowdown, copies = _as_measured(slowdown, one), cache_copies(one)[0]
    most, tokens = int(one.layout.max_num_seqs[0] * copies), int(one.layout.max_batched_tokens[0])
    by_sequences = _by_sequences(one, most, slowdown)
    attention_s, context_step = _attention(one, slowdown)
    verified = 1 + int(one.layout.draft_tokens[0])
    return ReplicaCosts(
        setup=one,
        decode_s=by_sequences.decode_s,
        batch=by_sequences.batch,
        attention_s=attention_s,
        context_step=context_step,
        pass_s=_passes(one, tokens + most * verified, slowdown),
        floor_s=float(slowdown.prefill * layers_overhead_seconds(one)[0]),
        head_s=_heads(one, most * verified, slowdown),
        verified=verified,
        kept=float(one.layout.accepted_tokens[0]),
        mixed=float(one.constants["mixed_prefill_share"][0]),
        stages=int(one.layout.pipeline_parallel[0]),
        bubble_share=float(one.constants["stage_bubble_share"][0]),
        max_sequences=most,
        max_tokens=tokens,
        cache_bytes=float(max(memory_use(one).kv_capacity[0], 0.0) * copies),
        slowdown=slowdown,
    )


class _BySequences(NamedTuple):
    """The tables of `ReplicaCosts` with a figure for each number of sequences."""

    decode_s: list[float]
    batch: list[float]


def _by_sequences(one: Setup, most: int, slowdown: Slowdown) -> _BySequences:
    sequences = np.arange(most + 1, dtype=np.float64)
    steps = step_costs(_repeated(one, most + 1), np.zeros(most + 1))
    parts = steps.decode(sequences)
    of_a_token = parts.linear + parts.communication + parts.overhead
    return _BySequences(
        (slowdown.decode * steps.accepted * of_a_token).tolist(),
        steps.micro_batch(sequences).tolist(),
    )


def _heads(one: Setup, most: int, slowdown: Slowdown) -> list[float]:
    """The output head for up to so many tokens."""
    tokens = np.arange(most + 1, dtype=np.float64)
    head = step_costs(_repeated(one, most + 1), np.zeros(most + 1)).matrices.head
    heads: list[float] = (slowdown.prefill * head.seconds(np.ones_like(tokens), tokens)).tolist()
    return heads


def _passes(one: Setup, most: int, slowdown: Slowdown) -> list[float]:
    """Up to so many tokens through all layers; the output head is told apart by the tokens that are sampled."""
    tokens = np.arange(most + 1, dtype=np.float64)
    nothing = np.zeros_like(tokens)
    steps = step_costs(_repeated(one, most + 1), nothing)
    head_s = steps.matrices.head.seconds(np.ones_like(tokens), nothing)
    passes: list[float] = (slowdown.prefill * (steps.one_pass(tokens, nothing) - head_s)).tolist()
    return passes


def _attention(one: Setup, slowdown: Slowdown) -> tuple[list[float], float]:
    """Decode attention of a sequence at contexts evenly apart, and the tokens between two of them."""
    contexts = np.linspace(0.0, float(one.network.max_context[0]), CONTEXTS + 1)
    several = _repeated(one, CONTEXTS + 1)
    # a draft takes a share of a whole step for each token that it proposes
    draft = 1 + step_costs(several, contexts).draft_share
    attention_s = draft * decode_attention_seconds(several, contexts)
    return (slowdown.decode * attention_s).tolist(), float(contexts[1])


def _repeated(one: Setup, rows: int) -> Setup:
    return one.take(np.zeros(rows, dtype=np.intp))
