"""A campaign of hostile inputs against every reader: how many were tried, refused, read, and what broke.

    python benchmarks/fuzzing.py --count 10000                    inputs 0 to 9,999 of every reader
    python benchmarks/fuzzing.py --reader scenario --first 4711 --count 1 --keep DIR    one input again, its file kept

Input number n of a reader is the same on every machine. Ends with 1 where anything but reading or refusing came of one.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from fuzz.readers import READERS, campaign, written


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--reader", action="append", choices=[*READERS], help="Which; all unless given.")
    arguments.add_argument("--first", type=int, default=0, help="Number of the first input of each.")
    arguments.add_argument("--count", type=int, default=1000, help="Inputs of each.")
    arguments.add_argument("--keep", type=Path, help="A folder for the files that broke something.")
    chosen = arguments.parse_args()
    names = chosen.reader or [*READERS]
    found, kinds, start = Counter[tuple[str, str]](), Counter[str](), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        for each in campaign(names, chosen.first, chosen.count, Path(folder)):
            found[each.reader, each.outcome] += 1
            if each.outcome in ("defect", "slow"):
                last = each.text.strip().splitlines()[-1][:160]
                kinds[last] += 1
                if kinds[last] <= 2:
                    print(f"{each.reader} {each.number}: {each.outcome}\n{each.text[:2000]}", flush=True)
            if chosen.keep and (each.outcome in ("defect", "slow") or chosen.count == 1):
                (chosen.keep / f"{each.reader}-{each.number}").mkdir(parents=True, exist_ok=True)
                written(each.reader, each.number, chosen.keep / f"{each.reader}-{each.number}")
    outcomes = ("read", "refused", "slow", "defect")
    print(f"| reader | tried | {' | '.join(outcomes)} |\n|---|---:|{'---:|' * len(outcomes)}")
    for name in names:
        print(f"| {name} | {chosen.count:,} | {' | '.join(f'{found[name, outcome]:,}' for outcome in outcomes)} |")
    print(f"{time.process_time() - start:.0f} CPU s")
    sys.exit(1 if any(found[name, outcome] for name in names for outcome in ("slow", "defect")) else 0)


if __name__ == "__main__":
    main()
