"""`optimizer lifecycle`: training and serving by month, and when serving overtakes training."""

from pathlib import Path
from typing import Annotated

import typer

from optimizer.answers.lifecycle.lifecycle import lifecycle, phase_of
from optimizer.answers.lifecycle.types import LifecycleReport
from optimizer.base.errors import InputError
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
from optimizer.report.export import as_json
from optimizer.report.lifecycle import lifecycle_markdown, lifecycle_text


def lifecycle_command(
    scenario: Annotated[str, typer.Argument(help="A scenario with a lifecycle section, or a shipped scenario's name.")],
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    time_limit_s: TimeLimitOption = None,
    quiet: QuietOption = False,
) -> None:
    """Training and serving cost by month under growth, the crossover, power and carbon."""
    check_writable(output)
    report = _answered(scenario, catalogs, time_limit_s, quiet)
    write(_rendered(report, output_format), output)
    raise typer.Exit(EXIT_BY_OUTCOME[report.outcome])


def _answered(scenario: str, catalogs: Path | None, time_limit_s: float | None, quiet: bool) -> LifecycleReport:
    """Loads, checks with line numbers, and plans month by month."""
    file, known = question(scenario, catalogs)
    months = file.scenario.lifecycle.months if file.scenario.lifecycle else 0
    try:
        with progress(quiet, [phase_of(month) for month in range(1, months + 1)]) as began:
            return lifecycle(file.scenario, known, time_limit_s=time_limit_s, progress=began)
    except InputError as error:
        raise InputError(file.located(error.findings)) from error


def _rendered(report: LifecycleReport, output_format: Format) -> str:
    if output_format is Format.JSON:
        return as_json(report)
    return lifecycle_markdown(report) if output_format is Format.MARKDOWN else lifecycle_text(report)
