"""Eighteen ordinary questions of architects: what the first line answers, in what time, and whether one would sign.

    python benchmarks/questions.py                    all of them
    python benchmarks/questions.py 03-agents 12-spot  some
    python benchmarks/questions.py --time-limit-s 10  within a limit of time

Whether a person would sign a first line stands in `questions/verdicts.csv`, with why not, beside the line that was
read: one that has changed since is to be read again.
"""

import argparse
import csv
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
QUESTIONS = Path(__file__).resolve().parent / "questions"


class Answer(NamedTuple):
    """What the command printed first, its processor time and its exit code."""

    first_line: str
    cpu_s: float
    exit_code: int


class Verdict(NamedTuple):
    """Whether a person would sign a first line, `yes` or `no`, and what for or why not."""

    first_line: str
    signed: str
    why: str


def answered(name: str, time_limit_s: float | None) -> Answer:
    """The first paragraph of the plan's page, as one line, without the name of the question."""
    command = [sys.executable, "-m", "optimizer", "plan", str(QUESTIONS / f"{name}.yaml")]
    # modules are compiled once, not at every question
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    if time_limit_s is not None:
        command += ["--time-limit-s", f"{time_limit_s:g}"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, env=environment | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    paragraph = (done.stdout or done.stderr).split("\n\n")[0]
    return Answer(" ".join(paragraph.split()).replace(f" for {name}", ""), cpu_s, done.returncode)


def verdicts() -> dict[str, Verdict]:
    """By the name of the question."""
    with (QUESTIONS / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        return {row["question"]: Verdict(row["first_line"], row["signed"], row["why"]) for row in csv.DictReader(file)}


def main() -> None:
    """Asks, and prints a row for each question."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="of questions; all of them by default")
    parser.add_argument("--time-limit-s", type=float, help="of each; the command's own by default")
    asked = parser.parse_args()
    read, signed = verdicts(), 0
    names = asked.names or sorted(path.stem for path in QUESTIONS.glob("*.yaml"))
    print("| question | first line | CPU s | exit | signed |\n|---|---|---:|---:|---|")
    for name in names:
        answer, verdict = answered(name, asked.time_limit_s), read.get(name)
        if verdict is None or verdict.first_line != answer.first_line:
            words = "to be read again"
        else:
            words, signed = f"{verdict.signed}: {verdict.why}", signed + (verdict.signed == "yes")
        print(f"| {name} | {answer.first_line} | {answer.cpu_s:.1f} | {answer.exit_code} | {words} |", flush=True)
    print(f"\n{signed} of {len(names)} signed")


if __name__ == "__main__":
    main()
