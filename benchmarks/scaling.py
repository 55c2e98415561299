"""How time, gap and memory grow with the size of a problem, and paired comparisons with two rivals.

    python benchmarks/scaling.py             measure everything, write results/scaling.json and docs/performance.md
    python benchmarks/scaling.py --part split    measure one part anew: scaling, pairs or split
    python benchmarks/scaling.py --quick     fewer and smaller cases in under two minutes, printed, nothing written
    python benchmarks/scaling.py --render    write docs/performance.md from the results at hand

Each case runs in a process of its own, so that its memory is its own.
"""

import argparse
import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from instances import Instance, heavy_tailed, problem_of, several_workloads, small_steps, unrelated, weekly
from performance_page import page
from slice_ilp import solve_in_slices
from split_milp import solve_split

from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.problem.problem import Problem
from optimizer.program.solve import solve

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "scaling.json", ROOT / "docs" / "performance.md"
COMMAND = "python benchmarks/scaling.py"

RELATIVE_GAP = 1e-3
SPLIT_LIMIT_S = 60.0
SLICE_FACTOR = 8
KINDS: dict[str, Callable[[int, int, float, int], Instance]] = {
    "unrelated": unrelated,
    "small_steps": small_steps,
    "heavy_tailed": heavy_tailed,
}


@dataclass(frozen=True)
class Case:
    """One instance to solve: an axis, the value on it, and what the instance is made of."""

    axis: str
    value: int
    kind: str = "unrelated"
    candidates: int = 1000
    classes: int = 20
    periods: int = 1
    replicas: float = 100.0
    workloads: int = 1

    def problem(self) -> Problem:
        """The instance."""
        if self.periods > 1:
            return weekly(self.candidates, self.periods, self.replicas, 0)
        if self.axis == "workloads":
            return several_workloads(self.workloads, self.candidates // self.workloads, self.replicas, 0)
        return problem_of(KINDS[self.kind](self.candidates, self.classes, self.replicas, 0))


def cases(quick: bool) -> list[Case]:
    """Every case, axis by axis."""
    most = 3 if quick else 99
    found = [Case("candidates", n, candidates=n, classes=10) for n in (100, 1_000, 10_000, 100_000)[:most]]
    found += [Case("classes", k, classes=k) for k in (1, 10, 100, 400)[:most]]
    found += [Case("replicas", r, replicas=float(r)) for r in (1, 10, 100, 1_000, 10_000)[:most]]
    found += [Case("workloads", w, candidates=1000, workloads=w) for w in (1, 10, 50)[: most - 1]]
    found += [Case("periods", t, periods=t, candidates=2000) for t in (2, 24, 168)[: most - 1]]
    if not quick:
        found += [
            Case(f"target, {r} replicas", 10_000, candidates=10_000, classes=100, replicas=r) for r in (20, 1_000)
        ]
        found += [Case("kind small_steps", 10_000, "small_steps", 10_000, 100)]
        found += [Case("kind heavy_tailed", 10_000, "heavy_tailed", 10_000, 100)]
    return [*found, Case("target, 100 replicas", 10_000, candidates=10_000, classes=100)]


def solved(case: Case, limit_s: float) -> dict[str, Any]:
    """Time, gap and memory of one case."""
    before_kib, problem = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, case.problem()
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    solution = solve(problem, Clock(limit_s), relative_gap=RELATIVE_GAP)
    return vars(case) | {
        "wall_s": round(time.perf_counter() - wall_s, 3),
        "cpu_s": round(time.process_time() - cpu_s, 3),
        "gap_percent": None if solution.relative_gap is None else round(100 * solution.relative_gap, 4),
        "memory_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "memory_before_mib": round(before_kib / 1024),
    }


def paired(kind: str, gpus: int, seed: int, limit_s: float) -> dict[str, Any]:
    """One instance solved to proven optimality by our program, and in slices by two solvers under a limit."""
    instance = KINDS[kind](gpus, 100, 100.0, seed)
    start_s = time.perf_counter()
    solution = solve(problem_of(instance), Clock(10 * limit_s))
    ours_s, cost = time.perf_counter() - start_s, solution.cost_usd_per_month
    row: dict[str, Any] = {"kind": kind, "gpus": gpus, "classes": 100, "seed": seed}
    row["ours"] = {
        "usd_per_hour": None if cost is None else round(cost / HOURS_PER_MONTH, 6),
        "gap_percent": None if solution.relative_gap is None else round(100 * solution.relative_gap, 4),
        "wall_s": round(ours_s, 3),
    }
    for backend in ("HIGHS", "CBC"):
        rival = solve_in_slices(instance, SLICE_FACTOR, backend, limit_s)
        found = None if rival.cost_usd_per_hour is None else round(rival.cost_usd_per_hour, 6)
        row[backend] = {"usd_per_hour": found, "proven": rival.proven, "wall_s": round(rival.wall_s, 3)}
        row[backend]["ratio"] = round(rival.wall_s / ours_s, 1)
    return row


def split(kind: str, gpus: int, classes: int, seed: int, limit_s: float) -> dict[str, Any]:
    """One instance solved by our program and by the plain one, both to the same gap, by CPU time."""
    instance = KINDS[kind](gpus, classes, 100.0, seed)
    start_s = time.process_time()
    solution = solve(problem_of(instance), Clock(limit_s), relative_gap=RELATIVE_GAP)
    ours_s, cost = time.process_time() - start_s, (solution.cost_usd_per_month or np.inf) / HOURS_PER_MONTH
    rival = solve_split(instance, limit_s, RELATIVE_GAP)
    gap = 1 - rival.bound_usd_per_hour / rival.cost_usd_per_hour
    return {
        "kind": kind, "gpus": gpus, "classes": classes, "seed": seed,
        "ours": {"usd_per_hour": cost, "gap_percent": 100 * (solution.relative_gap or 0.0), "cpu_s": ours_s},
        "plain": {"usd_per_hour": rival.cost_usd_per_hour, "gap_percent": 100 * gap, "cpu_s": rival.cpu_s},
    }  # fmt: skip


def parts(quick: bool, limit_s: float, rival_limit_s: float) -> dict[str, list[tuple[Any, ...]]]:
    """What is measured, by part: a function and what it is given, for each row."""
    pairs = [(paired, kind, gpus, 0, rival_limit_s) for kind in KINDS for gpus in (12, 24)]
    splits = [(split, kind, 100, 24, seed, SPLIT_LIMIT_S) for kind in KINDS for seed in range(3)]
    splits += [(split, kind, 1_000, 10, 0, SPLIT_LIMIT_S) for kind in KINDS]
    return {
        "scaling": [(solved, case, limit_s) for case in cases(quick)],
        "pairs": pairs[:1] if quick else pairs,
        "split": splits[:1] if quick else splits,
    }


def measured(rows: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """The rows of a part, one process each."""
    found = []
    for function, *arguments in rows:
        found.append(_alone(function, *arguments))
        print(json.dumps(found[-1]), file=sys.stderr)
    return found


def _alone(function: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def _machine() -> dict[str, str]:
    """What the figures were measured on."""
    return {
        "cores": str(os.cpu_count()),
        "system": platform.system(),
        "python": platform.python_version(),
        "ortools": version("ortools"),
        "numpy": version("numpy"),
    }


def main() -> int:
    """Measure, write, render."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--render", action="store_true")
    parser.add_argument("--limit-s", type=float, default=60.0, help="of each search")
    parser.add_argument("--rival-limit-s", type=float, default=60.0, help="of each assignment in slices")
    parser.add_argument("--part", choices=("scaling", "pairs", "split"), help="measure this one, keep the others")
    options = parser.parse_args()
    if options.quick:
        limits = {"limit_s": 5.0, "rival_limit_s": 10.0}
        found = {part: measured(rows) for part, rows in parts(True, **limits).items()}
        print(page({"machine": _machine(), **limits, **found}, COMMAND))
        return 0
    if not options.render:
        limits = {"limit_s": options.limit_s, "rival_limit_s": options.rival_limit_s}
        wanted = {part: rows for part, rows in parts(False, **limits).items() if options.part in (None, part)}
        kept = json.loads(RESULTS.read_text(encoding="utf-8")) if options.part else {"machine": _machine(), **limits}
        result = kept | {part: measured(rows) for part, rows in wanted.items()}
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(json.loads(RESULTS.read_text(encoding="utf-8")), COMMAND), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
