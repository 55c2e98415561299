"""What `optimizer plan` takes for every shipped scenario: processor time of the whole command, start to end.

    python benchmarks/everyday.py                          each scenario once
    python benchmarks/everyday.py --rounds 3 chat-8b       some, the least of three
    python benchmarks/everyday.py --against ../before      by turns with another checkout, whose pages are compared, too

Byte code is written by a first command that is not counted. No limit of time cuts a comparison short.
"""

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = "3600"
WITH_CATALOGS = {"own-rack": "scenarios/overlays/own-rack"}


def planned(checkout: Path, name: str) -> tuple[float, bytes]:
    """Processor time of a plan, user and system, in seconds; and what it printed."""
    command = [sys.executable, "-m", "optimizer", "plan", f"scenarios/{name}.yaml", "--time-limit-s", LIMIT_S]
    if name in WITH_CATALOGS:
        command += ["--catalogs", WITH_CATALOGS[name]]
    settings = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, cwd=checkout, env=settings | {"PYTHONPATH": str(checkout)}, capture_output=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def main() -> None:
    """Measures and prints a row for each scenario."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="shipped scenarios; all of them by default")
    parser.add_argument("--rounds", type=int, default=1, help="of which the least time counts")
    parser.add_argument("--against", type=Path, help="another checkout")
    asked = parser.parse_args()
    names = asked.names or sorted(path.stem for path in (ROOT / "scenarios").glob("*.yaml"))
    checkouts = [ROOT] if asked.against is None else [asked.against.resolve(), ROOT]
    for checkout in checkouts:
        planned(checkout, "chat-8b")
    print("| scenario |" + " CPU s |" * len(checkouts) + (" same page |" if asked.against else ""))
    print("|---|" + "---:|" * len(checkouts) + ("---|" if asked.against else ""))
    for name in names:
        rounds = [[planned(checkout, name) for checkout in checkouts] for _ in range(asked.rounds)]
        least = [min(seconds for seconds, _ in of_checkout) for of_checkout in zip(*rounds, strict=True)]
        pages = {page for of_round in rounds for _, page in of_round}
        same = f" {'yes' if len(pages) == 1 else 'no'} |" if asked.against else ""
        print(f"| {name} |" + "".join(f" {seconds:.2f} |" for seconds in least) + same, flush=True)


if __name__ == "__main__":
    main()
