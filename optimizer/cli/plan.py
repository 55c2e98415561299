"""`optimizer plan`: the cheapest plan, with its explanation."""

from pathlib import Path
from typing import Annotated

import typer

from optimizer.answers.located import located
from optimizer.answers.optimize import PHASES, optimize
from optimizer.cli.options import (
    EXIT_BY_OUTCOME,
    CatalogsOption,
    Format,
    FormatOption,
    OutputOption,
    QuietOption,
    TimeLimitOption,
    check_writable,
    write,
)
from optimizer.cli.progress import progress
from optimizer.cli.question import question
from optimizer.plan.record.report import PlanReport
from optimizer.report.export import as_json
from optimizer.report.plan.plan import plan_markdown, plan_text


def plan(
    scenario: Annotated[str, typer.Argument(help="A scenario file, or the name of a shipped scenario.")],
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    time_limit_s: TimeLimitOption = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="All of it; varies every limit and price, which takes tens of seconds.")
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """The cheapest plan that meets the scenario, with its proof and explanation."""
    check_writable(output)
    report = _planned(scenario, catalogs, time_limit_s, quiet, verbose)
    write(_rendered(report, output_format, verbose), output)
    raise typer.Exit(EXIT_BY_OUTCOME[report.outcome])


def _planned(
    scenario: str, catalogs: Path | None, time_limit_s: float | None, quiet: bool, thorough: bool
) -> PlanReport:
    """Loads, checks with line numbers, and solves under a progress bar."""
    file, known = question(scenario, catalogs)
    with progress(quiet, PHASES) as began:
        report = optimize(file.scenario, known, time_limit_s=time_limit_s, progress=began, thorough=thorough)
    return located(report, file)


def _rendered(report: PlanReport, output_format: Format, verbose: bool) -> str:
    if output_format is Format.JSON:
        return as_json(report)
    if output_format is Format.MARKDOWN:
        return plan_markdown(report)
    return plan_text(report, verbose)
