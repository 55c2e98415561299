"""`export`: files that deploy a plan, for every target that was asked for."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from optimizer.answers.bill import bill_lines
from optimizer.answers.running.export.checkpoints import Named, method_of
from optimizer.answers.running.export.record import CannotCarry, Export, LeftOut, PlannedBill, Run
from optimizer.answers.running.export.runs import runs_of
from optimizer.answers.running.export.targets.registry import TARGETS, Target
from optimizer.answers.verify import sound_plan
from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.record.report import PlanReport

BILL: Final = "focus"
"""The target that is no tool: what to pay, in the columns of the FinOps Open Cost and Usage Specification."""
LONGEST_MONTH_DAYS: Final = 31
YEARS: Final = range(2000, 3000)
"""Of a bill; another one is a slip."""


def export(
    report: PlanReport,
    catalogs: Catalogs,
    runs: Sequence[Run],
    *,
    targets: Sequence[str],
    left_out: Iterable[LeftOut],
    bill: PlannedBill | None = None,
) -> Export:
    """The files of each deployment for each target.

    Args:
        report: The plan.
        catalogs: Those that it was made from.
        runs: What its deployments run.
        targets: Names of `TARGETS`.
        left_out: What no target carries.
        bill: What is to be paid, where that was asked for.

    Raises:
        InputError: nothing can be written for a plan or for a target; says why of each deployment.
    """
    files: dict[str, str] = {}
    refused = list(left_out)
    for name in targets:
        for together in _joined(runs, TARGETS[name]):
            try:
                written = TARGETS[name].write(together, catalogs.deploying)
            except CannotCarry as reason:
                refused += [LeftOut(run.name, name, str(reason)) for run in together]
            else:
                files |= {f"{together[0].name}/{file}": text for file, text in written.items()}
    if not files and bill is None:
        raise InputError(_nothing(refused, ", ".join(targets)))
    return Export(
        plan_id=report.plan_id,
        scenario=report.scenario,
        monthly_usd=report.fleet.monthly_cost_usd,
        runs=tuple(runs),
        targets=tuple(targets),
        files=files,
        left_out=tuple(refused),
        bill=bill,
    )


def export_plan(
    path: Path, targets: Sequence[str], catalogs: Catalogs, weights: Sequence[str] = (), month: date | None = None
) -> Export:
    """The files that deploy the plan in a file, and its bill.

    Args:
        path: A plan as `optimizer plan --format json` writes it.
        targets: What to write files for, `BILL` for the bill.
        catalogs: Those that it was made from.
        weights: Checkpoints to load, each MODEL:PRECISION=NAME.
        month: Of the bill, any day of it; the one after the catalogs' day unless given.

    Returns:
        What each deployment runs, the files by path, and what is left out with the reason.

    Raises:
        InputError: an unknown target, a month of no bill or of no common year, a file that is no plan or one that
            breaks its promises, a checkpoint for no deployment, or nothing that could be written.
    """
    _check_targets(targets)
    _check_month(month, targets)
    named = _named(weights)
    report, scenario = _sound(path, catalogs)
    _check_named(named, report)
    tools = [name for name in dict.fromkeys(targets) if name != BILL]
    runs, left_out = runs_of(report, scenario, catalogs, named) if tools else ((), ())
    bill = _bill(report, catalogs, month) if BILL in targets else None
    return export(report, catalogs, runs, targets=tools, left_out=left_out, bill=bill)


def _bill(report: PlanReport, catalogs: Catalogs, month: date | None) -> PlannedBill:
    """What the plan costs in a month, line by line."""
    first = (catalogs.as_of.replace(day=1) + timedelta(days=LONGEST_MONTH_DAYS)) if month is None else month
    return PlannedBill(first.replace(day=1), tuple(bill_lines(report.fleet, catalogs.offers, catalogs)))


def _sound(path: Path, catalogs: Catalogs) -> tuple[PlanReport, Scenario]:
    """The plan in a file, every promise of it computed again."""
    report, scenario = sound_plan(path, catalogs)
    if report.monthly_cost_usd is None:
        problem = f"there is no plan to export: the outcome is {report.outcome}"
        raise InputError([Finding(str(path), 0, "monthly_cost_usd", problem, "export one that has deployments")])
    return report, scenario


def _check_named(named: Named, report: PlanReport) -> None:
    """That every checkpoint is for something that the plan runs."""
    planned = {(d.model, d.precision) for d in report.deployments}
    planned |= {(d.model, method_of(d)) for d in report.deployments if d.speculation}
    strangers = [f"the plan runs no {model}:{precision}" for model, precision in sorted(set(named) - planned)]
    known = ", ".join(f"{model}:{precision}" for model, precision in sorted(planned)) or "none"
    if strangers:
        raise InputError(Finding("--weights", 0, "", problem, f"it runs {known}") for problem in strangers)


def _check_targets(targets: Sequence[str]) -> None:
    """Every unknown target at once."""
    known = (*TARGETS, BILL)
    strangers = [name for name in targets if name not in known]
    hints = {name: did_you_mean(name, known) or f"known: {', '.join(known)}" for name in strangers}
    if strangers:
        raise InputError(Finding("--to", 0, "", f"unknown target '{name}'", hints[name]) for name in strangers)
    if not targets:
        raise InputError([Finding("--to", 0, "", "no target", f"known: {', '.join(known)}")])


def _check_month(month: date | None, targets: Sequence[str]) -> None:
    """A month is that of the bill."""
    if month is not None and BILL not in targets:
        raise InputError([Finding("--month", 0, "", "is the month of the bill, which was not asked for", "--to focus")])
    if month is not None and month.year not in YEARS:
        hint = f"years from {YEARS.start} to {YEARS[-1]}"
        raise InputError([Finding("--month", 0, "", f"no bill is of the year {month.year}", hint)])


HF_ID: Final = re.compile(r"[\w.-]+/[\w.-]+")
"""A repository on Hugging Face."""


def _named(weights: Sequence[str]) -> Named:
    """MODEL:PRECISION=NAME as a mapping."""
    found: dict[tuple[str, str], str] = {}
    for text in weights:
        key, _, hf_id = text.partition("=")
        model, _, precision = key.rpartition(":")
        if not (model and precision and HF_ID.fullmatch(hf_id)):
            hint = "write MODEL:PRECISION=PUBLISHER/NAME, as in llama-3.1-8b:int4=RedHatAI/some-name"
            raise InputError([Finding("--weights", 0, "", f"'{text}' names no checkpoint", hint)])
        found[model, precision] = hf_id
    return found


def _joined(runs: Sequence[Run], target: Target) -> Iterator[tuple[Run, ...]]:
    """The deployments that a target writes as one, in the order of the plan."""
    groups: dict[object, list[Run]] = {}
    for run in runs:
        key = run.name if target.together is None else target.together(run)
        groups.setdefault(key, []).append(run)
    yield from map(tuple, groups.values())


def _nothing(refused: Sequence[LeftOut], targets: str) -> list[Finding]:
    """Why nothing could be written."""
    return [
        Finding("--to", 0, each.target or targets, f"{each.what} cannot be exported: {each.reason}") for each in refused
    ]
