"""Random noisy weeks: the plan found by way of few periods against a program of all 168 hours: cost, bound, CPU time.

    python benchmarks/weeks.py 20 --first-seed 0

Each week has a day's shape, a weekend and noise, two providers, starts of 0 to 90 minutes and sometimes a least billed
time. Both programs get the same limit; where the second proves its plan, no bound may be above it, no plan below
it, and none may be called infeasible. Ends with exit code 1 where one is.
"""

import argparse
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np

from optimizer import load_catalogs
from optimizer.answers.planning.optimize import verified
from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_DAY, HOURS_PER_WEEK
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.periods import periods
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.readback import read_back

LIMIT_S = 60.0
SAME = 1e-6
CHAT: dict[str, Any] = {
    "name": "chat", "model": "llama-3.1-8b", "input_tokens": 900, "output_tokens": 250,
    "slo": {"ttft_ms": 4000, "tpot_ms": 50}, "min_quality": 0.99,
}  # fmt: skip


def week(seed: int) -> Scenario:
    """A scenario that depends on nothing but the seed."""
    random = np.random.default_rng(seed)
    hours = np.arange(HOURS_PER_DAY)
    day = 1 + random.uniform(1, 6) * np.exp(-(((hours - random.uniform(8, 20)) / random.uniform(2, 5)) ** 2))
    weekend = np.repeat([1.0, random.choice([0.4, 0.7, 1.0])], [5 * HOURS_PER_DAY, 2 * HOURS_PER_DAY])
    rates = np.tile(day, 7) * weekend * np.exp(random.normal(0, random.choice([0.05, 0.15]), HOURS_PER_WEEK))
    elastic: dict[str, Any] = {
        "max_periods": int(random.choice([3, 8, 24])),
        "start_up_minutes": float(random.choice([0, 10, 30, 90])),
    }
    if random.random() < 0.3:
        elastic["minimum_billing_hours"] = int(random.choice([2, 6]))
    policy = {
        "providers": {"allow": list(random.choice(["aws", "nebius", "lambda", "runpod"], 2, replace=False))},
        "gpus": {"allow": ["l4", "l40s", "a100-sxm-80gb"]},
        "elastic": elastic,
    }
    workload = CHAT | {"demand": {"weekly_requests_per_second": rates.round(2).tolist()}}
    return Scenario.model_validate({"name": f"week-{seed}", "workloads": [workload], "policy": policy})


def row(seed: int, catalogs: Catalogs) -> tuple[str, bool]:
    """One line of the table, and whether nothing in it contradicts the program of every hour."""
    scenario = week(seed)
    whole = Inquiry.of(scenario, catalogs)
    few = replace(whole, hour_to_period=periods(scenario).hour_to_period)
    every = replace(whole, hour_to_period=np.arange(HOURS_PER_WEEK), any_of_equals=True)
    costs, seconds, answers = [], [], []
    for inquiry in (few, whole, every):
        started = time.process_time()
        answers.append(solved(replace(inquiry, clock=Clock(LIMIT_S))))
        seconds.append(time.process_time() - started)
        costs.append(answers[-1].solution.cost_usd_per_month or np.inf)
    ours, theirs = answers[1].solution, answers[2].solution
    held = np.isinf(costs[1]) or bool(verified(whole, read_back(answers[1])).passed)
    if theirs.outcome == "optimal":
        held &= ours.outcome != "infeasible" and (ours.bound_usd_per_month or 0.0) <= costs[2] * (1 + SAME)
        held &= costs[1] >= costs[2] * (1 - SAME) and (ours.outcome != "optimal" or costs[1] <= costs[2] * (1 + SAME))
    usd = " | ".join(f"{cost:,.2f}" for cost in costs)
    cpu = " | ".join(f"{second:.1f}" for second in seconds)
    gap = "—" if ours.relative_gap is None else f"{ours.relative_gap:.2%}"
    return f"| {seed} | {usd} | {ours.outcome} | {gap} | {theirs.outcome} | {cpu} | {'yes' if held else 'NO'} |", held


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weeks", nargs="?", type=int, default=20, help="how many; 20 where nothing is said")
    parser.add_argument("--first-seed", type=int, default=0, metavar="N")
    asked = parser.parse_args()
    catalogs = load_catalogs()
    print("| week | few periods | plan | 168 hours | plan is | gap | 168 hours are | CPU s: few | plan | 168 | held |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    holds = True
    for seed in range(asked.first_seed, asked.first_seed + asked.weeks):
        line, held = row(seed, catalogs)
        print(line, flush=True)
        holds &= held
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
