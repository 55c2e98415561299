"""`optimizer horizon`: when to commit, for how long, and what to wait for."""

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
    TimeLimitOption,
    WorkLimitOption,
    deliver,
    watched,
)
from optimizer.cli.question import question

GAP_PERCENT = 0.5
"""Unless another is asked for."""


def horizon(
    scenario: Annotated[str, typer.Argument(help="A scenario with a lifecycle section, or a shipped scenario's name.")],
    gap_percent: Annotated[
        float, typer.Option(min=0, max=100, help="Search until no purchases can cost less by more than this.")
    ] = GAP_PERCENT,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    time_limit_s: TimeLimitOption = TIME_LIMIT_S,
    work_limit: WorkLimitOption = None,
    quiet: QuietOption = False,
) -> None:
    """When to commit, for how long and what to wait for, over months whose course is not known."""
    inputs = question(scenario, catalogs, output)
    with inputs.file.naming_lines(), watched(calls.HORIZON_PHASES, quiet) as progress:
        found = calls.horizon(
            inputs.scenario,
            inputs.catalogs,
            wanted_gap=gap_percent / 100,
            time_limit_s=time_limit_s,
            work_limit=work_limit,
            progress=progress,
        )
    deliver(calls.horizon_answer(found), found, output_format, output)
    proven = found.relative_gap is not None and found.relative_gap <= found.wanted_gap
    raise typer.Exit(Exit.ANSWERED if proven else EXIT_BY_OUTCOME[found.outcome])
