"""Surviving the loss of an instance against every explicit placement: no plan is missed and none is undercut.

    python benchmarks/placements.py --problems 500

Each random problem is small enough to try all replicas, all instances and every way to put the one on the other.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.brute_force import cheapest_by_enumeration
from support.promises import faults

from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.problem.data import Candidates, HostedApis, Limits, Offers, steady_traffic
from optimizer.program.problem.problem import Problem
from optimizer.program.solve import solve

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


def random_problem(seed: int) -> Problem:
    """One or two classes, up to two offers of up to four GPUs, up to three candidates, sometimes a hosted API."""
    random = np.random.default_rng(seed)
    classes, offers = int(random.integers(1, 3)), int(random.integers(1, 3))
    candidates = int(random.integers(classes, 4))
    mixes = np.vstack([np.eye(classes), *([np.full((1, classes), 1 / classes)] if classes > 1 else [])])
    gpus = random.choice([1, 2, 3, 4], offers)
    offer = random.integers(0, offers, candidates)
    rate = np.zeros((candidates, len(mixes)))
    rate[np.arange(candidates), random.integers(0, len(mixes), candidates)] = random.uniform(0.7, 2.0, candidates)
    hosted = random.random() < 0.2
    max_gpus = int(random.integers(3, 12)) if random.random() < 0.3 else None
    kinds = ("instance", "provider") if random.random() < 0.2 else ("instance",)
    workload = tuple("vw"[k] for k in range(classes)) if random.random() < 0.4 else ("v",) * classes
    if len(set(workload)) > 1:
        # a candidate serves one workload alone
        rate[:, classes:] = 0.0
        empty = ~rate.any(axis=1)
        rate[empty, 0] = 1.0
    return Problem(
        traffic=steady_traffic(
            tuple(f"{name}/{k}" for k, name in enumerate(workload)), random.uniform(0.3, 1.8, classes), mixes, workload
        ),
        candidates=Candidates(
            ids=tuple(f"c{number}" for number in range(candidates)),
            offer=offer,
            configuration=("x",) * candidates,
            engine=("e",) * candidates,
            gpus_per_replica=2 ** np.minimum(random.integers(0, 3, candidates), np.log2(gpus[offer]).astype(int)),
            rate_per_s=rate,
            replicas_in_force=np.zeros(candidates, dtype=np.int64),
        ),
        offers=Offers(
            ids=tuple(f"o{number}" for number in range(offers)),
            price_usd_per_hour=random.uniform(1.0, 2.0, offers) * gpus,
            gpus_per_instance=gpus,
            power_kw=np.ones(offers),
            carbon_kg_per_hour=np.ones(offers),
            available=np.full(offers, np.inf),
            provider=tuple(str(name) for name in random.choice(["p", "q"], offers)),
            region=("r",) * offers,
            gpu=("g",) * offers,
            spot=np.zeros(offers, dtype=np.bool_),
            always_paid=np.zeros(offers, dtype=np.bool_),
        ),
        limits=Limits(float(random.choice([0.8, 1.0])), survive=kinds, max_gpus=max_gpus),
        apis=HostedApis(("h",), np.array([0]), np.array([5e-4]), ("saas",)) if hosted else HostedApis(),
    )


def main() -> None:
    """Compare, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=0)
    asked = parser.parse_args()
    tally, too_many = Tally(), 0
    for seed in range(asked.first_seed, asked.first_seed + asked.problems):
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
