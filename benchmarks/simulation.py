"""The simulated replica beside two published runs of vLLM with the latency of every request.

    python benchmarks/simulation.py FILE [--scale 0.82] [--sequences 128]

FILE has the columns run, queued_s, input_tokens, output_tokens, ttft_ms, tpot_ms: 300 requests a run, arriving above
capacity (casys-kaist/LLMServingSim). A line for each run and metric: simulated / measured at the mean and three
percentiles, ms. Step times are predicted; `--scale` multiplies them, which shows what the simulation itself adds to
their error once they are as fast as was measured.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from optimizer import load_catalogs
from optimizer.base.units import MS_PER_S
from optimizer.performance.physics.setup import Configuration, gather
from optimizer.performance.simulation.costs import ReplicaCosts, Slowdown, replica_costs
from optimizer.performance.simulation.replica import serve

MODELS = {"Llama-3.1-8B": "llama-3.1-8b", "Qwen3-30B-A3B-Instruct-2507": "qwen3-30b-a3b"}
GPU, ENGINE_VERSION = "rtxpro6000-ws", "0.19.0"
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def lines(run: str, rows: pd.DataFrame, costs: ReplicaCosts) -> list[str]:
    """What the run's requests met, simulated and measured."""
    arrived, prompt, answer = (rows[name].to_numpy() for name in ("queued_s", "input_tokens", "output_tokens"))
    done = serve(costs, arrived, costs.work(prompt, np.zeros_like(prompt), answer))
    decoding_s = done.finished_s - done.first_token_s
    simulated = {
        "ttft_ms": MS_PER_S * (done.first_token_s - arrived),
        "tpot_ms": MS_PER_S * decoding_s / np.maximum(answer - 1, 1),
    }
    told = []
    for metric, values in simulated.items():
        measured = rows[metric].to_numpy()
        pairs = {"mean": (values.mean(), measured.mean())}
        pairs |= {name: (np.quantile(values, q), np.quantile(measured, q)) for name, q in QUANTILES.items()}
        text = "  ".join(f"{name} {own:,.0f}/{theirs:,.0f}" for name, (own, theirs) in pairs.items())
        told.append(f"{run:<40} {metric}  {text}")
    return told


def main() -> None:
    """Prints two lines a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--sequences", type=int, default=128, help="that the runs allowed at once")
    asked = parser.parse_args()
    catalogs = load_catalogs()
    for run, rows in pd.read_csv(asked.file).groupby("run"):
        model = MODELS[str(run).rpartition("/")[2]]
        configuration = Configuration(
            "vllm", model, GPU, "bf16", "bf16", 1, 1, engine_version=ENGINE_VERSION, max_num_seqs=asked.sequences
        )
        slower = Slowdown(asked.scale, asked.scale, asked.scale)
        costs = replica_costs(gather(catalogs, [configuration]), 0, slower)
        print("\n".join(lines(str(run), rows, costs)))


if __name__ == "__main__":
    main()
