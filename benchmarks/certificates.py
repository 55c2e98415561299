"""The table of docs/certificate.md: each shipped scenario of steady demand with its certificate, made and checked.

    python benchmarks/certificates.py [scenario ...]

Times are CPU seconds: *made* from the solved problem, without the plan and its explanation, *checked* from the file's
text. What is certified is held against what no plan undercuts: exit code 1 where it is more.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from optimizer import load_catalogs, load_scenario
from optimizer.answers.planning.tried import confirmed_answer
from optimizer.inputs.catalog.shipped import shipped_dir
from optimizer.plan.certify.certificate import certified
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.verify.certificate.tree import check, read_certificate


def steady_scenarios() -> list[str]:
    """The shipped scenarios whose demand is the same all week."""
    files = sorted(Path(shipped_dir("scenarios")).glob("*.yaml"))
    return [file.stem for file in files if all(workload.demand is None for workload in load_scenario(file).workloads)]


def row(name: str) -> tuple[str, bool]:
    """One line of the table, and whether no more is certified than what no plan undercuts."""
    overlay = Path(shipped_dir("scenarios")) / "overlays" / name
    catalogs = load_catalogs(overlay) if overlay.is_dir() else load_catalogs()
    answer = confirmed_answer(Inquiry.of(load_scenario(name), catalogs))
    cheapest = answer.cheapest or answer
    problem, bound = cheapest.inquiry.formulated().problem, cheapest.solution.bound_usd_per_month
    start_s = time.process_time()
    found = certified(problem, name, bound)
    made_s = time.process_time() - start_s
    if found is None:
        return f"| {name} | nothing | — | {made_s:.2f} | — | — |", True
    text = json.dumps(found.content, separators=(",", ":"))
    start_s = time.process_time()
    proven = check(read_certificate(text)).usd_per_month
    checked_s = time.process_time() - start_s
    tree = json.dumps(found.content["proof"], separators=(",", ":"))
    usd = "there is no plan" if proven is None else f"{float(proven):,.2f}"
    words = usd if found.complete else f"{usd} of {bound or 0.0:,.2f}"
    sizes = f"{len(text) / 1000:,.0f}, {len(tree) / 1000:.1f}"
    line = f"| {name} | {words} | {found.leaves} | {made_s:.2f} | {checked_s:.2f} | {sizes} |"
    return line, proven is None if bound is None else proven is not None and proven <= bound


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", nargs="*", help="shipped scenarios; all of steady demand where none is named")
    names = parser.parse_args().scenario or steady_scenarios()
    print("| scenario | certified USD a month | parts | made in s | checked in s | kB, of which tree |")
    print("|---|---|---|---|---|---|")
    holds = True
    for name in names:
        line, held = row(name)
        print(line, flush=True)
        holds &= held
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
