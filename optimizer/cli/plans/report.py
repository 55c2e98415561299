"""`optimizer report`: the plan and its explanation as one self-contained HTML page."""

from dataclasses import replace

import typer

from optimizer.base.extras import optional
from optimizer.cli import calls
from optimizer.cli.options import (
    TIME_LIMIT_S,
    CatalogsOption,
    OutputOption,
    QuietOption,
    ScenarioArgument,
    TimeLimitOption,
    WorkLimitOption,
    watched,
    write,
)
from optimizer.cli.question import question


def report(
    scenario: ScenarioArgument,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    time_limit_s: TimeLimitOption = TIME_LIMIT_S,
    work_limit: WorkLimitOption = None,
    quiet: QuietOption = False,
) -> None:
    """The plan and its explanation as one self-contained page, charts included; tens of seconds."""
    optional("matplotlib", extra="report")
    inputs = question(scenario, catalogs, output)
    with watched(calls.PAGE_PHASES, quiet) as progress:
        found = calls.page(
            inputs.scenario, inputs.catalogs, time_limit_s=time_limit_s, work_limit=work_limit, progress=progress
        )
    write(calls.page_html(replace(found, report=calls.located(found.report, inputs.file))), output)
    raise typer.Exit(calls.exit_of(found.report))
