"""Whole plans of random scenarios, each in a process of its own with a cap on memory and time, verified as written."""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import yaml
from any_scenario import scenario

ROOT: Final = Path(__file__).resolve().parent.parent.parent
GB: Final = 1_000_000_000
GRACE_S: Final = 15.0
"""Beyond the time limit of the command, for its start and its output."""
ANSWERS: Final = frozenset({0, 1, 2, 3, 4})
"""Exit codes that are an answer or a refusal; 70 and signals are not."""


def solved(number: int, folder: Path, *, limit_s: float, max_gb: float) -> dict[str, Any]:
    """What became of the scenario of that number: exit code, time, memory, and whether its plan is verified again."""
    asked, plan = folder / f"drawn-{number}.yaml", folder / f"drawn-{number}.json"
    content = scenario(number).model_dump(mode="json", exclude_unset=True)
    asked.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [
        "plan",
        str(asked),
        "--format",
        "json",
        "--quiet",
        "--output",
        str(plan),
        "--time-limit-s",
        f"{limit_s:g}",
    ]
    code, said = _run(command, limit_s=limit_s + GRACE_S, max_gb=max_gb)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    found: dict[str, Any] = {"number": number, "code": code, "wall_s": round(time.perf_counter() - start, 1)}
    found |= {"cpu_s": round(used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime, 1)}
    if plan.is_file():
        outcome = json.loads(plan.read_text(encoding="utf-8"))["outcome"]
        found |= {"outcome": outcome}
        if outcome in ("optimal", "feasible"):
            found |= {"verified": _run(["verify", str(plan)], limit_s=limit_s + GRACE_S, max_gb=max_gb)[0] == 0}
    broken = code not in ANSWERS or found.get("verified") is False
    return found | ({"broken": said[-400:] or "a plan that verify refuses"} if broken else {})


def _run(arguments: list[str], *, limit_s: float, max_gb: float) -> tuple[int, str]:
    """Exit code and standard error of a command under caps; -1 where it did not end in time."""

    def capped() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (int(max_gb * GB), int(max_gb * GB)))

    command = [sys.executable, "-m", "optimizer", *arguments]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, preexec_fn=capped, check=False)
    except subprocess.TimeoutExpired:
        return -1, "did not end in time"
    return ended.returncode, ended.stderr
