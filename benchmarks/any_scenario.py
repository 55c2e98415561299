"""Random scenarios over the shipped catalogs: what `optimize` answers, in what time, how near its bound, and verified.

    python benchmarks/any_scenario.py --count 300     draw so many, write results/any_scenario.json
    python benchmarks/any_scenario.py --count 12 --print    draw so many, print the table, write nothing

Scenario number n is the same on every machine; `--first` goes on where another run ended.
"""

import argparse
import json
import resource
import time
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from optimizer import load_catalogs
from optimizer.answers.planning.optimize import optimize
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "any_scenario.json"
LIMIT_S = 20.0
LATE = 1.25
"""Times the limit beyond which an answer is late."""

MODELS = ("llama-3.1-8b", "qwen3-8b", "qwen3-32b", "llama-3.3-70b")
GPUS = ("l4", "l40s", "a100-80-sxm", "h100-sxm", "rtx5090", "b200")
SIZES = tuple((prompt, answer) for prompt in (200, 900, 4000) for answer in (60, 250, 600))
"""Prompt and answer of a request class, in tokens."""

CLOUDS = ("aws", "gcp", "azure")


def scenario(number: int) -> Scenario:
    """The scenario of that number: one to three workloads and a few of all that a policy may ask."""
    random = np.random.default_rng(number)
    weekly = bool(random.random() < 0.4)
    names = [f"w{index}" for index in range(random.integers(1, 4))]
    workloads = [_workload(random, name, weekly=weekly and index == 0) for index, name in enumerate(names)]
    return Scenario.model_validate(
        {"name": f"drawn-{number}", "workloads": workloads, "policy": _policy(random, weekly=weekly)}
    )


def _workload(random: np.random.Generator, name: str, *, weekly: bool) -> dict[str, Any]:
    peak = round(float(10 ** random.uniform(-0.3, 2)), 2)
    slo: dict[str, Any] = {
        "tpot_ms": int(random.choice([30, 50, 80])),
        "ttft_ms": int(random.choice([800, 2000, 6000])),
    }
    found: dict[str, Any] = {"name": name, "model": str(random.choice(MODELS)), "slo": slo}
    if random.random() < 0.3:
        parts = random.dirichlet(np.ones(random.integers(2, 5))).round(3)
        parts[-1] = round(1 - parts[:-1].sum(), 3)
        sizes = [SIZES[at] for at in random.permutation(len(SIZES))[: len(parts)].tolist()]
        found["request_classes"] = [
            {"share": float(share), "input_tokens": prompt, "output_tokens": answer}
            for share, (prompt, answer) in zip(parts, sizes, strict=True)
            if share > 0
        ]
    else:
        found |= {
            "input_tokens": int(random.choice([300, 1000, 3000])),
            "output_tokens": int(random.choice([100, 300, 800])),
        }
    if weekly:
        hourly = np.interp(np.arange(24), [0, 5, 11, 17, 23], random.uniform(0.05, 1.0, 5)).round(2)
        weekend = float(random.choice([0.0, 0.4, 1.0]))
        found["demand"] = {"hourly": hourly.tolist(), "weekend_factor": weekend, "peak_requests_per_second": peak}
    else:
        found["requests_per_second"] = peak
    if random.random() < 0.15:
        found["min_replicas"] = int(random.integers(1, 4))
    return found


def _policy(random: np.random.Generator, *, weekly: bool) -> dict[str, Any]:
    """Each rule with a chance of its own."""
    rules: dict[str, Any] = {
        "max_gpus": lambda: int(random.choice([4, 16, 64, 256])),
        "max_monthly_usd": lambda: float(random.choice([1_000, 5_000, 20_000, 100_000])),
        "max_distinct_configurations": lambda: int(random.integers(1, 4)),
        "max_engines": lambda: 1,
        "max_power_kw": lambda: float(random.choice([5, 20, 100])),
        "spare_replicas": lambda: int(random.integers(1, 3)),
        "survive": lambda: {"loss_of": [str(random.choice(["instance", "region", "provider"]))]},
        "min_providers": lambda: 2,
        "min_regions": lambda: 2,
        "max_provider_share": lambda: float(random.choice([0.5, 0.8])),
        "quotas": lambda: [{"gpu": str(random.choice(GPUS)), "max_gpus": int(random.choice([2, 8]))}],
        "pricing_terms": lambda: ["on_demand", str(random.choice(["spot", "reserved_1y", "committed"]))],
        "hosting": lambda: ["rented", "owned", "serverless"],
        "gpus": lambda: {"allow": sorted({str(name) for name in random.choice(GPUS, 3)})},
        "providers": lambda: {"allow": list(CLOUDS[: random.integers(1, 4)])},
        "engines": lambda: ["vllm"],
        "confidence": lambda: float(random.choice([0.5, 0.8, 0.95])),
        "robust": lambda: {"demand": 1.3, "throughput": 0.9},
        "storage_gb_per_instance": lambda: 200,
        "egress": lambda: {"bytes_per_output_token": 300},
        "mix_classes": lambda: False,
    }
    chance = 0.5 if weekly else 0.2
    found = {name: rule() for name, rule in rules.items() if random.random() < 0.15}
    if weekly:
        elastic: dict[str, Any] = {
            "max_periods": lambda: int(random.choice([3, 6, 12])),
            "start_up_minutes": lambda: int(random.choice([0, 5, 90])),
            "minimum_billing_hours": lambda: int(random.choice([2, 12])),
            "repartition_minutes": lambda: int(random.choice([0, 10])),
        }
        found["elastic"] = {name: rule() for name, rule in elastic.items() if random.random() < chance}
    return found


def kind_of(asked: Scenario) -> str:
    """The rows of the table: the demand, and what makes a scenario hard."""
    weekly = any(workload.demand is not None for workload in asked.workloads)
    loss = ", survives a loss" if asked.policy.survive.loss_of or asked.policy.spare_replicas else ""
    classes = ", classes" if any(len(workload.classes()) > 1 for workload in asked.workloads) else ""
    return f"{'weekly' if weekly else 'steady'}{classes}{loss}"


def measured(number: int, catalogs: Catalogs) -> dict[str, Any]:
    """One scenario answered: outcome, time, gap, verification; what was raised where nothing was answered."""
    asked = scenario(number)
    cpu, start = _cpu_s(), time.perf_counter()
    found: dict[str, Any] = {"number": number, "kind": kind_of(asked)}
    try:
        report = optimize(asked, catalogs, time_limit_s=LIMIT_S)
    except Exception as error:  # noqa: BLE001
        found |= {"outcome": "raised", "error": f"{type(error).__name__}: {error}"[:300]}
    else:
        found |= {
            "outcome": report.outcome,
            "gap": report.relative_gap,
            "usd_per_month": None if report.monthly_cost_usd is None else float(report.monthly_cost_usd),
            "verified": report.verification.passed if report.monthly_cost_usd is not None else None,
        }
    return found | {"wall_s": round(time.perf_counter() - start, 2), "cpu_s": round(_cpu_s() - cpu, 2)}


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def table(rows: list[dict[str, Any]], limit_s: float = LIMIT_S) -> str:
    """By kind: outcomes, time against the limit, gaps, and plans that fail verification."""
    by_kind: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_kind[row["kind"]].append(row)
        by_kind["all"].append(row)
    outcomes = sorted({row["outcome"] for row in rows})
    head = ["kind", "scenarios", *outcomes, "median s", "slowest s", "slowest CPU s", f"over {LATE:g} × the limit"]
    head += ["median gap", "widest gap"]
    lines = [f"| {' | '.join([*head, 'not verified'])} |", f"|---|{'---:|' * len(head)}"]
    for kind in sorted(by_kind, key=lambda name: (name == "all", name)):
        own = by_kind[kind]
        times, gaps = [row["wall_s"] for row in own], [row["gap"] for row in own if row.get("gap") is not None]
        counts = [str(sum(row["outcome"] == outcome for row in own)) for outcome in outcomes]
        late = sum(seconds > LATE * limit_s for seconds in times)
        broken = sum(row.get("verified") is False for row in own)
        shares = [f"{100 * median(gaps):.2f} %", f"{100 * max(gaps):.2f} %"] if gaps else ["", ""]
        cells = [kind, str(len(own)), *counts, f"{median(times):.1f}", f"{max(times):.1f}"]
        cells += [f"{max(row['cpu_s'] for row in own):.1f}", str(late), *shares]
        lines.append(f"| {' | '.join([*cells, str(broken)])} |")
    return "\n".join(lines)


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--count", type=int, default=300)
    arguments.add_argument("--first", type=int, default=0)
    arguments.add_argument("--print", action="store_true", dest="only_print")
    chosen = arguments.parse_args()
    catalogs, rows = load_catalogs(), []
    for number in range(chosen.first, chosen.first + chosen.count):
        rows.append(measured(number, catalogs))
        print(json.dumps(rows[-1]), flush=True)
    print(table(rows))
    if not chosen.only_print:
        RESULTS.write_text(json.dumps({"limit_s": LIMIT_S, "scenarios": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
