"""`optimizer risk`: what a plan is worth where demand, prices, capacity and predictions are not known."""

from typing import Annotated

import typer

from optimizer.cli import calls
from optimizer.cli.options import (
    EXIT_BY_OUTCOME,
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
    watched,
)
from optimizer.cli.question import question

DRAWS, MOST_DRAWS = 200, 5000
"""Unless others are asked for, and at most."""


def risk(
    scenario: ScenarioArgument,
    draws: Annotated[int, typer.Option(min=10, max=MOST_DRAWS, help="States by which everything is judged.")] = DRAWS,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")] = 0,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    time_limit_s: TimeLimitOption = TIME_LIMIT_S,
    work_limit: WorkLimitOption = None,
    quiet: QuietOption = False,
) -> None:
    """How often a plan holds and what it costs where demand, prices and predictions are not known."""
    inputs = question(scenario, catalogs, output)
    with inputs.file.naming_lines(), watched(calls.RISK_PHASES, quiet) as progress:
        found = calls.risk(
            inputs.scenario,
            inputs.catalogs,
            draws=draws,
            seed=seed,
            time_limit_s=time_limit_s,
            work_limit=work_limit,
            progress=progress,
        )
    deliver(calls.risk_answer(found), found, output_format, output)
    found_all = found.complete or found.outcome == "infeasible"
    raise typer.Exit(EXIT_BY_OUTCOME[found.outcome] if found_all else Exit.UNPROVEN)
