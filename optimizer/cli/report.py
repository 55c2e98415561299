"""`optimizer report`: the plan and its explanation as one self-contained HTML page."""

from dataclasses import replace

import typer

from optimizer.answers.located import located
from optimizer.answers.page import PAGE_PHASES, page
from optimizer.base.extras import optional
from optimizer.cli.options import (
    EXIT_BY_OUTCOME,
    TIME_LIMIT_S,
    CatalogsOption,
    OutputOption,
    QuietOption,
    ScenarioArgument,
    TimeLimitOption,
    WorkLimitOption,
    check_writable,
    write,
)
from optimizer.cli.question import question, watched
from optimizer.report.plan.page import page_html


def report_command(
    scenario: ScenarioArgument,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    time_limit_s: TimeLimitOption = TIME_LIMIT_S,
    work_limit: WorkLimitOption = None,
    quiet: QuietOption = False,
) -> None:
    """The plan and its explanation as one self-contained page, charts included; tens of seconds."""
    check_writable(output)
    optional("matplotlib", extra="report")
    inputs = question(scenario, catalogs, output)
    with watched(PAGE_PHASES, quiet) as progress:
        found = page(
            inputs.scenario, inputs.catalogs, time_limit_s=time_limit_s, work_limit=work_limit, progress=progress
        )
    write(page_html(replace(found, report=located(found.report, inputs.file))), output)
    raise typer.Exit(EXIT_BY_OUTCOME[found.report.outcome])
