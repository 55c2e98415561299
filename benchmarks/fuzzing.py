"""A campaign of hostile inputs and random plans: how many were tried, what became of them, and what broke.

    python benchmarks/fuzzing.py --count 10000                    inputs 0 to 9,999 of every reader
    python benchmarks/fuzzing.py --reader scenario --first 4711 --count 1 --keep DIR    one input again, its file kept
    python benchmarks/fuzzing.py --solves --count 50              random scenarios planned and verified under caps
    python benchmarks/fuzzing.py --solves --count 50 --limit "--time-limit-s 20"    the same with a limit of their own
    python benchmarks/fuzzing.py --signals --count 50             commands interrupted at random moments
    python benchmarks/fuzzing.py --full-disks --count 50          disks that fill up at random moments
    python benchmarks/fuzzing.py --price-rules                    rules on money and names taken out one by one

Findings of verification are taken out by `python -m fuzz.taken_out`, coverage leads in `python -m fuzz.guided`.
Number n is the same input on every machine. Ends with 1 where anything but an answer or a refusal came of one.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from any_scenario import table
from fuzz.checks import ROOT, price_mutants, survives
from fuzz.forked import Commands
from fuzz.full_disks import filled
from fuzz.readers import READERS, campaign, written
from fuzz.signalled import signalled
from fuzz.solves import solved

SOLVE_LIMITS = {"max_gb": 8.0, "max_cpu_s": 60.0, "max_wall_s": 300.0}
"""Of address space, of which a process uses a part; of seconds on a machine that does other things."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--reader", action="append", choices=[*READERS], help="Which; all unless given.")
    arguments.add_argument("--solves", action="store_true", help="Whole plans instead of readers.")
    arguments.add_argument("--signals", action="store_true", help="Interrupts instead of readers (Linux).")
    arguments.add_argument("--full-disks", action="store_true", help="Full disks instead of readers (Linux).")
    arguments.add_argument("--disk", type=Path, help="A small file system to fill up, of nobody else.")
    arguments.add_argument("--price-rules", action="store_true", help="Rules on money, each taken out in turn.")
    arguments.add_argument("--first", type=int, default=0, help="Number of the first input of each.")
    arguments.add_argument("--count", type=int, default=1000, help="Inputs of each.")
    arguments.add_argument("--limit", default="--time-limit-s 2", help="The options of `plan` that end a solve.")
    arguments.add_argument("--keep", type=Path, help="A folder for the files that broke something.")
    chosen = arguments.parse_args()
    numbers = range(chosen.first, chosen.first + chosen.count)
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        if chosen.solves:
            sound = plans(numbers, Path(folder), chosen.limit.split())
        elif chosen.signals or chosen.full_disks:
            sound = cut_off(signalled if chosen.signals else partial(filled, disk=chosen.disk), numbers)
        elif chosen.price_rules:
            sound = price_rules(Path(folder))
        else:
            sound = files(chosen.reader or [*READERS], numbers, Path(folder), chosen.keep)
    print(f"{time.process_time() - start:.0f} CPU s")
    sys.exit(0 if sound else 1)


def files(names: list[str], numbers: range, folder: Path, keep: Path | None) -> bool:
    """Whether every file was read or refused; prints what was not, and how many of which reader."""
    found, kinds = Counter[tuple[str, str]](), Counter[str]()
    for each in campaign(names, numbers, folder):
        found[each.reader, each.outcome] += 1
        broken = each.outcome in ("defect", "slow")
        if broken:
            last = each.text.strip().splitlines()[-1][:160]
            kinds[last] += 1
            if kinds[last] <= 2:
                print(f"{each.reader} {each.number}: {each.outcome}\n{each.text[:2000]}", flush=True)
        if keep and (broken or len(numbers) == 1):
            place = keep / f"{each.reader}-{each.number}"
            place.mkdir(parents=True, exist_ok=True)
            written(each.reader, each.number, place)
    outcomes = ("read", "refused", "slow", "defect")
    print(f"| reader | tried | {' | '.join(outcomes)} |\n|---|---:|{'---:|' * len(outcomes)}")
    for name in names:
        print(f"| {name} | {len(numbers):,} | {' | '.join(f'{found[name, outcome]:,}' for outcome in outcomes)} |")
    return not kinds


def plans(numbers: Iterable[int], folder: Path, limit: list[str]) -> bool:
    """Whether every scenario had an answer, and every plan was verified; prints each, and a table by kind.

    Seconds of the table are those that went by, on a machine that may do other things, beside those of the processor.
    """
    rows, commands = [], Commands(**SOLVE_LIMITS)
    for number in numbers:
        rows.append(solved(number, folder, commands, limit))
        print(json.dumps(rows[-1]), flush=True)
    outcomes = Counter(row.get("outcome", f"exit code {row['code']}") for row in rows)
    print(", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()))
    most = ", ".join(f"{max(row[what] for row in rows)} {what}" for what in ("cpu_s", "wall_s", "peak_gb"))
    print(f"{sum(bool(row.get('verified')) for row in rows)} verified; at most {most}")
    if "--time-limit-s" in limit:
        answered = [row for row in rows if "outcome" in row]
        print(table(answered, float(limit[limit.index("--time-limit-s") + 1])))
    return not any("broken" in row for row in rows)


def cut_off(run: Callable[[int], dict[str, Any]], numbers: Iterable[int]) -> bool:
    """Whether every command ended as it should; prints each, and how many of which kind."""
    rows = []
    for number in numbers:
        rows.append(run(number))
        print(json.dumps(rows[-1]), flush=True)
    ends = Counter((row["ended"], row["code"]) for row in rows)
    print(", ".join(f"{count} {ended} with {code}" for (ended, code), count in ends.most_common()))
    return not any("broken" in row for row in rows)


def price_rules(folder: Path) -> bool:
    """Whether some test fails without each rule; prints the rules that nothing holds in place."""
    chosen = [*price_mutants()]
    whole = replace(chosen[0], text=(ROOT / "optimizer" / chosen[0].file).read_text(encoding="utf-8"))
    if not survives(whole, folder):
        sys.exit("a test fails with every rule in place: nothing can be told")
    survivors = 0
    for mutant in chosen:
        lives = survives(mutant, folder)
        survivors += lives
        verdict = "no test fails without" if lives else "a test fails without"
        print(f"{mutant.file}:{mutant.line}: {verdict} {mutant.what}", flush=True)
    print(f"{len(chosen)} rules taken out in turn, {len(chosen) - survivors} held in place by a test")
    return not survivors


if __name__ == "__main__":
    main()
