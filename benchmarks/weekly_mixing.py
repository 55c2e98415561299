"""Weeks whose classes share replicas, and classes that survive a region, over the shipped catalog: gap by CPU time.

    python benchmarks/weekly_mixing.py [--limit-s 30] [--seeds 9] [--first 0]

A week has two to four classes of one workload, demand over the week, pricing by the hour and for a year, and start-ups
of some minutes. What survives the loss of any region has two classes and no week. Each is answered whole, as by the
command, with a clock that counts CPU seconds: what is left of the limit when the plan is found goes to comparisons.
"""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from optimizer.answers.planning.optimize import optimized
from optimizer.base.clock import Clock
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario

MODELS = ("llama-3.1-8b", "llama-3.3-70b", "qwen3-32b")
PROVIDERS = (["aws"], ["gcp", "aws"], ["azure", "gcp"], ["lambda", "nebius", "aws"])


def scenario_of(seed: int) -> Scenario:
    """A week by day and night, with a weekend, of as many classes as the seed says."""
    random = np.random.default_rng(seed)
    count = 2 + seed % 3
    share = random.dirichlet(np.full(count, 3.0)).round(2)
    share[0] += 1 - share.sum()
    lengths = [(int(random.choice([300, 900, 3000, 8000])), int(random.choice([100, 250, 500]))) for _ in share]
    # what is drawn twice is one class
    drawn = {each: sum(float(s) for s, other in zip(share, lengths, strict=True) if other == each) for each in lengths}
    hour = np.arange(24)
    level = 0.6 - 0.4 * np.cos(2 * np.pi * (hour - random.integers(0, 6)) / 24) + random.uniform(0, 0.1, 24)
    return Scenario.model_validate(
        {
            "name": f"week-{seed}",
            "workloads": [
                {
                    "name": "desk",
                    "model": MODELS[seed % len(MODELS)],
                    "demand": {
                        "hourly": level.round(2).tolist(),
                        "weekend_factor": float(random.choice([0.2, 0.5, 1.0])),
                        "peak_requests_per_second": float(random.choice([10, 30, 80])),
                    },
                    "request_classes": [
                        {"share": round(part, 2), "input_tokens": prompt, "output_tokens": answer}
                        for (prompt, answer), part in drawn.items()
                    ],
                    "slo": {"ttft_ms": {"p95": 3000}, "tpot_ms": {"mean": 50}},
                }
            ],
            "policy": {
                "providers": {"allow": PROVIDERS[seed % len(PROVIDERS)]},
                "pricing_terms": ["on_demand", "reserved_1y"],
                "elastic": {"start_up_minutes": 8, "max_periods": 12},
            },
        }
    )


def region_of(seed: int) -> Scenario:
    """Two classes of one model at a constant rate, no region of which may be missed, at any seller or three clouds."""
    random = np.random.default_rng(seed)
    share = round(float(random.uniform(0.2, 0.8)), 2)
    prompts = random.choice([300, 900, 3000, 8000], 2, replace=False).tolist()
    answers = random.choice([100, 250, 500], 2).tolist()
    policy: dict[str, Any] = {"survive": {"loss_of": ["region"]}}
    if seed % 2:
        policy["providers"] = {"allow": ["aws", "gcp", "azure"]}
    return Scenario.model_validate(
        {
            "name": f"region-{seed}",
            "workloads": [
                {
                    "name": "desk",
                    "model": MODELS[seed % len(MODELS)],
                    "requests_per_second": float(random.choice([5, 20, 60])),
                    "request_classes": [
                        {"share": part, "input_tokens": prompt, "output_tokens": answer}
                        for part, prompt, answer in zip((share, round(1 - share, 2)), prompts, answers, strict=True)
                    ],
                    "slo": {"ttft_ms": {"p95": 3000}, "tpot_ms": {"mean": 50}},
                }
            ],
            "policy": policy,
        }
    )


def measured(scenario: Scenario, catalogs: Catalogs, limit_s: float) -> str:
    """One row of the table."""
    start_s = time.process_time()
    found = optimized(scenario, catalogs, Clock(limit_s, now=time.process_time)).report
    used_s = time.process_time() - start_s
    gap = "none" if found.relative_gap is None else f"{100 * found.relative_gap:.2f} %"
    usd = "none" if found.cheapest_usd is None else f"{found.cheapest_usd:,.2f}"
    classes = len(scenario.workloads[0].classes())
    held = "yes" if found.verification.passed else "no"
    return f"| {scenario.name} | {classes} | {found.outcome} | {usd} | {gap} | {used_s:.1f} | {held} |"


def main() -> int:
    """Measure and print, one line a scenario."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--limit-s", type=float, default=30.0)
    parser.add_argument("--seeds", type=int, default=9)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    catalogs = load_catalogs()
    print("| scenario | classes | outcome | cheapest USD a month | gap | CPU s | verified |")
    print("|---|---:|---|---:|---:|---:|---|")
    drawn: tuple[Callable[[int], Scenario], ...] = (scenario_of, region_of)
    for draw in drawn:
        for seed in range(options.first, options.first + options.seeds):
            print(measured(draw(seed), catalogs, options.limit_s), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
