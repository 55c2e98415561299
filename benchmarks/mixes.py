"""Plans of two request classes held against plans among densely predicted mixes, on random scenarios by seed.

    python benchmarks/mixes.py [--seeds 40] [--parts 24]

Prints one line a scenario and ends 1 where a densely mixed plan undercuts a stated bound, or exists where none is said
to. A dense plan adds capacity up between mixes whose shares differ by one part; it is a plan where it holds at its
mixes.
"""

import argparse
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np

from optimizer import load_catalogs
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.options import WorkloadOptions, pool_options
from optimizer.performance.candidates.pools import MIXED, Pool, mix_of
from optimizer.performance.candidates.triangulation import apart
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.mixes_held import held
from optimizer.plan.question.solving import solved

EQUAL_COST = 1e-6
"""Relative difference that a plan must save to count as cheaper."""
MODELS = ("llama-3.1-8b", "qwen3-32b", "llama-3.3-70b")


def random_scenario(seed: int) -> Scenario:
    """Two classes of different lengths on one model, rented where a few kinds of GPU are."""
    rng = np.random.default_rng(seed)
    share = float(rng.uniform(0.15, 0.85))
    lengths = [(int(rng.integers(2000, 12000)), int(rng.integers(50, 500))), (int(rng.integers(100, 900)), 400)]
    classes = [
        {"share": part, "input_tokens": prompt, "output_tokens": answer}
        for part, (prompt, answer) in zip((share, 1 - share), lengths, strict=True)
    ]
    workload = {
        "name": "desk",
        "model": MODELS[int(rng.integers(len(MODELS)))],
        "requests_per_second": float(rng.uniform(2, 20)),
        "request_classes": classes,
        "slo": {"ttft_ms": {"p95": float(rng.uniform(1200, 4000))}, "tpot_ms": {"mean": float(rng.uniform(30, 60))}},
    }
    gpus = sorted(rng.choice(["a100-80", "h100-sxm", "l40s", "h200-sxm", "mi300x", "b200"], 3, replace=False).tolist())
    return Scenario.model_validate(
        {
            "name": f"mixes-{seed}",
            "workloads": [workload],
            "policy": {"precisions": ["fp8", "bf16", "fp16"], "gpus": {"allow": gpus}},
        }
    )


def dense(inquiry: Inquiry, parts: int) -> Inquiry:
    """The same question where the mixes of a workload's two classes are predicted at shares of 1/parts, 2/parts, …"""
    return replace(inquiry, options=tuple(_dense(choice, parts) for choice in inquiry.options))


def _dense(choice: WorkloadOptions, parts: int) -> WorkloadOptions:
    pools, row = list(choice.pools), [1]
    for part in range(parts - 1, 0, -1):
        mix = mix_of(choice.workload, (0, 1), np.array([part, parts - part]) / parts)
        row.append(len(pools))
        pools.append(pool_options(choice, Pool(f"{MIXED}{len(pools)}", (0, 1), mix)))
    row.append(2)
    between = {tuple(sorted(pair)) for pair in pairwise(row)}
    return replace(choice, pools=tuple(pools), simplices=tuple(sorted({*between, *apart(len(pools))})))


def densely_mixed(inquiry: Inquiry, parts: int) -> Answer | None:
    """The cheapest plan among dense mixes that holds at the mixes it runs; None where none is found."""
    mixed = dense(inquiry, parts)
    answer = held(mixed, None, mixed.apart().solved_once(None), None)
    return None if answer.solution.cost_usd_per_month is None else answer


def verdict(stated: Answer, found: Answer | None) -> str:
    """Whether what was stated of a scenario stands beside a densely mixed plan."""
    cost = None if found is None else found.solution.cost_usd_per_month
    if cost is None:
        return "stands: no dense plan"
    if stated.solution.outcome == "infeasible":
        return "WRONG: called infeasible"
    bound = stated.solution.bound_usd_per_month or 0.0
    return "stands" if cost >= bound * (1 - EQUAL_COST) else f"WRONG: a plan at {cost:.2f} under the bound"


def compared(scenario: Scenario, catalogs: Catalogs, parts: int) -> tuple[Answer, Answer | None]:
    """The answer to a scenario, and the densely mixed plan."""
    inquiry = Inquiry.of(scenario, catalogs)
    return solved(inquiry), densely_mixed(inquiry, parts)


def main() -> int:
    """Compare as many scenarios as asked for; 1 when a statement fell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--parts", type=int, default=24)
    options = parser.parse_args()
    catalogs, fell = load_catalogs(), 0
    for seed in range(options.seeds):
        stated, found = compared(random_scenario(seed), catalogs, options.parts)
        words = verdict(stated, found)
        fell += words.startswith("WRONG")
        first = solved(Inquiry.of(random_scenario(seed), catalogs).for_comparison()).solution.cost_usd_per_month
        cost, dense_cost = stated.solution.cost_usd_per_month, found and found.solution.cost_usd_per_month
        print(
            f"{seed:3d} {stated.solution.outcome:10} added up {first} refined {cost} in {stated.rounds}, "
            f"bound {stated.solution.bound_usd_per_month}, dense {dense_cost}: {words}",
            flush=True,
        )
    return int(fell > 0)


if __name__ == "__main__":
    sys.exit(main())
