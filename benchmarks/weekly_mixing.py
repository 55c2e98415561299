"""Weeks of several request classes that share replicas, over the shipped catalog: gap and CPU time by seed.

    python benchmarks/weekly_mixing.py [--limit-s 30] [--seeds 6]

Each scenario has two to four classes of one workload, demand over the week, pricing by the hour and for a year, and
start-ups of some minutes. What is solved is the program in which classes mix; the cheapest plan without mixing is its
cutoff, as in a plan.
"""

import argparse
import json
import sys
import time

import numpy as np

from optimizer.base.clock import Clock
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.inquiry import Inquiry
from optimizer.program.problem.formulate import formulate
from optimizer.program.problem.problem import Problem
from optimizer.program.solve import solve

MODELS = ("llama-3.1-8b", "llama-3.3-70b", "qwen3-32b")
PROVIDERS = (["aws"], ["gcp", "aws"], ["azure", "gcp"], ["lambda", "nebius", "aws"])


def scenario_of(seed: int) -> Scenario:
    """A week by day and night, with a weekend, of as many classes as the seed says."""
    random = np.random.default_rng(seed)
    count = 2 + seed % 3
    share = random.dirichlet(np.full(count, 3.0)).round(2)
    share[0] += 1 - share.sum()
    lengths = [(int(random.choice([300, 900, 3000, 8000])), int(random.choice([100, 250, 500]))) for _ in share]
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
                        {"share": round(float(s), 2), "input_tokens": i, "output_tokens": o}
                        for s, (i, o) in zip(share, lengths, strict=True)
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


def problem_of(seed: int, catalogs: Catalogs) -> tuple[Problem, Problem]:
    """The program with mixing and the one without."""
    scenario = scenario_of(seed)
    inquiry = Inquiry.of(scenario, catalogs)
    mixed, apart = (formulate(scenario, each.options, each.market).problem for each in (inquiry, inquiry.apart()))
    return mixed, apart


def measured(seed: int, catalogs: Catalogs, limit_s: float) -> dict[str, object]:
    """One row of the table."""
    mixed, apart = problem_of(seed, catalogs)
    row: dict[str, object] = {"seed": seed, "classes": len(mixed.traffic.classes), "periods": mixed.traffic.periods}
    row |= {"candidates": len(mixed.candidates), "streams": len(mixed.streams)}
    start_s = time.process_time()
    plain = solve(apart, Clock(limit_s / 3))
    row["apart_cpu_s"] = round(time.process_time() - start_s, 2)
    row |= {"apart_usd": plain.cost_usd_per_month, "apart_gap": plain.relative_gap}
    start_s = time.process_time()
    found = solve(mixed, Clock(limit_s))
    row["mixed_cpu_s"] = round(time.process_time() - start_s, 2)
    row |= {"mixed_usd": found.cost_usd_per_month, "mixed_gap": found.relative_gap, "outcome": found.outcome}
    bounds = [each.bound_usd_per_month for each in (plain, found)]
    return row | {"bounds_usd": bounds, "phases": {k: round(v, 1) for k, v in found.phase_wall_s.items()}}


def main() -> int:
    """Measure and print, one line a seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit-s", type=float, default=30.0)
    parser.add_argument("--seeds", type=int, default=6)
    options = parser.parse_args()
    catalogs = load_catalogs()
    for seed in range(options.seeds):
        print(json.dumps(measured(seed, catalogs, options.limit_s)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
