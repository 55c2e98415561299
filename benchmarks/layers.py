"""Decoder layers as GPUs at hand ran them (`kernels.py`), beside what the calibration says of the same layers.

    python benchmarks/layers.py      writes docs/layers.md

The calibration's constants were fitted to published measurements of whole servers and begin at tables of kernels, both
of other people. Here its parts are held against a layer that was timed by itself: products, attention, and the rest. A
server does more than its layers do, so where a predicted layer is slower than a measured one, the prediction has put
other work of the server there; where it is faster, it is too fast.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.physics.roofline import matrices, prefill_attention_seconds
from optimizer.performance.physics.setup import Configuration, Setup, gather
from optimizer.performance.physics.step import between_products_seconds, step_costs

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "kernels"
PAGE = ROOT / "docs" / "layers.md"
ENGINE = "vllm"
NONE = np.zeros(1)

OPENING = """# Predicted layers, held against layers on a GPU

The calibration is fitted to what other people measured of whole servers, and begins at other people's tables of
kernels. Here its parts are held against decoder layers that we timed by themselves on cards at hand, on random weights.
Nothing was fitted to these. `python benchmarks/kernels.py` measures on any NVIDIA GPU with PyTorch,
`python benchmarks/layers.py` makes this page of what it wrote.
"""
HEAD = ("GPU", "model", "what a layer does", "products", "attention", "the rest", "whole layer", "ratio")
RULE = ("---", "---", "---", "---:", "---:", "---:", "---:", "---:")
FORMATS = {"bf16": "In 16 bits", "fp8": "In 8 bits, each token and each output with a scale of its own"}
CLOSING = """
`8 × 2,048` is one token of each of 8 sequences with 2,048 tokens behind them. The rest is norms, rotary positions,
the activation, the cache that is written and what lies between kernels: predicted as what passes through memory between
products, and no less than the least time of a layer's kernels. *Kept up* is the layer done again and again for six
seconds: a card of 700 W draws them within the first second, and its clock falls from 1,980 MHz to some 1,550. Prompts
of a server run at what the power allows, so that is what is predicted. Of a prompt that was timed once, products and
attention are therefore predicted as for a burst, in which they take less time by what keeping prompts up cost on the
same card: 1.05 times on the H100, on the H200 1.06 in 16 bits and 1.03 in 8.

In 8 bits every product's tokens are brought to 8 bits first, which reads and writes them once more and is charged to
nobody: a third of a layer of 2,048 tokens passes between its products. An engine fuses more of it than a compiler of
single functions does: [vLLM](own-server.md) read 8,000 tokens in 147 ms on that card, head and host included, where 32
of these layers take 160. Nor is the library's product of few rows any evidence: a whole step of vLLM took 110 µs a
layer, head included, for one sequence with 8,000 tokens behind it, where the four products alone take 102 here for 32.

What a server adds is not here: the step's own overhead, scheduling, sampling, what GPUs say to each other. So a
predicted layer may be slower than a measured one where a constant holds some of that, and should not be faster.
"""


def setup_of(catalogs: Catalogs, gpu: str, row: dict[str, Any]) -> Setup:
    """One replica whose layers were measured: `NAME` alone on a GPU, or `NAME at tp N`."""
    name, _, parallel = row["model"].partition(" at tp ")
    return gather(catalogs, [Configuration(ENGINE, name, gpu, row["format"], "bf16", int(parallel or 1), 1)])


def decoded(setup: Setup, row: dict[str, Any]) -> tuple[float, float, float]:
    """Seconds that a layer's products, attention and the rest are predicted to take in a step."""
    costs, sequences = step_costs(setup, np.array([float(row["context"])])), np.array([float(row["sequences"])])
    parts = costs.matrices.seconds(sequences, NONE), costs.decode(sequences).attention
    return _of_a_layer(setup, *parts, between_products_seconds(setup, sequences))


def prefilled(setup: Setup, row: dict[str, Any]) -> tuple[float, float, float]:
    """The same of a prompt."""
    tokens = np.array([float(row["prompt"])])
    parts = matrices(setup).seconds(tokens, NONE), prefill_attention_seconds(setup, tokens, NONE)
    return _of_a_layer(setup, *parts, between_products_seconds(setup, tokens))


def _of_a_layer(setup: Setup, products: Floats, attention: Floats, rest: Floats) -> tuple[float, float, float]:
    layers = float(setup.network.layers[0])
    return float(products[0]) / layers, float(attention[0]) / layers, float(rest[0]) / layers


def kept_up(row: dict[str, Any]) -> float:
    """Seconds of a layer that is done again and again, once its card draws all the power that it may."""
    return float(np.median([each["seconds"] / row["layers"] for each in row["kept_up"][1:]]))


def burst(found: dict[str, Any], kind: str) -> float:
    """How much faster a card multiplies before it has drawn all its power for long, by the prompts kept up on it."""
    rows = [row for row in found["prefilling"] if row["format"] == kind and "kept_up" in row]
    return float(np.median([kept_up(row) / (row["kept_up"][0]["seconds"] / row["layers"]) for row in rows]))


def compared(catalogs: Catalogs, gpu: str, found: dict[str, Any], kind: str) -> Iterator[list[str]]:
    """A row of the table for every layer that was timed in a format."""
    faster = burst(found, kind) if any(row["format"] == kind for row in found["prefilling"]) else 1.0
    for row in (*found["decoding"], *found["prefilling"]):
        if row["format"] != kind:
            continue
        setup = setup_of(catalogs, gpu, row)
        prompt = "prompt" in row
        size = f"a prompt of {row['prompt']:,}" if prompt else f"{row['sequences']} × {row['context']:,}"
        predicted = prefilled(setup, row) if prompt else decoded(setup, row)
        if "kept_up" in row:
            size, whole, parts = f"{size}, kept up", kept_up(row), ["", "", ""]
        else:
            whole, own = row["whole_s"], (row["products_s"], row["attention_s"])
            measured = (*own, whole - sum(own))
            if prompt:
                products, attention, rest = predicted
                predicted = products / faster, attention / faster, rest
            parts = [f"{a * 1e6:,.0f} / {b * 1e6:,.0f}" for a, b in zip(predicted, measured, strict=True)]
        total = sum(predicted)
        yield [gpu, row["model"], size, *parts, f"{total * 1e6:,.0f} / {whole * 1e6:,.0f}", f"{total / whole:.2f}"]


def section(catalogs: Catalogs, files: dict[str, Any], kind: str) -> str:
    """The layers of a format on every card, as Markdown."""
    rows = [cells for gpu, found in files.items() for cells in compared(catalogs, gpu, found, kind)]
    ratios = np.array([float(cells[-1]) for cells in rows])
    names = {cells[0] for cells in rows}
    cards = ", ".join(f"{found['gpu']} (PyTorch {found['torch']})" for gpu, found in files.items() if gpu in names)
    summary = (
        f"{len(rows)} layers on {cards}: the predicted layer takes {np.median(ratios):.2f} times the measured one at "
        f"the median, {ratios.min():.2f} to {ratios.max():.2f} in all. µs a layer, predicted / measured:"
    )
    table = "\n".join("| " + " | ".join(cells) + " |" for cells in (HEAD, RULE, *rows))
    return f"## {FORMATS[kind]}\n\n{summary}\n\n{table}\n"


def page(catalogs: Catalogs) -> str:
    """The page, as Markdown."""
    files = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(RESULTS.glob("*.json"))}
    return "\n".join((OPENING, *(section(catalogs, files, kind) for kind in FORMATS))) + CLOSING


def main() -> None:
    """Writes the page."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    PAGE.write_text(page(load_catalogs()), encoding="utf-8")


if __name__ == "__main__":
    main()
