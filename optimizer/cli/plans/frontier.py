"""`optimizer frontier`: cost against a requirement or two, each point a proven optimum."""

from typing import Annotated

import typer

from optimizer.cli import calls, names
from optimizer.cli.options import (
    TIME_LIMIT_S,
    CatalogsOption,
    Format,
    FormatOption,
    OutputOption,
    QuietOption,
    ScenarioArgument,
    WorkLimitOption,
    deliver,
    watched,
)
from optimizer.cli.question import question

# the help is Rich markup, in which :B: is a picture; a mark between keeps the letters
SWEEP_HELP = (
    f"FIELD=A:[not bold]B[/]:N with FIELD one of {', '.join(names.SWEEPABLE)}, or WORKLOAD.FIELD; twice for a grid."
)

TIME_HELP = (
    "Seconds for the whole command once its files are read. Points and changes of plan left without proof are told, "
    "`complete` in the JSON is false, with exit code 0; 4 where no plan was found at all."
)


def frontier(
    scenario: ScenarioArgument,
    sweep: Annotated[list[str], typer.Option(help=SWEEP_HELP)],
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    time_limit_s: Annotated[float | None, typer.Option("--time-limit-s", min=0.001, help=TIME_HELP)] = TIME_LIMIT_S,
    work_limit: WorkLimitOption = None,
    quiet: QuietOption = False,
) -> None:
    """Cost against a requirement or two, each point proven, and the values where the plan changes."""
    inputs = question(scenario, catalogs, output)
    sweeps = [calls.sweep_of(text, inputs.scenario) for text in sweep]
    with watched(calls.frontier_steps(sweeps), quiet) as progress:
        answer = calls.frontier(
            inputs.scenario,
            inputs.catalogs,
            sweeps,
            time_limit_s=time_limit_s,
            work_limit=work_limit,
            progress=progress,
        )
    deliver(calls.frontier_answer(answer), answer, output_format, output)
    raise typer.Exit(calls.exit_of(answer))
