"""Mixers with a state of fixed size in place of a cache: delta nets, Mamba, lightning attention, convolutions."""

from dataclasses import dataclass
from typing import Final

from optimizer.inputs.importing.hf_config.layers.stack import BYTES_PER_16_BIT, Kept

STATE_BYTES: Final = 4
"""Recurrent states are summed up in 32 bits. Source: the default of vLLM 0.33 for all of these."""


def _convolution_state(channels: int, kernel: int) -> int:
    """The last inputs of a short convolution, in 16 bits."""
    return BYTES_PER_16_BIT * channels * (kernel - 1)


@dataclass(frozen=True)
class GatedDeltaNet:
    """The linear attention of Qwen3-Next and Qwen3.5.

    Source: `qwen3_next` in Hugging Face transformers 5.23.0.
    """

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    kernel: int
    state_bytes: int = STATE_BYTES

    @property
    def _channels(self) -> int:
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim

    def params(self, hidden: int) -> int:
        """Query, key, value and gate projections, two more rows per value head, the convolution, a norm, the output."""
        values = self.value_heads * self.value_dim
        projections = hidden * (self._channels + values + 2 * self.value_heads)
        return projections + self._channels * self.kernel + 2 * self.value_heads + self.value_dim + values * hidden

    def kept(self) -> Kept:
        """A matrix per value head and the convolution's last inputs."""
        matrix = self.state_bytes * self.value_heads * self.key_dim * self.value_dim
        return Kept(state=matrix + _convolution_state(self._channels, self.kernel))


@dataclass(frozen=True)
class KimiDeltaAttention:
    """The linear attention of Kimi-Linear, which forgets channel by channel.

    Source: `kimi_linear` in Hugging Face transformers 5.23.0; the gate of full rank that Kimi-K3 states is one matrix.
    """

    heads: int
    head_dim: int
    kernel: int
    full_rank_gate: bool
    full_rank_forgetting: bool = False

    def params(self, hidden: int) -> int:
        """Query, key, value, output; a forget gate and an output gate, each of low or full rank; one row per head."""
        width = self.heads * self.head_dim
        low_rank = self.head_dim * (hidden + width)
        gate = hidden * width if self.full_rank_gate else low_rank
        forgetting = hidden * width if self.full_rank_forgetting else low_rank
        small = hidden * self.heads + 3 * width * self.kernel + width + self.heads + self.head_dim
        return 4 * hidden * width + forgetting + gate + small

    def kept(self) -> Kept:
        """A matrix per head and the last inputs of three convolutions."""
        width = self.heads * self.head_dim
        matrix = STATE_BYTES * width * self.head_dim
        return Kept(state=matrix + _convolution_state(3 * width, self.kernel))


@dataclass(frozen=True)
class Mamba1:
    """A selective state-space layer. Source: `jamba` in Hugging Face transformers 5.24.0."""

    inner: int
    state: int
    kernel: int
    rank: int
    bias: bool
    convolution_bias: bool
    state_bytes: int = STATE_BYTES

    def params(self, hidden: int) -> int:
        """Input and output projection, convolution, time steps and their norms, a matrix and a skip."""
        projections = 3 * hidden * self.inner + (2 * self.inner + hidden if self.bias else 0)
        convolution = self.inner * (self.kernel + (1 if self.convolution_bias else 0))
        steps = self.inner * (self.rank + 2 * self.state) + (self.rank + 1) * self.inner + self.rank + 2 * self.state
        return projections + convolution + steps + self.inner * (self.state + 1)

    def kept(self) -> Kept:
        """A row of states per channel and the convolution's last inputs."""
        return Kept(state=self.state_bytes * self.inner * self.state + _convolution_state(self.inner, self.kernel))


@dataclass(frozen=True)
class Mamba2:
    """A state-space layer. Source: `nemotron_h` in Hugging Face transformers 5.23.0."""

    heads: int
    head_dim: int
    groups: int
    state: int
    kernel: int
    bias: bool
    convolution_bias: bool
    state_bytes: int = STATE_BYTES

    @property
    def _channels(self) -> int:
        return self.heads * self.head_dim + 2 * self.groups * self.state

    def params(self, hidden: int) -> int:
        """Input and output projection, convolution, three numbers per head, a norm."""
        inner = self.heads * self.head_dim
        into = inner + self._channels + self.heads
        convolution = self._channels * (self.kernel + (1 if self.convolution_bias else 0))
        return hidden * (into + inner) + convolution + 3 * self.heads + inner + (into + hidden if self.bias else 0)

    def kept(self) -> Kept:
        """A matrix per head and the convolution's last inputs."""
        matrix = self.state_bytes * self.heads * self.head_dim * self.state
        return Kept(state=matrix + _convolution_state(self._channels, self.kernel))


@dataclass(frozen=True)
class LightningAttention:
    """The linear attention of MiniMax-Text-01 and M1. Source: `minimax` in Hugging Face transformers 5.23.0."""

    heads: int
    head_dim: int

    def params(self, hidden: int) -> int:
        """Query, key, value, gate and output projection, and a norm."""
        width = self.heads * self.head_dim
        return 5 * hidden * width + width

    def kept(self) -> Kept:
        """A matrix per head."""
        return Kept(state=STATE_BYTES * self.heads * self.head_dim * self.head_dim)


@dataclass(frozen=True)
class ShortConvolution:
    """A gated convolution over a few tokens. Source: `lfm2` in Hugging Face transformers 5.23.0."""

    kernel: int
    width: int
    bias: bool

    def params(self, hidden: int) -> int:
        """Three projections in, one out, and the convolution."""
        biases = 4 * hidden + hidden if self.bias else 0
        return 4 * hidden * hidden + hidden * self.kernel + biases

    def kept(self) -> Kept:
        """Its last inputs."""
        return Kept(state=_convolution_state(self.width, self.kernel))
