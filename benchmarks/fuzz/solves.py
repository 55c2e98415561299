"""Whole plans of random scenarios, each in a process of its own with a cap on memory and time, verified as written."""

import json
from pathlib import Path
from typing import Any, Final

import yaml
from any_scenario import kind_of, scenario

from fuzz.forked import Commands, Ended

ANSWERS: Final = frozenset({0, 2, 3, 4})
"""Exit codes of `plan` that are an answer or a refusal; 1, 70 and signals are not."""
MAX_PEAK_GB: Final = 4.0
"""What no plan of these sizes may hold."""


def solved(number: int, folder: Path, commands: Commands, limit: list[str]) -> dict[str, Any]:
    """What became of the scenario of that number: exit code, time, memory, gap, and whether its plan is verified again.

    Args:
        number: Of the scenario.
        folder: For its files, which are removed unless something broke.
        commands: What plans and verifies.
        limit: The options of `plan` that end its search.
    """
    asked, plan = folder / f"drawn-{number}.yaml", folder / f"drawn-{number}.json"
    drawn = scenario(number)
    content = drawn.model_dump(mode="json", exclude_unset=True)
    asked.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    ended = commands.run(["plan", str(asked), "--quiet", "--output", str(plan), *limit], folder)
    found: dict[str, Any] = {"number": number, "kind": kind_of(drawn), "limit": " ".join(limit), "code": ended.code}
    found |= _used(ended)
    broken = _broken(ended, ANSWERS)
    if plan.is_file():
        told = json.loads(plan.read_text(encoding="utf-8"))
        outcome = told["outcome"]
        found |= {"outcome": outcome, "gap": told["relative_gap"]}
        if outcome in ("optimal", "feasible"):
            verdict = folder / f"drawn-{number}-verified.json"
            again = commands.run(["verify", str(plan), "--output", str(verdict)], folder)
            found |= {"verified": again.code == 0, "verify_cpu_s": round(again.cpu_s, 2)}
            broken = broken or _broken(again, frozenset({0})) + _failed_checks(verdict)
            verdict.unlink(missing_ok=True)
    elif ended.code != 2:
        broken = broken or "ended with neither a plan nor a refusal"
    if broken:
        return found | {"broken": broken}
    asked.unlink()
    plan.unlink(missing_ok=True)
    return found


def _failed_checks(verdict: Path) -> str:
    """What a verification says that does not hold; empty where all does or none was written."""
    if not verdict.is_file():
        return ""
    checks = json.loads(verdict.read_text(encoding="utf-8"))["checks"]
    return "; ".join(f"{check['name']}: {check['text']}" for check in checks if not check["passed"])


def _used(ended: Ended) -> dict[str, float]:
    return {"cpu_s": round(ended.cpu_s, 2), "wall_s": round(ended.wall_s, 2), "peak_gb": round(ended.peak_gb, 2)}


def _broken(ended: Ended, allowed: frozenset[int]) -> str:
    """What is wrong with how a command ended; empty where nothing is."""
    if not ended.in_time:
        return f"did not end in time: {ended.said[-400:]}"
    if ended.code not in allowed or "Traceback" in ended.said:
        return f"exit code {ended.code}: {ended.said[-2000:]}"
    return f"held {ended.peak_gb:.1f} GB" if ended.peak_gb > MAX_PEAK_GB else ""
