"""`optimizer experiment`: which benchmark run to buy first."""

import shlex
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
)
from optimizer.cli.question import question


def experiment(
    scenario: ScenarioArgument,
    budget_usd: Annotated[float, typer.Option(min=0.0, help="The most that a run may cost.")] = 50.0,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    time_limit_s: TimeLimitOption = TIME_LIMIT_S,
    work_limit: WorkLimitOption = None,
    quiet: QuietOption = False,
) -> None:
    """Which benchmark run to buy first: what its results are expected to save, less its price."""
    inputs = question(scenario, catalogs, output)
    with calls.watched(calls.EXPERIMENT_PHASES, quiet) as progress:
        found = calls.experiment(
            inputs.scenario,
            inputs.catalogs,
            budget_usd=budget_usd,
            time_limit_s=time_limit_s,
            work_limit=work_limit,
            progress=progress,
        )
    own = "" if catalogs is None else f" --catalogs {shlex.quote(str(catalogs))}"
    deliver(calls.experiment_answer(found, shlex.quote(scenario), own), found, output_format, output)
    raise typer.Exit(Exit.ANSWERED if found.monthly_cost_usd is not None else EXIT_BY_OUTCOME[found.outcome])
