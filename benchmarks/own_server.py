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
H200 SXM (700 W, PyTorch 2.11, CUDA 13), with the options that `optimizer export --to vllm` writes for a plan and with
drawn weights, of which reading and multiplying take about as long. `optimizer benchmark` wrote the run that can
falsify the plan, `optimizer check` judged it, and the same requests at other loads were measured beside it.
Predictions were made before, by constants that had seen nothing of it, and stand in the repository since the commit
before the machine was started; only the line of the plan's own run was asked for afterwards, of the same code and
constants: what `benchmark` said of it before stands below. `python benchmarks/engine.py` measures so on any GPU with
vLLM, `python benchmarks/own_server.py` makes this page.
"""
CLOSING = """
† For a second and a half nobody was answered. Of the first of the two the server's log says that a kernel was compiled
meanwhile; it says so only once.

## The plan's own run

At 8 requests/s, the run that `optimizer benchmark` wrote for the plan (640 requests in place of 2,400, for the card was
lent by the minute), judged by `optimizer check`:

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

## What it says of the model

- *Waiting under open arrivals is right*: of the dense model, TTFT's mean is predicted 13 % low to 8 % high at three
  rates, its p95 3 to 8 % low.
- *A step of the dense model is too slow*, by 13 % with one sequence, 16 to 25 % with more. One step took 4.89 ms; its
  32 layers take 148 µs each by themselves ([layers](layers.md)), and the head's product the rest. So nothing is left
  for what a host does between steps: releases since 0.14 schedule the next step while the last one runs.
- *Layers of experts in 16 bit are too slow*, too: 4.21 ms a step for 48 of them, where 6.08 were predicted.
- *A prompt costs a mixture of experts more than its arithmetic.* One of 1,024 tokens took 94 ms, eight of them
  together 190 to 205: some 80 ms of a step with a prompt, 1.6 ms a layer, don't depend on how much is in it. A dense
  model's 1,024 tokens took 34. So under open arrivals, where most steps hold a prompt, TTFT and TPOT of the mixture
  are low.
- *Requests of one length stay in step in a closed loop*: eight that end together come back together, and wait for
  each other's prompts for as long as the loop runs (200 ms where 80 were predicted). Arrivals that are open do not.
- *A server that has not seen a size of batch yet compiles for it*: some 1.5 s, and it seems twice. A run's
  warm-up has to reach its load.
- *A start takes longer than its weights*: from the command to the first answer 74 s of the dense model, whose graph had
  been compiled before, and 151 s of the mixture, with no weights to read. Plans count 278 s and 1.53 s a GB, for an
  instance's whole start.
"""
HEAD = ("model", "load", "requests", *SHOWN)
RULE = ("---", "---", *("---:" for _ in HEAD[2:]))


def loads(result: LoadResult) -> str:
    """How a run loaded the server, in words."""
    load = result.load
    assert load is not None
    return f"{load.value:g} requests/s" if load.type == "request_rate" else f"{load.value:g} in flight"


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
            f"1,024 tokens in, 256 out, on {folder.name}; measured, and in brackets predicted. Of {len(found)} figures "
            f"{inside} lie\nwithin the 90 % interval of their prediction, the others are starred. Predicted over "
            f"measured at the median:\n{told}.\n"
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
