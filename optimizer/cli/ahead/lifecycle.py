"""`optimizer lifecycle`: training and serving by month, and when serving overtakes training."""

from typing import Annotated

import typer

from optimizer.cli import calls
from optimizer.cli.options import (
    TIME_LIMIT_S,
    CatalogsOption,
    Format,
    FormatOption,
    OutputOption,
    QuietOption,
    TimeLimitOption,
    WorkLimitOption,
    watched,
    write,
)
from optimizer.cli.question import question


def lifecycle(
    scenario: Annotated[str, typer.Argument(help="A scenario with a lifecycle section, or a shipped scenario's name.")],
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    time_limit_s: TimeLimitOption = TIME_LIMIT_S,
    work_limit: WorkLimitOption = None,
    quiet: QuietOption = False,
) -> None:
    """Training and serving cost by month under growth, the crossover, power and carbon."""
    inputs = question(scenario, catalogs, output)
    months = inputs.scenario.lifecycle.months if inputs.scenario.lifecycle else 0
    phases = [calls.phase_of(month) for month in range(1, months + 1)]
    with inputs.file.naming_lines(), watched(phases, quiet) as progress:
        report = calls.lifecycle(
            inputs.scenario, inputs.catalogs, time_limit_s=time_limit_s, work_limit=work_limit, progress=progress
        )
    forms = {Format.JSON: calls.as_json, Format.MARKDOWN: calls.lifecycle_markdown, Format.TEXT: calls.lifecycle_text}
    write(forms[output_format](report), output)
    raise typer.Exit(calls.exit_of(report))
