"""`optimizer frontier`: cost against a requirement or two, each point a proven optimum."""

from typing import Annotated

import typer

from optimizer.answers.frontier import frontier, frontier_steps, sweep_of
from optimizer.cli.options import (
    TIME_LIMIT_S,
    CatalogsOption,
    Exit,
    Format,
    FormatOption,
    OutputOption,
    QuietOption,
    ScenarioArgument,
    TimeLimitOption,
    WorkLimitOption,
    deliver,
)
from optimizer.cli.question import question, watched
from optimizer.plan.variants.frontier import SWEEPABLE
from optimizer.report.plan.frontier import frontier_answer

SWEEP_HELP = f"FIELD=A:B:N with FIELD one of {', '.join(SWEEPABLE)}, or WORKLOAD.FIELD; twice for a grid."


def frontier_command(
    scenario: ScenarioArgument,
    sweep: Annotated[list[str], typer.Option(help=SWEEP_HELP)],
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    time_limit_s: TimeLimitOption = TIME_LIMIT_S,
    work_limit: WorkLimitOption = None,
    quiet: QuietOption = False,
) -> None:
    """Cost against a requirement or two, each point a proven optimum, and the values where the plan changes."""
    inputs = question(scenario, catalogs, output)
    sweeps = [sweep_of(text, inputs.scenario) for text in sweep]
    with watched(frontier_steps(sweeps), quiet) as progress:
        answer = frontier(
            inputs.scenario,
            inputs.catalogs,
            sweeps,
            time_limit_s=time_limit_s,
            work_limit=work_limit,
            progress=progress,
        )
    deliver(frontier_answer(answer), answer, output_format, output)
    raise typer.Exit(Exit.ANSWERED if answer.plans else Exit.NO_PLAN)
