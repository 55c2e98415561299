"""What the GPU at hand reaches: products and whole decoder layers, beside what its datasheet says.

    python benchmarks/kernels.py --bf16-tflops 989 --fp8-tflops 1979 --gb-per-s 3350 > kernels.json

Needs PyTorch and one NVIDIA GPU, and nothing of this project: the machine that has the GPU need not have the rest. The
table of kernels behind the calibration's priors was measured by others; this tells whether a card of one's own agrees,
what is left of a rate when it is kept up for seconds, and what a layer takes beyond its products and its attention.

What is short is timed inside CUDA graphs, all on random data, over weights that don't fit the cache.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

CACHE_BYTES = 256 * 2**20
"""More than any cache holds: weights are read from memory each time."""

SHAPES = ((6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336), (10240, 8192), (57344, 8192), (8192, 28672))
"""(outputs, inputs) of the products of Llama 3.1 8B and 70B, whole."""

TOKENS = (1, 8, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
PROMPTS = (128, 256, 512, 1024, 2048, 4096, 8192)
SEQUENCES = {"bf16": (1, 8, 32, 64, 128, 256), "fp8": (32, 64, 128, 256)}
"""The library multiplies at least 16 rows in 8 bits."""

SUSTAINED_S = 6.0
LAYERS = 4
CONTEXT = 2048
MODELS = {"llama-3.1-8b": (4096, 32, 8, 14336), "llama-3.3-70b at tp 4": (8192, 16, 2, 7168)}
"""What one GPU holds of a layer: hidden size, attention heads, key-value heads, inner size of the MLP."""


def graphed_seconds(work: Callable[[], None], repeats: int = 12) -> float:
    """The median of what a captured piece of work takes."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    graph.replay()
    taken = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        taken.append(begin.elapsed_time(end) / 1000)
    return float(statistics.median(taken))


def drawn(outputs: int, inputs: int, eight_bit: bool) -> Tensor:
    """Random weights of one product."""
    weight = torch.randn(outputs, inputs, device="cuda", dtype=torch.bfloat16) / inputs**0.5
    return weight.to(torch.float8_e4m3fn) if eight_bit else weight


def weights(outputs: int, inputs: int, eight_bit: bool) -> list[Tensor]:
    """As many as don't fit the cache."""
    of_one = outputs * inputs * (1 if eight_bit else 2)
    return [drawn(outputs, inputs, eight_bit) for _ in range(max(2, CACHE_BYTES // of_one + 1))]


def product(tokens: Tensor, weight: Tensor) -> Tensor:
    """The tokens times a weight, in the weight's format."""
    if weight.dtype == torch.bfloat16:
        return functional.linear(tokens, weight)
    one = torch.ones((), device="cuda")
    return torch._scaled_mm(tokens, weight.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)


def products(peak: dict[str, float], bytes_per_s: float) -> Iterator[dict[str, object]]:
    """Every shape at every number of tokens: seconds, and the shares of arithmetic and of memory's bandwidth."""
    for kind in peak:
        eight_bit = kind == "fp8"
        for outputs, inputs in SHAPES:
            stored = weights(outputs, inputs, eight_bit)
            for count in TOKENS:
                if eight_bit and count < 16:
                    continue
                tokens = torch.randn(count, inputs, device="cuda", dtype=torch.bfloat16)
                tokens = tokens.to(torch.float8_e4m3fn) if eight_bit else tokens

                def work(tokens: Tensor = tokens, stored: list[Tensor] = stored) -> None:
                    for each in stored:
                        product(tokens, each)

                seconds = graphed_seconds(work) / len(stored)
                moved = outputs * inputs * (1 if eight_bit else 2) + count * (inputs + 2 * outputs)
                yield {
                    "format": kind,
                    "tokens": count,
                    "outputs": outputs,
                    "inputs": inputs,
                    "seconds": seconds,
                    "share_of_peak": 2 * count * outputs * inputs / seconds / peak[kind],
                    "share_of_bandwidth": moved / seconds / bytes_per_s,
                }


def kept_up(work: Callable[[], None]) -> list[dict[str, float]]:
    """Work done again and again for seconds, from a card at rest: what it takes, the clock and the power, over time."""
    work()
    torch.cuda.synchronize()
    time.sleep(3)
    rows, began = [], time.perf_counter()
    while (at := time.perf_counter()) - began < SUSTAINED_S:
        count = 0
        while time.perf_counter() - at < 0.5:
            work()
            torch.cuda.synchronize()
            count += 1
        seconds = (time.perf_counter() - at) / count
        watts = torch.cuda.power_draw() / 1000
        rows.append({"after_s": at - began, "seconds": seconds, "sm_mhz": torch.cuda.clock_rate(), "watts": watts})
    return rows


class Read(NamedTuple):
    """What a product reads: tokens, and in 8 bits the scale of each, which is None in 16."""

    tokens: Tensor
    scales: Tensor | None


class Weight:
    """Random weights of one product, with a scale for each output in 8 bits."""

    def __init__(self, kind: str, outputs: int, inputs: int) -> None:
        self.stored = drawn(outputs, inputs, kind == "fp8")
        self.scales = torch.ones(1, outputs, device="cuda")

    def __call__(self, read: Read) -> Tensor:
        """The product."""
        if read.scales is None:
            return functional.linear(read.tokens, self.stored)
        scales = {"scale_a": read.scales, "scale_b": self.scales}
        return torch._scaled_mm(read.tokens, self.stored.t(), **scales, out_dtype=torch.bfloat16, use_fast_accum=True)


class Layer:
    """A decoder layer with random weights, as one of several GPUs holds it, without what these say to each other."""

    def __init__(self, kind: str, hidden: int, heads: int, kv_heads: int, inner: int, sequences: int) -> None:
        self.kind, self.heads, self.kv_heads, self.sequences = kind, heads, kv_heads, sequences
        self.qkv, self.out = Weight(kind, (heads + 2 * kv_heads) * 128, hidden), Weight(kind, hidden, heads * 128)
        self.gate_up, self.down = Weight(kind, 2 * inner, hidden), Weight(kind, hidden, inner)
        self.norm = torch.ones(hidden, device="cuda", dtype=torch.bfloat16)
        self.angle = torch.randn(sequences, 1, 64, device="cuda", dtype=torch.bfloat16)
        cache = (sequences, kv_heads, CONTEXT, 128)
        self.keys = torch.randn(cache, device="cuda", dtype=torch.bfloat16)
        self.values = torch.randn(cache, device="cuda", dtype=torch.bfloat16)

    def __call__(self, state: Tensor) -> Tensor:
        """One decode step of every sequence."""
        qkv = self.qkv(NORMED[self.kind](state, self.norm)).view(self.sequences, -1, 128)
        query = turned(qkv[:, : self.heads], self.angle)
        self.keys[:, :, -1] = turned(qkv[:, self.heads : self.heads + self.kv_heads], self.angle)
        self.values[:, :, -1] = qkv[:, self.heads + self.kv_heads :]
        return self.answered(state, self.attended(query))

    def products(self, reads: Sequence[Read]) -> None:
        """The four products, and nothing else."""
        for weight, read in zip((self.qkv, self.out, self.gate_up, self.down), reads, strict=True):
            weight(read)

    def attended(self, query: Tensor) -> Tensor:
        """What each query sees of its sequence: (sequences, heads, 128)."""
        return functional.scaled_dot_product_attention(
            query.unsqueeze(2), self.keys, self.values, enable_gqa=True
        ).squeeze(2)

    def answered(self, state: Tensor, seen: Tensor) -> Tensor:
        """What the layer makes of what its attention saw: its projection and the MLP."""
        state = state + self.out(PLAIN[self.kind](seen.reshape(len(state), -1)))
        gate, up = self.gate_up(NORMED[self.kind](state, self.norm)).chunk(2, dim=-1)
        return state + self.down(GATED[self.kind](gate, up))

    def prompt(self, state: Tensor) -> Tensor:
        """All tokens of one prompt."""
        heads = self.qkv(NORMED[self.kind](state, self.norm)).view(len(state), -1, 128)
        angle = self.angle[:1]
        query = turned(heads[:, : self.heads], angle)
        keys = turned(heads[:, self.heads : self.heads + self.kv_heads], angle)
        return self.answered(state, self.read(query, keys, heads[:, self.heads + self.kv_heads :]))

    def read(self, query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """What each token of a prompt sees of those before it: (tokens, heads, 128)."""
        rows = (each.transpose(0, 1).unsqueeze(0) for each in (query, keys, values))
        seen = functional.scaled_dot_product_attention(*rows, is_causal=True, enable_gqa=True)
        return seen.squeeze(0).transpose(0, 1)


def _normed(state: Tensor, weight: Tensor) -> Tensor:
    """Root mean square normalized."""
    wide = state.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(state.dtype) * weight


def _turned(heads: Tensor, angle: Tensor) -> Tensor:
    """Rotary positions."""
    one, other = heads.chunk(2, dim=-1)
    return torch.cat((one * angle.cos() - other * angle.sin(), one * angle.sin() + other * angle.cos()), dim=-1)


def _gated(gate: Tensor, up: Tensor) -> Tensor:
    """The activation of the MLP."""
    return functional.silu(gate) * up


def _eight(tokens: Tensor) -> Read:
    """In 8 bits, each token by its largest."""
    scales = tokens.abs().amax(-1, keepdim=True).float() / torch.finfo(torch.float8_e4m3fn).max
    return Read((tokens.float() / scales).to(torch.float8_e4m3fn), scales)


def in_formats(make: Callable[..., Tensor]) -> dict[str, Callable[..., Read]]:
    """What makes a product's tokens, compiled, by the format that the product reads them in."""

    def sixteen(*given: Tensor) -> Read:
        return Read(make(*given), None)

    def eight(*given: Tensor) -> Read:
        return _eight(make(*given))

    return {"bf16": torch.compile(sixteen), "fp8": torch.compile(eight)}


turned = torch.compile(_turned)
NORMED, GATED = in_formats(_normed), in_formats(_gated)
PLAIN: dict[str, Callable[..., Read]] = {"bf16": lambda tokens: Read(tokens, None), "fp8": torch.compile(_eight)}


def reads(layer: Layer, count: int) -> list[Read]:
    """Random tokens for each product of a layer."""
    widths = [each.stored.shape[1] for each in (layer.qkv, layer.out, layer.gate_up, layer.down)]
    states = (torch.randn(count, width, device="cuda", dtype=torch.bfloat16) for width in widths)
    return [PLAIN[layer.kind](state) for state in states]


def decoding(kind: str) -> Iterator[dict[str, object]]:
    """One token of each sequence through a layer, and its products and its attention alone."""
    for name, (hidden, heads, kv_heads, inner) in MODELS.items():
        for sequences in SEQUENCES[kind]:
            stack = [Layer(kind, hidden, heads, kv_heads, inner, sequences) for _ in range(LAYERS)]
            state = torch.randn(sequences, hidden, device="cuda", dtype=torch.bfloat16)
            query = torch.randn(sequences, heads, 128, device="cuda", dtype=torch.bfloat16)
            parts = {
                "whole": partial(Layer.__call__, state=state),
                "products": partial(Layer.products, reads=reads(stack[0], sequences)),
                "attention": partial(Layer.attended, query=query),
            }
            yield {
                "model": name,
                "format": kind,
                "sequences": sequences,
                "context": CONTEXT,
                **seconds_of(parts, stack),
            }


def prefilling(kind: str) -> Iterator[dict[str, object]]:
    """A prompt through a layer, and its products and its attention alone; the longest is kept up for seconds, too."""
    for name, (hidden, heads, kv_heads, inner) in MODELS.items():
        stack = [Layer(kind, hidden, heads, kv_heads, inner, 1) for _ in range(LAYERS)]
        for tokens in PROMPTS:
            state = torch.randn(tokens, hidden, device="cuda", dtype=torch.bfloat16)
            query = torch.randn(tokens, heads, 128, device="cuda", dtype=torch.bfloat16)
            keys = torch.randn(tokens, kv_heads, 128, device="cuda", dtype=torch.bfloat16)
            parts = {
                "whole": partial(Layer.prompt, state=state),
                "products": partial(Layer.products, reads=reads(stack[0], tokens)),
                "attention": partial(Layer.read, query=query, keys=keys, values=keys),
            }
            yield {"model": name, "format": kind, "prompt": tokens, **seconds_of(parts, stack)}
        rows = kept_up(partial(in_turn, partial(Layer.prompt, state=state), stack))
        yield {"model": name, "format": kind, "prompt": PROMPTS[-1], "layers": LAYERS, "kept_up": rows}


def seconds_of(parts: Mapping[str, Callable[["Layer"], object]], stack: list["Layer"]) -> dict[str, float]:
    """What each part of a layer takes."""
    return {f"{name}_s": graphed_seconds(partial(in_turn, part, stack)) / LAYERS for name, part in parts.items()}


def in_turn(part: Callable[["Layer"], object], stack: list["Layer"]) -> None:
    """A part of every layer, one after the other."""
    for layer in stack:
        part(layer)


def main() -> None:
    """Prints everything as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bf16-tflops", type=float, required=True, help="dense peak by the datasheet")
    parser.add_argument("--fp8-tflops", type=float, required=True, help="dense peak by the datasheet")
    parser.add_argument("--gb-per-s", type=float, required=True, help="memory bandwidth by the datasheet")
    asked = parser.parse_args()
    peak, bytes_per_s = {"bf16": asked.bf16_tflops * 1e12, "fp8": asked.fp8_tflops * 1e12}, asked.gb_per_s * 1e9
    torch.manual_seed(1)
    found = {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "products": list(products(peak, bytes_per_s)),
        "decoding": [row for kind in peak for row in decoding(kind)],
        "prefilling": [row for kind in peak for row in prefilling(kind)],
    }
    json.dump(found, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
