"""`optimizer replan`: what yesterday's plans would be today, for a nightly job."""

from pathlib import Path
from typing import Annotated

import typer

from optimizer.cli import calls
from optimizer.cli.options import (
    CatalogsOption,
    Exit,
    Format,
    FormatOption,
    OutputOption,
    QuietOption,
    TimeLimitOption,
    WorkLimitOption,
    check_writable,
    deliver,
    watched,
)
from optimizer.cli.scenarios import loaded

WORK_LIMIT = 200_000
"""For each plan; where it is not proven by then it is undecided, on every machine alike."""


def replan(
    scenarios: Annotated[list[str], typer.Argument(help="A folder of scenarios, or scenario files.")],
    baseline: Annotated[
        list[Path], typer.Option("--baseline", help="A folder of yesterday's plans (JSON), or plans; repeatable.")
    ],
    months: Annotated[int, typer.Option(min=1, max=120, help="Within which a move has to pay back.")] = 1,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    time_limit_s: TimeLimitOption = None,
    work_limit: WorkLimitOption = WORK_LIMIT,
    quiet: QuietOption = False,
) -> None:
    """What yesterday's plans would be today, worth the move or not; exit code 0 nothing to do, 1 something."""
    known = calls.load_catalogs(catalogs)
    files, baselines = loaded(scenarios, known), calls.read_baselines(baseline)
    check_writable(output)
    with watched([file.scenario.name for file in files], quiet) as progress:
        found = calls.replan(
            files,
            known,
            baselines,
            months=months,
            time_limit_s=time_limit_s,
            work_limit=work_limit,
            progress=progress,
        )
    deliver(calls.replan_answer(found), found, output_format, output)
    raise typer.Exit(exit_code(found))


def exit_code(found: "calls.ReplanReport") -> Exit:
    """The gravest of what there is: no plan, then nothing known, then something to do."""
    advice = {each.advice for each in found.scenarios}
    if "no_plan" in advice:
        return Exit.NO_PLAN
    if "undecided" in advice:
        return Exit.UNPROVEN
    return Exit.BROKEN if found.removed or advice & {"move", "must_move", "new"} else Exit.ANSWERED
