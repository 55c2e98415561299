"""vLLM as a GPU at hand ran it (`engine.py`), beside what was predicted of it before it ran.

    python benchmarks/own_server.py      writes docs/own-server.md

A folder of results is what `vllm bench serve` wrote on one card, read as `measurements import` reads them; the CSV file
of its name holds what `predict --batch` said before of the same runs, and is never made anew.
"""

import argparse
import csv
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from statistics import median
from typing import NamedTuple

from optimizer.inputs.importing.load_results.reading import read_results
from optimizer.inputs.importing.load_results.record import LoadResult

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "server"
PAGE = ROOT / "docs" / "own-server.md"

VARIED = ("llama-3.1-8b-fp8-1024x256-varied-in-flight-64",)
"""Runs whose prompts and answers are half as long to half as long again, evenly."""

COMPILED = ("qwen3-30b-a3b-1024x256-in-flight-32", "qwen3-30b-a3b-1024x256-rate-8")
"""Runs with a second and a half in which nobody was answered; of the first the server's log says that it compiled."""

SHOWN = {
    "TPOT, ms": "pred_tpot_ms_mean",
    "TTFT, ms": "pred_ttft_ms_mean",
    "TTFT p95, ms": "pred_ttft_ms_p95",
    "output tokens/s": "pred_output_tok_s",
}
"""Heading of a column, and of the prediction's."""

OPENING = """# A server of our own, held against predictions

What a plan promises, nobody of this project had ever seen a server do. On 27 November 2026 vLLM 0.26.0 ran on one
H200 SXM in 16 bits and, hours later, on one H100 SXM in FP8, and on the 28th on an H200 SXM in FP8 (700 W each, PyTorch
2.11, CUDA 13), with the options that `optimizer export --to vllm` writes for a plan and with drawn weights, of which
reading and multiplying take about as long. `optimizer benchmark` wrote the runs that can falsify a plan on each H200,
`optimizer check` judged them, and other loads were measured beside them. Predictions were made before, by constants
that had seen nothing of it, and stand in the repository since the commits
before the machines were started. Only the plans' own lines don't: the first was asked for afterwards, the second
before, each of the same code and constants as the rest. `python benchmarks/engine.py` measures so on any GPU with vLLM,
`python benchmarks/own_server.py` makes this page.
"""
CARDS = {
    "h100-sxm": "One H100 SXM, weights in FP8 as `--quantization fp8` makes them",
    "h200-sxm": "One H200 SXM, weights in 16 bits",
    "h200-sxm-fp8": "One H200 SXM, weights in FP8: of the mixture as its publisher's blocks of 128 hold them",
}
"""Folder of results: what ran."""

TYPICAL_INPUT_TOKENS = 1024
"""Of the prompts of most runs; others are named."""

CLOSING = """
† For a second and a half nobody was answered. Of the first of the two the server's log says that a kernel was compiled
meanwhile; it says so only once.

## The plans' own runs

On the H200 in 16 bits at 8 requests/s, the run that `optimizer benchmark` wrote for the plan (640 requests in place of
2,400, for the card was lent by the minute), judged by `optimizer check`:

```text
The plan for one-h200-sxm keeps every promise: 2 kept.

Promises
  request class                      promise    at the replica  measured            predicted  as predicted  verdict
  chat-h200-sxm-fluidstack 1024x256  TTFT p95         ≤ 500 ms   89.1 ms   83.5 (36.9–189) ms  yes           kept
  chat-h200-sxm-fluidstack 1024x256  TPOT mean         ≤ 40 ms   6.75 ms  7.98 (5.47–11.7) ms  yes           kept

Why
  chat-h200-sxm-fluidstack 1024x256 TTFT p95 ≤ 500 ms: 640 of 640 requests within; of all at least 99.53 %
  chat-h200-sxm-fluidstack 1024x256 TPOT mean ≤ 40 ms: mean 6.75 ms (6.61–6.9)
```

On the H200 in FP8 two classes on one replica at the same time, 6 requests/s of a chat and 2 of 8,000 tokens in and 200
out, 75 % of what the plan counts on at most (480 and 160 requests in place of 1,800 and 600):

```text
The plan for one-h200-mixed keeps every promise: 4 kept.

Promises
  request class                           promise    at the replica  measured           predicted  as predicted  verdict
  assistant-h200-sxm-fluidstack 1024x256  TTFT p95       ≤ 2,000 ms    304 ms    224 (105–479) ms  yes           kept
  assistant-h200-sxm-fluidstack 1024x256  TPOT mean         ≤ 40 ms   8.81 ms  8.65 (6.1–12.3) ms  yes           kept
  assistant-h200-sxm-fluidstack 8000x200  TTFT p95       ≤ 2,000 ms    587 ms    345 (161–738) ms  yes           kept
  assistant-h200-sxm-fluidstack 8000x200  TPOT mean         ≤ 40 ms   10.3 ms  8.65 (6.1–12.3) ms  yes           kept

Why
  assistant-h200-sxm-fluidstack 1024x256 TTFT p95 ≤ 2,000 ms: 480 of 480 requests within; of all at least 99.38 %
  assistant-h200-sxm-fluidstack 1024x256 TPOT mean ≤ 40 ms: mean 8.81 ms (8.03–9.6)
  assistant-h200-sxm-fluidstack 8000x200 TTFT p95 ≤ 2,000 ms: 160 of 160 requests within; of all at least 98.15 %
  assistant-h200-sxm-fluidstack 8000x200 TPOT mean ≤ 40 ms: mean 10.3 ms (9.24–11.4)
```

## What they say of the model

- *Waiting under open arrivals is right* where a prompt's own time is: on the H200 in 16 bits TTFT's mean is predicted
  13 % low to 8 % high at three rates, its p95 3 to 8 % low; with prompts of 8,000 tokens in FP8 7 and 15 % low, its p95
  2 % high and 16 % low. With prompts of 1,024 tokens in FP8 both are low by a third to a half, on either card: such a
  prompt's layers take the H200 17 ms by themselves, and its host, it seems, longer. Tokens are then predicted 3 % fast
  at 8 requests/s on the H100 and 23 % at 16 on the H200.
- *Two classes on one replica wait for each other* a little more than predicted: TTFT's p95 is 26 and 41 % low, within
  its interval. `simulate`, asked afterwards, says 255 and 377 ms with steps as predicted (`--confidence 0.5`), 8.7 and
  9.7 ms a token; and 454 and 699 ms, 18.3 and 20.5, at the bound that the plan is held to, below which both stayed.
- *Requests of one length stay in step in a closed loop, others don't.* 64 in flight of one length wait 536 ms where 95
  were predicted, and their tokens take 7.8 ms in place of 10.3; with lengths that vary by half the same load waits 231
  (149) and takes 10.4 (10.3). Public runs of vLLM, which the constant was fitted to, drift apart. Arrivals that are
  open are not in step either way.
- *A step of the dense model is too slow* with one sequence, by 13 to 19 %, and in closed loops of one length by 23 to
  31 % with more, on every card. One step took 4.89 ms on the H200 in 16 bits; its 32 layers take 148 µs each by
  themselves ([layers](layers.md)), and the head's product the rest. So nothing is left for what a host does between
  steps: releases since 0.14 schedule the next step while the last one runs.
- *Layers of experts are too slow*, too: 4.21 ms a step for 48 of them on the H200 in 16 bits where 6.08 were predicted,
  4.28 in blocks of FP8 where 5.71 were, 4.62 on the H100 where 6.03 were. Of these 4.62 a trace has 4.0 in kernels, 83
  µs a layer.
- *A prompt waits for the host that launches its kernels.* A prompt of 1,024 tokens took the mixture 94 ms on the H200
  and 111 on the H100, and one of 8,000 no more than 186. A trace (`--profile` in a line of runs) says why: of such a
  step's 1,118 kernels the GPU is busy for 13.4 ms, and else it waits for the next one. Steps of more than 512 tokens
  are launched kernel by kernel, some 90 µs each on this small virtual machine. So this is a host's time, no GPU's; a
  step of a mixture with a prompt is where a slow processor of a server shows first.
- *Drawn weights that are quantized as they are loaded send tokens to few experts*, drawn 16 bits don't: a step of 64
  sequences took the mixture 9.3 ms on the H100, where reading all its experts' weights alone takes 8.6 at the
  datasheet's bandwidth and all the rest 4.0 with one sequence. So its runs of 16, 64 and 256 in flight (5.7, 9.3 and
  24.8 ms a token), at 4 and 8 requests/s and of 8 prompts of 8,000 are no evidence of a mixture of experts, and are
  left out above. On the H200 its weights were drawn in blocks, as the publisher stores them, and tokens from the whole
  vocabulary; nobody saw which experts they went to. DeepGEMM, which vLLM would take for such blocks, was turned off,
  for it compiles for minutes; Triton's kernels, tuned for this card, ran in its place.
- *A server that has not seen a size of batch yet compiles for it*: some 1.5 s, and it seems twice. A run's
  warm-up has to reach its load.
- *A start takes longer than its weights*: from the command to the first answer 74 s of the dense model on the H200,
  whose graph had been compiled before, and 171 on the H100, where nothing had; 151 and 189 s of the mixture, with no
  weights to read; 151 and 168 s of both side by side, and 99 of the mixture once it had been compiled. Plans
  count 278 s and 1.53 s a GB, for an instance's whole start.

The two servers of the H200 in FP8 stood on one card and were loaded in turn, each with memory for its caches set by
hand, which none of these runs fills.
"""
HEAD = ("model", "load", "requests", *SHOWN)
RULE = ("---", "---", *("---:" for _ in HEAD[2:]))


def loads(result: LoadResult) -> str:
    """How a run loaded the server, in words."""
    load = result.load
    assert load is not None
    said = f"{load.value:g} requests/s" if load.type == "request_rate" else f"{load.value:g} in flight"
    if Path(result.file).stem in VARIED:
        return f"{said}, lengths ± 50 %"
    return said if result.input_tokens == TYPICAL_INPUT_TOKENS else f"{said}, {result.input_tokens:,.0f} tokens in"


def in_order(result: LoadResult) -> tuple[str, str, float]:
    """By model, kind of load, and load."""
    load = result.load
    assert load is not None
    assert load.value is not None
    return str(result.model), load.type, load.value


class Compared(NamedTuple):
    """One figure of one run: measured, predicted, and the 90 % interval of the prediction."""

    heading: str
    measured: float
    predicted: float
    low: float
    high: float

    @property
    def inside(self) -> bool:
        """Whether the interval holds it."""
        return self.low <= self.measured <= self.high

    def __str__(self) -> str:
        measured, predicted = (f"{v:,.0f}" if v >= 100 else f"{v:.3g}" for v in (self.measured, self.predicted))
        return f"{measured} ({predicted})" + ("" if self.inside else " \\*")


def figures(result: LoadResult) -> tuple[float, ...]:
    """What a run measured, in the order of the headings."""
    tokens_per_s = result.output_tokens_per_s
    assert tokens_per_s is not None
    return result.tpot_ms["mean"], result.ttft_ms["mean"], result.ttft_ms["p95"], tokens_per_s


def compared(folder: Path) -> Iterator[tuple[LoadResult, list[Compared]]]:
    """Each run of a card with its figures."""
    with folder.with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        predicted = {row["name"]: row for row in csv.DictReader(file)}
    results = chain.from_iterable(read_results(file) for file in folder.glob("*.json"))
    for result in sorted(results, key=in_order):
        said = predicted[Path(result.file).stem]
        yield (
            result,
            [
                Compared(heading, measured, *(float(said[f"{column}{end}"]) for end in ("", "_low", "_high")))
                for (heading, column), measured in zip(SHOWN.items(), figures(result), strict=True)
            ],
        )


def row(result: LoadResult, found: list[Compared]) -> tuple[str, ...]:
    """A run in the page's table."""
    load = f"{loads(result)} †" if Path(result.file).stem in COMPILED else loads(result)
    return str(result.model), load, f"{result.requests_completed:,}", *map(str, found)


def page() -> str:
    """The page, as Markdown."""
    parts = [OPENING]
    for folder in sorted(path for path in RESULTS.iterdir() if path.is_dir()):
        runs = list(compared(folder))
        found = [figure for _, figures_of_run in runs for figure in figures_of_run]
        ratios = {name: [each.predicted / each.measured for each in found if each.heading == name] for name in SHOWN}
        told = "; ".join(f"{name.partition(',')[0]} {median(ratio):.2f}" for name, ratio in ratios.items())
        inside = sum(each.inside for each in found)
        parts.append(
            f"## {CARDS[folder.name]}\n\n{TYPICAL_INPUT_TOKENS:,} tokens in unless a line says otherwise, 256 out; "
            f"measured, and in brackets predicted. Of\n{len(found)} figures {inside} lie within the 90 % interval of "
            f"their prediction, the others are starred. Predicted over\nmeasured at the median: {told}.\n"
        )
        lines = (HEAD, RULE, *(row(*run) for run in runs))
        parts.append("\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n")
    return "\n".join(parts) + CLOSING


def main() -> None:
    """Writes the page."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
