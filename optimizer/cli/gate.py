"""`optimizer gate`: a verdict for a pipeline, with the forms that pipelines read."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated

import typer

from optimizer.base.errors import Finding, InputError
from optimizer.cli import calls
from optimizer.cli.options import (
    CatalogsOption,
    Exit,
    Format,
    FormatOption,
    OutputOption,
    QuietOption,
    check_writable,
    deliver,
    write,
)

WORK_LIMIT = 200_000
"""Where a plan is not proven by then it is cut short, with the same verdict on every machine; about a minute."""

SUFFIXES = frozenset({".yaml", ".yml", ".json"})


def _usd(text: str) -> Decimal:
    """Money or a percentage as written on the command line."""
    try:
        amount = Decimal(text)
    except InvalidOperation as error:
        raise typer.BadParameter(f"'{text}' is not a number") from error
    if not amount.is_finite() or amount < 0:
        raise typer.BadParameter(f"'{text}' is not a finite number of at least 0")
    return amount


def gate(
    scenarios: Annotated[list[str], typer.Argument(help="Scenario files, folders of them, or shipped names.")],
    baseline: Annotated[
        list[Path] | None, typer.Option(help="A plan (JSON) to compare with, or a folder of them; repeatable.")
    ] = None,
    max_monthly_usd: Annotated[Decimal | None, typer.Option(parser=_usd, help="Budget of all together.")] = None,
    max_increase_percent: Annotated[Decimal | None, typer.Option(parser=_usd, help="Over the baselines.")] = None,
    max_increase_usd: Annotated[Decimal | None, typer.Option(parser=_usd, help="Over the baselines.")] = None,
    max_price_age_days: Annotated[
        int | None, typer.Option(min=1, help="Older prices break it; default: the scenario's policy.")
    ] = None,
    today: Annotated[
        datetime | None, typer.Option("--as-of", formats=["%Y-%m-%d"], help="Count ages from this day on.")
    ] = None,
    pin: Annotated[
        str | None, typer.Option(help="A snapshot (file or content hash) that the catalogs must equal.")
    ] = None,
    allow_drift: Annotated[bool, typer.Option("--allow-drift", help="Only warn where they do not.")] = False,
    baseline_catalogs: Annotated[
        str | None, typer.Option(help="The --catalogs of the baseline, or `shipped`; tells causes apart exactly.")
    ] = None,
    warn_only: Annotated[
        list[str] | None, typer.Option(help="RULE, SCENARIO or SCENARIO:RULE that only warns; * is a wildcard.")
    ] = None,
    allow_missing_price: Annotated[
        list[str] | None, typer.Option(help="Offer or provider that may lack a price or cost nothing.")
    ] = None,
    allow_expired: Annotated[list[str] | None, typer.Option(help="Offer or provider whose price may be old.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Also write JUnit XML.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="Also write SARIF 2.1.0.")] = None,
    comment: Annotated[Path | None, typer.Option(help="Also write a pull request's comment.")] = None,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    time_limit_s: Annotated[
        float | None,
        typer.Option("--time-limit-s", min=0.001, help="Seconds for the whole command; none unless asked for."),
    ] = None,
    work_limit: Annotated[
        int,
        typer.Option("--work-limit", min=1, help="Simplex iterations for each scenario; the same on every machine."),
    ] = WORK_LIMIT,
    quiet: QuietOption = False,
) -> None:
    """Whether budgets hold and prices are sound, what changed, and why; exit code 1 when the gate is broken."""
    files = _loaded(scenarios)
    limits = calls.GateLimits(
        max_monthly_usd=max_monthly_usd,
        max_increase_percent=max_increase_percent,
        max_increase_usd=max_increase_usd,
        max_price_age_days=max_price_age_days,
        today=None if today is None else today.date(),
        warn_only=tuple(warn_only or ()),
        allow_missing_price=tuple(allow_missing_price or ()),
        allow_expired=tuple(allow_expired or ()),
    )
    baselines = calls.read_baselines(baseline or ())
    known = calls.load_catalogs(catalogs)
    files = [file.with_thinking(known) for file in files]
    check_writable(output, junit, sarif, comment)
    held_to = None if pin is None else calls.pinned(pin, catalogs, allow_drift=allow_drift)
    with calls.watched([file.scenario.name for file in files], quiet) as progress:
        old_catalogs = None if baseline_catalogs is None else calls.load_catalogs(_overlay(baseline_catalogs))
        report = calls.gate(
            files,
            known,
            limits,
            baselines,
            old_catalogs=old_catalogs,
            pin=held_to,
            time_limit_s=time_limit_s,
            work_limit=work_limit,
            progress=progress,
        )
    for path, form in ((junit, calls.gate_junit), (sarif, calls.gate_sarif), (comment, calls.gate_comment)):
        if path is not None:
            write(form(report), path)
    deliver(calls.gate_answer(report), report, output_format, output)
    raise typer.Exit(exit_code(report))


def _overlay(name: str) -> Path | None:
    return None if name == calls.SHIPPED_NAME else Path(name)


def _loaded(names: list[str]) -> "list[calls.ScenarioFile]":
    """Every scenario named, folders opened; the problems of all of them at once."""
    findings: list[Finding] = []
    files: list[calls.ScenarioFile] = []
    for name in dict.fromkeys(each for given in names for each in _opened(given)):
        try:
            files.append(calls.load_scenario_file(name))
        except InputError as error:
            findings.extend(error.findings)
    if findings:
        raise InputError(findings)
    return files


def _opened(name: str) -> Iterator[str]:
    """The scenario files of a folder, sorted; anything else is its own name."""
    folder = Path(name)
    if not folder.is_dir():
        yield name
        return
    found = [str(path) for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES and path.is_file()]
    if not found:
        raise InputError(
            [Finding(name, 0, "", "no scenario in this folder", f"they end in {', '.join(sorted(SUFFIXES))}")]
        )
    yield from found


def exit_code(report: "calls.GateReport") -> Exit:
    """The gravest of what broke the gate: no plan, then no proof, then a demand."""
    rules = {reason.rule for reason in report.reasons}
    if "no_plan" in rules:
        return Exit.NO_PLAN
    if "unproven" in rules:
        return Exit.UNPROVEN
    return Exit.BROKEN if rules else Exit.ANSWERED
