"""A decoder as a stack of layers: what each holds in parameters, and what it keeps of a sequence."""

from dataclasses import dataclass, fields
from typing import Protocol

from optimizer.inputs.importing.hf_config.layers.feed_forward import ExpertNetwork, FeedForward

BYTES_PER_16_BIT = 2


@dataclass(frozen=True)
class Kept:
    """Bytes that a layer keeps of a sequence, caches at 16 bits an element.

    Attributes:
        token: For every token, however far back.
        sparse_token: Of those, what a step reads only for the tokens that an indexer chose.
        window_token: For every token within the sliding window.
        index_token: An indexer's key for every token, in the format that engines store it in.
        index_flops: Arithmetic of the indexer for every token that it looks back at.
        state: Once for the sequence, whatever its length.
    """

    token: float = 0.0
    sparse_token: float = 0.0
    window_token: float = 0.0
    index_token: float = 0.0
    index_flops: float = 0.0
    state: float = 0.0

    def __add__(self, other: "Kept") -> "Kept":
        return Kept(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


class Mixer(Protocol):
    """What lets a token see those before it: attention in one form or another, or a recurrent state."""

    def params(self, hidden: int) -> int:
        """Parameters, given the width of the hidden state."""

    def kept(self) -> Kept:
        """What it keeps of a sequence."""


@dataclass(frozen=True)
class Layer:
    """One layer; some have no mixer or no feed-forward network."""

    mixer: Mixer | None
    feed_forward: FeedForward | None
    other_params: int = 0
    """Norms and whatever else stands between the two."""

    def params(self, hidden: int) -> int:
        """All parameters."""
        mixer = self.mixer.params(hidden) if self.mixer else 0
        return mixer + self.other_params + (self.feed_forward.params(hidden) if self.feed_forward else 0)

    def idle_params(self, hidden: int) -> int:
        """Those of the experts that one token does not meet."""
        return self.feed_forward.idle_params(hidden) if isinstance(self.feed_forward, ExpertNetwork) else 0

    def kept(self) -> Kept:
        """What it keeps of a sequence."""
        return self.mixer.kept() if self.mixer else Kept()


@dataclass(frozen=True)
class ParameterCounts:
    """Counted parameters: of the layers with embedding and head, all but the experts that one token does not meet, and
    of these those that it reads.
    """

    total_params: int
    active_params: int
    active_params_excl_input_embedding: int
    prediction_head_params: int
    """Multi-token-prediction heads, which stand in the published weights beside all the others."""


@dataclass(frozen=True)
class Decoder:
    """A language model from its embedding to its output head."""

    hidden: int
    vocab: int
    tied_embeddings: bool
    layers: tuple[Layer, ...]
    prediction_heads: tuple[Layer, ...] = ()
    """Layers that guess further tokens, each behind a projection of two hidden states into one."""
    other_params: int = 0
    """Outside the layers, beside embedding, head and the last norm."""
    lookup_params: int = 0
    """Of further embedding tables, from which a token takes one row, and of layers that text passes over."""
    narrow_lookup_params: int = 0
    """Those of `lookup_params` that are stored in `narrow_lookup_bits` however the model was released."""
    narrow_lookup_bits: float = 0.0

    def counted(self) -> ParameterCounts:
        """Matrix by matrix, without further tables; a tied embedding is one, which the output still multiplies."""
        embedding = self.vocab * self.hidden
        outside = embedding * (1 if self.tied_embeddings else 2) + self.hidden + self.other_params
        total = sum(layer.params(self.hidden) for layer in self.layers) + outside
        active = total - sum(layer.idle_params(self.hidden) for layer in self.layers)
        looked_up = 0 if self.tied_embeddings else embedding
        joining = 2 * self.hidden * self.hidden + 3 * self.hidden
        return ParameterCounts(
            total_params=total,
            active_params=active,
            active_params_excl_input_embedding=active - looked_up,
            prediction_head_params=sum(joining + layer.params(self.hidden) for layer in self.prediction_heads),
        )

    def kept(self) -> Kept:
        """What all layers together keep of a sequence."""
        return sum((layer.kept() for layer in self.layers), Kept())
