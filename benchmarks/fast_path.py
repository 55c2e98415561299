"""The formulas of the fast path beside the simulated replica, percentile by percentile, without any margin.

    python benchmarks/fast_path.py [--requests 50000]

One replica that all requests of a workload reach: 24 replicas of three engines, four kinds of requests, three
variations of arrivals, three loads as shares of the most that the formulas say is served. The numbers in the formulas
were chosen on six of the twelve that are called fitted and looked at again on all twelve; the others had no part in
that. A row for each figure, variation and load: formula over simulation at the 10th, 50th and 90th of 100 replicas.
Then the share within 10 %, by load, variation and engine.

Percentiles of queues need many requests: of 4,000 at 85 % of what is served the p99 of two seeds is a tenth to a third
apart, more than what formulas are to be judged by.
"""

import argparse
from collections.abc import Iterator
from itertools import product
from typing import Final

import numpy as np
import pandas as pd

from optimizer import load_catalogs
from optimizer.performance.candidates.predict import Mix, demand_of, most_served, operate
from optimizer.performance.physics.queueing import QUANTILES, ArrivalVariation
from optimizer.performance.physics.replica_model import replica_model
from optimizer.performance.physics.setup import Configuration, Setup, gather
from optimizer.performance.simulation.arrivals import Classes, renewal
from optimizer.performance.simulation.costs import ReplicaCosts, replica_costs
from optimizer.performance.simulation.replica import serve

REPLICAS: Final = {
    "fitted": (
        Configuration("vllm", "llama-3.1-8b", "h100-sxm", "fp8", "fp8", 1, 1),
        Configuration("vllm", "llama-3.1-8b", "a100-80-sxm", "int8", "bf16", 1, 1),
        Configuration("vllm", "llama-3.3-70b", "h100-sxm", "fp8", "fp8", 4, 1),
        Configuration("vllm", "llama-3.3-70b", "a100-80-sxm", "int8", "bf16", 4, 1),
        Configuration("vllm", "qwen3-30b-a3b", "h100-sxm", "fp8", "fp8", 1, 1),
        Configuration("vllm", "qwen3-30b-a3b", "a100-80-sxm", "int8", "bf16", 1, 1),
        Configuration("sglang", "llama-3.1-8b", "h100-sxm", "fp8", "fp8", 1, 1),
        Configuration("sglang", "llama-3.3-70b", "a100-80-sxm", "int8", "bf16", 4, 1),
        Configuration("sglang", "qwen3-30b-a3b", "h100-sxm", "fp8", "fp8", 1, 1),
        Configuration("tensorrt-llm", "llama-3.1-8b", "h100-sxm", "fp8", "fp8", 1, 1),
        Configuration("tensorrt-llm", "llama-3.1-70b", "h200-sxm", "fp8", "bf16", 1, 1),
        Configuration("tensorrt-llm", "qwen3-30b-a3b", "h100-sxm", "fp8", "fp8", 1, 1),
    ),
    "others": (
        Configuration("vllm", "qwen3-32b", "h200-sxm", "bf16", "bf16", 2, 1),
        Configuration("vllm", "qwen3-32b", "l40s", "bf16", "bf16", 4, 1),
        Configuration("vllm", "qwen3-14b", "h200-sxm", "bf16", "bf16", 1, 1),
        Configuration("vllm", "qwen3-14b", "l40s", "bf16", "bf16", 2, 1),
        Configuration("vllm", "gpt-oss-20b", "h200-sxm", "bf16", "bf16", 1, 1),
        Configuration("vllm", "gpt-oss-20b", "l40s", "bf16", "bf16", 1, 1),
        Configuration("sglang", "qwen3-32b", "h200-sxm", "bf16", "bf16", 2, 1),
        Configuration("sglang", "gpt-oss-20b", "h200-sxm", "bf16", "bf16", 1, 1),
        Configuration("sglang", "qwen3-14b", "l40s", "bf16", "bf16", 2, 1),
        Configuration("tensorrt-llm", "llama-3.3-70b", "gh200-96", "fp8", "bf16", 1, 1),
        Configuration("tensorrt-llm", "qwen3-32b", "h200-sxm", "bf16", "bf16", 2, 1),
        Configuration("tensorrt-llm", "qwen3-14b", "l40s", "fp8", "fp8", 1, 1),
    ),
}
"""The numbers in the formulas were chosen on the first six of those of the fit; see decision 0070."""
CLASSES: Final = {
    "chat": Classes(np.ones(1), np.array([1000]), np.array([250])),
    "code": Classes(np.ones(1), np.array([2000]), np.array([30])),
    "RAG": Classes(np.ones(1), np.array([6000]), np.array([300])),
    "agent": Classes(np.array([0.7, 0.3]), np.array([1500, 9000]), np.array([150, 600])),
}
CV2: Final = (0.3, 1.0, 4.0)
LOADS: Final = {0.3: 1, 0.6: 1, 0.85: 4}
"""With how many times the requests: the longer the lines, the fewer of them are independent."""
WARM_UP: Final = 0.1
NEAR: Final = 0.1
PERCENTILES: Final = ("p50", "p95", "p99")

Ratio = tuple[str, float]
"""Name of a figure, and what the formula says over what was simulated."""


def ratios(
    setup: Setup, costs: ReplicaCosts, classes: Classes, cv2: float, load: float, requests: int
) -> Iterator[Ratio]:
    """Each latency of one replica by class, TPOT of the class that has most."""
    mix = Mix(classes.input_tokens.astype(float), classes.output_tokens.astype(float), classes.share, 0.0)
    replica = replica_model(setup, demand_of(mix, 1))
    rate = load * float(most_served(replica, replica.most_in_line)[0])
    mix = Mix(mix.input_tokens, mix.output_tokens, mix.share, 0.0, ArrivalVariation(cv2, rate))
    point = operate(setup, mix, np.array([rate]))
    stream = renewal(np.random.default_rng(0), classes, rate, requests, cv2)
    nothing = np.zeros_like(stream.input_tokens)
    done = serve(costs, stream.arrived_s, costs.work(stream.input_tokens, nothing, stream.output_tokens))
    late = stream.arrived_s - stream.arrived_s[0] > WARM_UP * stream.span_s
    ttft = (done.first_token_s - stream.arrived_s)[late]
    tpot = ((done.finished_s - done.first_token_s) / (stream.output_tokens - 1))[late]
    request_class = stream.request_class[late]
    by_class = [tpot[request_class == number] for number in range(len(classes.share))]
    for name in PERCENTILES:
        for number in range(len(classes.share)):
            own = ttft[request_class == number]
            yield f"TTFT {name}", float(point.ttft_s[name][0, number] / np.quantile(own, QUANTILES[name]))
        yield f"TPOT {name}", float(point.tpot_s[name][0] / max(np.quantile(own, QUANTILES[name]) for own in by_class))
    yield "TPOT mean", float(point.tpot_s["mean"][0] / max(own.mean() for own in by_class))


def compared(requests: int) -> pd.DataFrame:
    """A row a figure: its name, whose replica it is and which engine's, the variation, the load, and the ratio."""
    catalogs, rows = load_catalogs(), []
    for of, replicas in REPLICAS.items():
        for replica in replicas:
            setup = gather(catalogs, [replica])
            costs = replica_costs(setup, 0)
            for classes, cv2, load in product(CLASSES.values(), CV2, LOADS):
                found = ratios(setup, costs, classes, cv2, load, requests * LOADS[load])
                rows += [(name, of, replica.engine, cv2, load, ratio) for name, ratio in found]
    return pd.DataFrame(rows, columns=["figure", "replicas", "engine", "cv2", "load", "ratio"])


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=50_000, help="of each replica, more at high loads")
    table = compared(parser.parse_args().requests)
    spread = table.groupby(["figure", "cv2", "load"])["ratio"].quantile(np.array([0.1, 0.5, 0.9])).unstack()
    print(spread.round(2).to_string())
    table["near"] = (table["ratio"] - 1).abs() <= NEAR
    for (of, mine), by in product(table.groupby("replicas"), ("load", "cv2", "engine")):
        print(f"\nwithin 10 %, {of}, by {by}")
        shares = mine.pivot_table(index="figure", columns=by, values="near", margins=True, margins_name="all")
        print(shares.drop("all").map("{:.0%}".format).to_string())


if __name__ == "__main__":
    main()
