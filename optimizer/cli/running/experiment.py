"""`optimizer experiment`: which benchmark run to buy first."""

import shlex
from decimal import Decimal
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
    amount,
    deliver,
    watched,
)
from optimizer.cli.question import question

BUDGET_USD = Decimal(50)
"""Unless another is asked for."""


def experiment(
    scenario: ScenarioArgument,
    budget_usd: Annotated[Decimal, typer.Option(parser=amount, help="The most that a run may cost.")] = BUDGET_USD,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    time_limit_s: TimeLimitOption = TIME_LIMIT_S,
    work_limit: WorkLimitOption = None,
    quiet: QuietOption = False,
) -> None:
    """Which benchmark run to buy first: what its results are expected to save, less its price."""
    inputs = question(scenario, catalogs, output)
    with watched(calls.EXPERIMENT_PHASES, quiet) as progress:
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
    code = EXIT_BY_OUTCOME[found.outcome]
    raise typer.Exit(Exit.UNPROVEN if code == Exit.ANSWERED and found.not_worked_out else code)
