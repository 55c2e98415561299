"""Surviving the loss of an instance against every explicit placement: no plan is missed and none is undercut.

    python benchmarks/placements.py --problems 500
    python benchmarks/placements.py --problems 200 --larger

Each random problem is small enough to try all replicas, all instances and every way to put the one on the other.
Larger ones, under more limits, are held against the program that has a binary for every level of what an instance
carries, with no candidate removed first.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.brute_force import cheapest_by_enumeration
from support.placements import larger_problem, random_problem
from support.promises import faults

from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.problem.problem import Problem
from optimizer.program.solve import solve, solve_plainly

SAME = 1e-6
"""Relative difference of two costs that are the same."""


@dataclass
class Tally:
    """What was found."""

    compared: int = 0
    infeasible: int = 0
    dearer: int = 0
    undercut: int = 0
    wrong: int = 0

    def add(self, problem: Problem, expected_usd_per_hour: float | None) -> str:
        """Count one problem; what went wrong with it, if anything did."""
        self.compared += 1
        solution = solve(problem)
        if expected_usd_per_hour is None:
            self.infeasible += 1
            self.wrong += solution.outcome != "infeasible"
            return "" if solution.outcome == "infeasible" else f"{solution.outcome} where there is no plan"
        expected, cost = expected_usd_per_hour * HOURS_PER_MONTH, solution.cost_usd_per_month
        if cost is None:
            self.wrong += 1
            return f"{solution.outcome} where a plan costs {expected:.2f}"
        self.dearer += cost > expected * (1 + SAME)
        self.undercut += cost < expected * (1 - SAME)
        broken = faults(problem, solution)
        self.wrong += bool(broken)
        return "; ".join(broken) or (
            "" if abs(cost - expected) <= SAME * expected else f"{cost:.2f}, not {expected:.2f}"
        )


def against_binaries(seed: int, tally: Tally) -> str:
    """Count one larger problem; what went wrong with it, if anything did."""
    problem = larger_problem(seed)
    plain = solve_plainly(problem)
    expected = None if plain.cost_usd_per_month is None else plain.cost_usd_per_month / HOURS_PER_MONTH
    return tally.add(problem, expected)


def main() -> None:
    """Compare, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--larger", action="store_true", help="problems with too many plans to try")
    asked = parser.parse_args()
    tally, too_many = Tally(), 0
    for seed in range(asked.first_seed, asked.first_seed + asked.problems):
        if asked.larger:
            if wrong := against_binaries(seed, tally):
                print(f"seed {seed}: {wrong}")
            continue
        problem = random_problem(seed)
        expected = cheapest_by_enumeration(problem)
        if expected is not None and np.isnan(expected):
            too_many += 1
        elif wrong := tally.add(problem, expected):
            print(f"seed {seed}: {wrong}")
    print(
        f"{tally.compared} compared, {tally.infeasible} of them without a plan; {too_many} with too many plans to try"
    )
    print(f"{tally.dearer} dearer, {tally.undercut} undercut, {tally.wrong} otherwise wrong")
    sys.exit(bool(tally.dearer + tally.undercut + tally.wrong))


if __name__ == "__main__":
    main()
