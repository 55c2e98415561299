"""Plans of before, read from their files and believed only where they fit together."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from optimizer.answers.gate.baseline import Baseline, GatePlan
from optimizer.answers.gate.misfits import WRITTEN_BY, misfits
from optimizer.base.errors import Finding, InputError, refuse
from optimizer.base.files import read_text, refuse_hidden_signs, refuse_repeated_keys

NOT_HERE: Final = f"{WRITTEN_BY}; if it is committed, the clone may lack it: check out with fetch-depth: 0"
PROBLEMS_NAMED: Final = 5
"""Of one file that is no plan."""


def read_baselines(paths: Iterable[Path]) -> tuple[Baseline, ...]:
    """Plans of before.

    Args:
        paths: Files of `optimizer plan --format json`, and folders of them.

    Returns:
        The plans with their files, sorted by scenario.

    Raises:
        InputError: a file cannot be read, is not a plan or contradicts itself, or two are of the same scenario; all
            problems at once.
    """
    findings: list[Finding] = []
    found: dict[str, Baseline] = {}
    for path in (each for given in paths for each in (sorted(given.glob("*.json")) if given.is_dir() else [given])):
        try:
            baseline = _parsed(read_text(path, hint=WRITTEN_BY if path.exists() else NOT_HERE), str(path))
        except InputError as error:
            findings += error.findings
        else:
            findings += _contradictions(baseline)
            twin = found.setdefault(baseline.plan.scenario, baseline)
            if twin is not baseline:
                problem = f"{twin.file} is a plan of the same scenario, {baseline.plan.scenario}"
                findings.append(Finding(str(path), 0, "scenario", problem, "give one baseline for each scenario"))
    refuse(findings)
    return tuple(found[name] for name in sorted(found))


def baseline_in(text: str, name: str) -> Baseline:
    """A plan of before.

    Args:
        text: As `optimizer plan --format json` writes it.
        name: What findings call it.

    Raises:
        InputError: it is not a plan or contradicts itself; all its problems at once.
    """
    baseline = _parsed(text, name)
    refuse(_contradictions(baseline))
    return baseline


def _parsed(text: str, name: str) -> Baseline:
    """A plan of before, whatever it says.

    Raises:
        InputError: it is not a plan.
    """
    try:
        baseline = Baseline(name, GatePlan.model_validate_json(text))
        refuse_repeated_keys(text, name)
        refuse_hidden_signs(text, name)
        # figures beyond what may run are found now, with the file at hand
        tuple(baseline.running)
    except ValidationError as error:
        raise InputError(_no_plan(name, error)) from error
    return baseline


def _contradictions(baseline: Baseline) -> list[Finding]:
    return [Finding(baseline.file, 0, *misfit) for misfit in misfits(baseline.plan)]


def _no_plan(name: str, error: ValidationError) -> Iterator[Finding]:
    """Fields that are missing or hold what no plan holds, a number that is not finite or below zero among them."""
    for each in error.errors()[:PROBLEMS_NAMED]:
        yield Finding(name, 0, ".".join(map(str, each["loc"])), f"not a plan: {each['msg']}", WRITTEN_BY)
