"""How far simulated figures are off, and how often their intervals hold what is true, with luck and without it.

    python benchmarks/intervals.py [--seeds 60]

A replica whose requests come at one rate is simulated with many seeds, and once with so many requests that its figures
are taken for true. Of the class of the shortest answers, after a tenth of the time: how far figures of a sample lie
around the true one (standard deviation), half of the width of their intervals (median), and the share of intervals of
95 % that hold the true figure; where each is told from the sample alone, and where what the sample had luck with is
left out.
"""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Final

import numpy as np

from optimizer import load_catalogs
from optimizer.base.arrays import Flags, Floats
from optimizer.performance.candidates.predict import Mix, demand_of, most_served
from optimizer.performance.physics.replica_model import replica_model
from optimizer.performance.physics.setup import Configuration, Setup, gather
from optimizer.performance.simulation.arrivals import Classes, renewal
from optimizer.performance.simulation.costs import ReplicaCosts, replica_costs
from optimizer.performance.simulation.luck import DrawnFigures, Luck
from optimizer.performance.simulation.replica import serve
from optimizer.performance.simulation.statistics import Bounded, mean, quantile

FOUR: Final = Classes(
    np.array([0.15, 0.15, 0.49, 0.21]), np.array([300, 900, 900, 3000]), np.array([250, 100, 250, 100])
)
ONE: Final = Classes(np.ones(1), np.array([900]), np.array([250]))
REPLICAS: Final = (
    (Configuration("vllm", "qwen3-32b", "h100-sxm", "fp8", "fp8", 1, 1), FOUR, 0.7),
    (Configuration("vllm", "llama-3.1-8b", "l40s", "fp8", "fp8", 1, 1), ONE, 0.8),
)
"""With what they are sent, and the share of the most that they serve."""
CV2: Final = (1.0, 4.0)
REQUESTS: Final = (2_000, 5_000, 10_000)
TRULY: Final = 800_000
"""Requests from which figures are taken for true."""
WARM_UP: Final = 0.1
LIKELY: Final = 0.95
FIGURES: Final[dict[str, tuple[str, Callable[..., Bounded]]]] = {
    "TPOT mean": ("tpot", mean),
    "TTFT mean": ("ttft", mean),
    "TTFT p50": ("ttft", partial(quantile, level=0.5)),
    "TTFT p95": ("ttft", partial(quantile, level=0.95)),
}


def sample(
    costs: ReplicaCosts, classes: Classes, rate_per_s: float, requests: int, cv2: float, seed: int
) -> tuple[dict[str, Floats], Flags, Luck]:
    """Latencies of the requests that count, those of the class looked at among them, and its luck."""
    stream = renewal(np.random.default_rng(seed), classes, rate_per_s, requests, cv2)
    work = costs.work(stream.input_tokens, np.zeros_like(stream.input_tokens), stream.output_tokens)
    done = serve(costs, stream.arrived_s, work)
    late = stream.arrived_s - stream.arrived_s[0] >= WARM_UP * stream.span_s
    tpot = (done.finished_s - done.first_token_s) / (stream.output_tokens - 1)
    found = {"tpot": tpot[late], "ttft": (done.first_token_s - stream.arrived_s)[late]}
    gaps = np.diff(stream.arrived_s, prepend=stream.arrived_s[:1] - 1 / rate_per_s)
    drawn = DrawnFigures(
        np.column_stack([gaps, stream.input_tokens, stream.output_tokens])[late],
        np.array([1 / rate_per_s, *classes.expected_tokens]),
    )
    own = (stream.request_class == classes.output_tokens.argmin())[late]
    return found, own, Luck.of_sample(drawn).of(own)


def figures(setup: Setup, classes: Classes, load: float, cv2: float, seeds: int) -> Iterator[str]:
    """A row for each number of requests and figure."""
    costs = replica_costs(setup, 0)
    mix = Mix(classes.input_tokens.astype(float), classes.output_tokens.astype(float), classes.share, 0.0)
    replica = replica_model(setup, demand_of(mix, 1))
    rate_per_s = load * float(most_served(replica, replica.most_in_line)[0])
    latencies, own, _ = sample(costs, classes, rate_per_s, TRULY, cv2, seeds)
    true = {name: figure(latencies[of][own], likely=LIKELY).value for name, (of, figure) in FIGURES.items()}
    for requests in REQUESTS:
        found: dict[tuple[str, bool], list[Bounded]] = {}
        for seed in range(seeds):
            latencies, own, luck = sample(costs, classes, rate_per_s, requests, cv2, seed)
            for (name, (of, figure)), left_out in product(FIGURES.items(), (False, True)):
                bounded = figure(latencies[of][own], likely=LIKELY, luck=luck if left_out else None)
                found.setdefault((name, left_out), []).append(bounded)
        for name, value in true.items():
            cells = [told(found[name, left_out], value) for left_out in (False, True)]
            yield f"| {cv2:g} | {requests:,} | {name} | " + " | ".join(cells) + " |"


def told(found: list[Bounded], true: float) -> str:
    """Standard deviation, half of the width and coverage, as shares of what is true."""
    values, halves = np.array([each.value for each in found]), [(each.high - each.low) / 2 for each in found]
    holds = np.mean([each.low <= true <= each.high for each in found])
    return f"{values.std() / true:.1%} | {np.median(halves) / true:.1%} | {holds:.0%}"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=60)
    seeds, catalogs = parser.parse_args().seeds, load_catalogs()
    for configuration, classes, load in REPLICAS:
        print(f"\n{configuration.model} on {configuration.gpu}, {len(classes.share)} classes, {load:.0%} of the most")
        print("| ca² | requests | figure | sd | half | holds | sd, luck left out | half | holds |")
        print("|---:|---:|---|---:|---:|---:|---:|---:|---:|")
        for cv2 in CV2:
            for row in figures(gather(catalogs, [configuration]), classes, load, cv2, seeds):
                print(row, flush=True)


if __name__ == "__main__":
    main()
