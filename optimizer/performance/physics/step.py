"""What the engine does in one go: a decode step over the running sequences, and the prefill of a prompt."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.performance.physics.communication import Exchange, all_reduces, hand_overs
from optimizer.performance.physics.elementwise import elementwise_seconds_per_token, unpacking_seconds
from optimizer.performance.physics.memory import cache_copies
from optimizer.performance.physics.roofline import (
    Matrices,
    column,
    crowded_attention_factor,
    crowding_sequences,
    decode_attention_seconds,
    matrices,
    prefill_attention_seconds,
    smooth_max,
)
from optimizer.performance.physics.setup import Setup


@dataclass(frozen=True)
class StepParts:
    """Seconds of one decode step by what they are spent on, (n,)."""

    linear: Floats
    attention: Floats
    communication: Floats
    overhead: Floats

    @property
    def total(self) -> Floats:
        """The whole step."""
        return self.linear + self.attention + self.communication + self.overhead


@dataclass(frozen=True)
class StepCosts:
    """What a pass costs, with all settled but how many sequences and tokens are in it: found once per replica model.

    Attributes:
        matrices: The model's matrices.
        elementwise: Seconds of the kernels between them per token, (n,), where these take longer than `floor`.
        floor: The least that the kernels of all layers take, (n,), a part of `overhead`.
        all_reduces: What the GPUs of a stage exchange.
        hand_overs: What the stages hand over.
        attention: Seconds of decode attention per sequence, (n,): at a given context it grows in proportion.
        crowd: Sequences above which another kernel attends, (n,).
        crowded: How many times as long that one takes, (n,).
        overhead: Seconds that the engine adds to a step, (n,).
        eager: Seconds in which the host launches the kernels of a step, (n,); 0 where it replays a recorded graph.
        overlap_norm: Norm by which that and what the GPU does overlap, (n,).
        sequence_overhead: Seconds it adds per sequence, (n,).
        stages: Pipeline stages, (n,).
        bubble_share: How far prompts reach the stages at random rather than in one row, (n,).
        mixed: How far the engine adds prompts to decode steps, (n,).
        verified: Tokens of each sequence in a step, (n,): its own and those of a draft.
        accepted: How many of them it keeps, (n,).
        draft_share: What a draft takes for all that it proposes, in steps without one, (n,).
    """

    matrices: Matrices
    elementwise: Floats
    floor: Floats
    all_reduces: Exchange
    hand_overs: Exchange
    attention: Floats
    crowd: Floats
    crowded: Floats
    overhead: Floats
    eager: Floats
    overlap_norm: Floats
    sequence_overhead: Floats
    stages: Floats
    bubble_share: Floats
    mixed: Floats
    verified: Floats
    accepted: Floats
    draft_share: Floats

    @cached_property
    def _drafts(self) -> bool:
        """Whether a draft proposes tokens in any row."""
        return bool(np.any(self.draft_share))

    @cached_property
    def _launches(self) -> bool:
        """Whether the host launches the kernels of a step one by one in any row."""
        return bool(np.any(self.eager))

    def decode(self, sequences: Floats) -> StepParts:
        """One token for each of `sequences` (n,) running sequences.

        With pipeline stages they run in as many micro-batches of at least one sequence, and a token's step passes
        through all stages. With a draft a step multiplies all tokens that it verifies, reads the cache once for them,
        and yields `accepted` for each sequence.
        """
        batch = self.micro_batch(sequences)
        plain = self._parts(batch, batch)
        if not self._drafts:
            return plain
        whole, draft = self._parts(batch, batch * self.verified), self.draft_share * plain.total
        parts = whole.linear, whole.attention, whole.communication, whole.overhead + draft
        return StepParts(*(part / self.accepted for part in parts))

    def _parts(self, batch: Floats, tokens: Floats) -> StepParts:
        """A step of so many sequences in a stage, with so many tokens of theirs.

        A host that launches kernels one by one does so ahead of the GPU: the step takes the longer of the two.
        """
        linear = self.layers(tokens, tokens)
        attention = self.attention * batch * np.where(batch > self.crowd, self.crowded, 1.0)
        communication = self.all_reduces.seconds(tokens) + self.hand_overs.seconds(tokens)
        overhead = self.overhead + self.sequence_overhead * batch
        if self._launches:
            busy = linear + attention + communication + self.floor
            overhead = overhead + smooth_max(busy, self.eager, self.overlap_norm) - busy
        return StepParts(linear, attention, communication, overhead)

    def micro_batch(self, sequences: Floats) -> Floats:
        """Sequences that are in one stage at a time, (n,): no fewer than one, however many stages there are."""
        return np.maximum(sequences / self.stages, np.minimum(sequences, 1.0))

    def held_up(self, prompts: Floats, chunks: Floats) -> Floats:
        """The part of a prompt's work that holds up every running sequence, (n,).

        In a round each micro-batch passes each stage once, all in step: while one that carries a prompt is on its way,
        every stage waits for it. Of `prompts` (n,) in a round that reach the micro-batches at random, the share
        (1 − e^(−prompts))/prompts is not hidden behind another; consecutive micro-batches take the `chunks` (n,) of
        each, which overlap as in `pipelined_share`.
        Source: bubbles between prefills and decodes, Agrawal et al., Sarathi-Serve, 2024.
        """
        alone = self.bubble_share * -np.expm1(-prompts) / prompts
        return 1 / self.stages + (1 - 1 / self.stages) * alone / chunks

    def one_pass(self, tokens: Floats, sampled: Floats) -> Floats:
        """`tokens` tokens through all layers, of which `sampled` get a next one, without attention; (n,) or (n, …)."""
        return self.layers(tokens, sampled) + self.all_reduces.seconds(tokens)

    def layers(self, tokens: Floats, sampled: Floats) -> Floats:
        """The products, and what passes between them beyond the least time of its kernels; (n,) or (n, …)."""
        beyond = column(self.elementwise, tokens) * tokens - column(self.floor, tokens)
        return self.matrices.seconds(tokens, sampled) + np.maximum(beyond, 0.0)

    def shared_prefill(self, new: Floats, prompts: Floats, sequences: Floats, step: StepParts) -> Floats:
        """What one prompt of `new` (n,) tokens adds to a busy engine, (n,), without attention over the prompt.

        `prompts` (n,) prompts are prefilled together, so that they read the weights once. An engine that prefills
        apart from decoding spends T(prompts · new) / prompts on each. One that adds prompts to a decode step of
        `sequences` (n,) sequences, `step`, spends (T(sequences + prompts · new) − T(sequences)) / prompts.
        """
        batch, tokens = self.micro_batch(sequences) * self.verified, prompts * new
        apart = self.one_pass(tokens, prompts) + self.floor
        alone = step.linear * self.accepted + self.all_reduces.seconds(batch)
        added = self.one_pass(batch + tokens, batch + prompts) - alone
        return ((1 - self.mixed) * apart + self.mixed * added) / prompts


def step_costs(setup: Setup, context: Floats) -> StepCosts:
    """The costs of steps over sequences with `context` (n,) cached tokens on average."""
    return StepCosts(
        matrices=matrices(setup),
        elementwise=elementwise_seconds_per_token(setup),
        floor=layers_overhead_seconds(setup),
        all_reduces=all_reduces(setup),
        hand_overs=hand_overs(setup),
        attention=decode_attention_seconds(setup, context),
        crowd=crowding_sequences(setup),
        crowded=crowded_attention_factor(setup),
        overhead=step_overhead_seconds(setup),
        eager=setup.constants["eager_layer_s"] * setup.network.layers,
        overlap_norm=setup.constants["roofline_norm"],
        sequence_overhead=setup.constants["sequence_overhead_s"] / cache_copies(setup),
        stages=setup.layout.pipeline_parallel,
        bubble_share=setup.constants["stage_bubble_share"],
        mixed=setup.constants["mixed_prefill_share"],
        verified=1 + setup.layout.draft_tokens,
        accepted=setup.layout.accepted_tokens,
        draft_share=setup.layout.draft_tokens * setup.constants["draft_step_share"],
    )


def step_overhead_seconds(setup: Setup) -> Floats:
    """Host and launch time the engine adds to a step, (n,): per step, per layer, expert layer and latent layer.

    Norms of queries and keys are kernels of their own, whatever the engine (`q_norm`, `k_norm` of its model files).
    Experts that a corrected score chooses take kernels that a softmax does not (`noaux_tc` of DeepSeek-V3).
    Formats differ in the kernels around a product: activations are quantized, scales laid out, experts sorted.
    """
    return setup.constants["step_overhead_s"] + layers_overhead_seconds(setup)


def layers_overhead_seconds(setup: Setup) -> Floats:
    """What kernels between products take at least, (n,), in a step as in a prompt's pass."""
    constants, network = setup.constants, setup.network
    plain = np.where(setup.weights.body_quantized > 0, constants["layer_format_factor"], 1.0)
    body = constants["layer_overhead_s"] * plain * launching_layers(setup)
    routed = (
        constants["expert_layer_overhead_s"] * constants["expert_format_factor"] + constants["expert_layer_floor_s"]
    )
    latent = np.where(network.latent > 0, constants["latent_layer_overhead_s"], 0.0)
    body = body + constants["qk_norm_s"] * network.normed_layers + constants["routing_s"] * network.corrected_layers
    return body + network.expert_layers * routed + network.layers * latent


def launching_layers(setup: Setup) -> Floats:
    """Layers by the kernels that they launch beside those of their experts, (n,): fewer without another MLP."""
    network = setup.network
    return network.layers - setup.constants["mlp_launch_share"] * network.lone_expert_layers


def prefill_seconds(setup: Setup, new: Floats, cached: Floats, prompts: Floats) -> Floats:
    """Work of prefilling `prompts` prompts together, each of `new` uncached tokens behind `cached` ones.

    All three (n,) or (n, K); seconds of one pass through all stages, without what the engine adds.
    """
    tokens = new * prompts
    chunks = chunks_of(setup, tokens)
    attention = prompts * prefill_attention_seconds(setup, new, cached)
    between = between_products_seconds(setup, tokens) + column(unpacking_seconds(setup), tokens) * chunks
    layers = matrices(setup).seconds(tokens, prompts, chunks) + between + attention + all_reduces(setup).seconds(tokens)
    return layers * pipelined_share(setup, tokens) + hand_overs(setup).seconds(tokens)


def between_products_seconds(setup: Setup, tokens: Floats) -> Floats:
    """Kernels between the products of a pass, all layers, (n,) or (n, K): a chunk's take no less than their floors.

    What passes through memory overlaps the least time of the kernels that move it: the longer of both counts.
    """
    passing = column(elementwise_seconds_per_token(setup), tokens) * tokens
    return np.maximum(passing, column(layers_overhead_seconds(setup), tokens) * chunks_of(setup, tokens))


def pipelined_share(setup: Setup, tokens: Floats) -> Floats:
    """Time of a prefill in chunks over pipeline stages, relative to one stage doing it all.

    With c chunks on s stages the last chunk leaves after c + s − 1 of c · s chunk times: 1/s + (1 − 1/s)/c.
    Source: the bubble of a pipeline is (s − 1)/(c + s − 1) of its time (Huang et al., GPipe, 2019).
    """
    stages = column(setup.layout.pipeline_parallel, tokens)
    return 1 / stages + (1 - 1 / stages) / chunks_of(setup, tokens)


def chunks_of(setup: Setup, tokens: Floats) -> Floats:
    """Steps over which an engine spreads so many tokens, at least 1, (n,) or (n, K)."""
    return np.maximum(tokens / column(setup.layout.max_batched_tokens, tokens), 1.0)


def launch_floor_seconds(setup: Setup) -> Floats:
    """The least time a prefill takes, (n,): its kernels are launched one by one, without a recorded graph."""
    constants, network = setup.constants, setup.network
    body = constants["launch_floor_s"] * launching_layers(setup)
    routed = constants["expert_launch_floor_s"] * network.expert_layers
    latent = np.where(network.latent > 0, constants["latent_launch_floor_s"], 0.0)
    return body + routed + latent * network.layers


def launched_seconds(setup: Setup, prefill: Floats) -> Floats:
    """A prefill of so much work, at least the launch floor; (n,) or (n, K)."""
    floor = column(launch_floor_seconds(setup), prefill)
    return smooth_max(prefill, floor + 0 * prefill, setup.constants["launch_norm"])


def first_token_seconds(setup: Setup, prefill: Floats) -> Floats:
    """What a server adds to a request, and its prefill; (n,) or (n, K)."""
    return column(setup.constants["request_overhead_s"], prefill) + launched_seconds(setup, prefill)
