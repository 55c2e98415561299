"""`optimizer report`: the plan and its explanation as one self-contained HTML page."""

from dataclasses import replace
from typing import Annotated

import typer

from optimizer.answers.located import located
from optimizer.answers.page import PAGE_PHASES, page
from optimizer.base.extras import optional
from optimizer.cli.options import CatalogsOption, OutputOption, QuietOption, TimeLimitOption, check_writable, write
from optimizer.cli.progress import progress
from optimizer.cli.question import question
from optimizer.report.plan.page import page_html

EXIT_BY_OUTCOME = {"optimal": 0, "infeasible": 3, "feasible": 4, "unproven": 4, "failed": 70}


def report_command(
    scenario: Annotated[str, typer.Argument(help="A scenario file, or the name of a shipped scenario.")],
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    time_limit_s: TimeLimitOption = None,
    quiet: QuietOption = False,
) -> None:
    """The plan and its explanation as one self-contained page, charts included; tens of seconds."""
    check_writable(output)
    optional("matplotlib", extra="report")
    file, known = question(scenario, catalogs)
    with progress(quiet, PAGE_PHASES) as began:
        found = page(file.scenario, known, time_limit_s=time_limit_s, progress=began)
    write(page_html(replace(found, report=located(found.report, file))), output)
    raise typer.Exit(EXIT_BY_OUTCOME[found.report.outcome])
