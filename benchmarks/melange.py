"""One of Mélange's configuration files solved by our program; prints one JSON line.

    python benchmarks/melange.py INSTANCE.json [--relative-gap 0.001] [--time-limit-s 60]

Instances of up to 20,000 rates are proven optimal unless a gap is asked for, larger ones within 0.1 %. The line holds
`cost_usd_per_hour`, `bound`, `relative_gap` and `wall_s`, the time from the file to the answer.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from instances import problem_of, read_melange

from optimizer.base.clock import Clock
from optimizer.base.errors import InputError
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.solve import solve

SOLVED_EXACTLY = 20_000
"""Rates up to which the default is to prove the plan optimal."""


def main() -> int:
    """Solve the file named on the command line; 2 when it is not one, 1 when there is no plan."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("instance", type=Path)
    parser.add_argument("--relative-gap", type=float, help="how close to optimal is enough")
    parser.add_argument("--time-limit-s", type=float, default=60.0)
    options = parser.parse_args()
    start_s = time.perf_counter()
    try:
        problem = problem_of(read_melange(options.instance))
    except (InputError, OSError) as fault:
        print(fault, file=sys.stderr)
        return 2
    gap = options.relative_gap
    if gap is None:
        gap = 0.0 if problem.candidates.rate_per_s.size <= SOLVED_EXACTLY else 1e-3
    solution = solve(problem, Clock(options.time_limit_s), relative_gap=gap)
    cost, bound = solution.cost_usd_per_month, solution.bound_usd_per_month
    line = {
        "cost_usd_per_hour": None if cost is None else round(cost / HOURS_PER_MONTH, 6),
        "bound": None if bound is None else round(bound / HOURS_PER_MONTH, 6),
        "relative_gap": solution.relative_gap,
        "wall_s": round(time.perf_counter() - start_s, 3),
    }
    print(json.dumps(line))
    return 0 if cost is not None else 1


if __name__ == "__main__":
    sys.exit(main())
