"""`optimizer portfolio`: many scenarios planned together where they share limits, machines or a budget."""

from pathlib import Path
from typing import Annotated

import typer

from optimizer.base.workers import cores
from optimizer.cli import calls
from optimizer.cli.options import (
    EXIT_BY_OUTCOME,
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

GAP_PERCENT = 1.0
"""Unless another is asked for."""
WORK_LIMIT = 200_000
"""For the plan of each scenario alone, as many as a gate gives it."""


def portfolio(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder of scenarios, and portfolio.yaml with what they share.")
    ],
    gap_percent: Annotated[
        float, typer.Option(min=0, max=100, help="Search until no plans together can cost less by more than this.")
    ] = GAP_PERCENT,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; as many as there are cores unless said.")] = None,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
    time_limit_s: TimeLimitOption = None,
    work_limit: WorkLimitOption = WORK_LIMIT,
    quiet: QuietOption = False,
) -> None:
    """Many scenarios planned together: who has which share of a commitment, who pays what, and the saving."""
    known = calls.load_catalogs(catalogs)
    asked = calls.load_portfolio(folder, known)
    check_writable(output)
    with watched(calls.PORTFOLIO_PHASES, quiet) as progress:
        found = calls.portfolio(
            asked,
            known,
            jobs=jobs or cores(),
            wanted_gap=gap_percent / 100,
            time_limit_s=time_limit_s,
            work_limit=work_limit,
            progress=progress,
        )
    deliver(calls.portfolio_answer(found), found, output_format, output)
    proven = found.relative_gap is not None and found.relative_gap <= found.wanted_gap
    raise typer.Exit(Exit.ANSWERED if proven else EXIT_BY_OUTCOME[found.outcome])
