"""Small purchases over months, drawn at random: the program against trying everything, with and without dominance.

    python benchmarks/horizons.py 300 --first-seed 0

Ends with exit code 1 where a cost differs, or where a plan of those who look ahead less costs less.
"""

import argparse
import sys
import time
from math import isclose
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.horizons import drawn_horizon, tried_out

from optimizer.base.clock import Clock
from optimizer.program.horizon.dominance import undominated
from optimizer.program.horizon.solve import month_by_month, solve_horizon

SAME = 1e-7


def differs(seed: int) -> bool:
    """Whether anything disagrees on one instance."""
    problem = drawn_horizon(seed)
    least_usd = tried_out(problem)
    found = [solve_horizon(asked, Clock()).expected_usd for asked in (problem, undominated(problem))]
    short = month_by_month(problem, Clock()).expected_usd
    return short < least_usd * (1 - SAME) or not all(isclose(usd, least_usd, rel_tol=SAME) for usd in found)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("--first-seed", type=int, default=0)
    given = parser.parse_args()
    start_s = time.process_time()
    seeds = range(given.first_seed, given.first_seed + given.count)
    wrong = [seed for seed in seeds if differs(seed)]
    print(f"{given.count} instances, {len(wrong)} differ {wrong}, {time.process_time() - start_s:.0f} s of CPU time")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
