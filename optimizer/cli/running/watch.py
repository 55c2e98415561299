"""`optimizer watch`: whether what runs is what was planned."""

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
    check_writable,
    deliver,
)
from optimizer.cli.question import about_plan

LONGEST_S = 31 * 24 * 3600.0
"""A month: no command sleeps longer between two reads."""
EXIT_BY_VERDICT = {"within": Exit.ANSWERED, "drifted": Exit.BROKEN, "undecided": Exit.UNPROVEN}


def watch(
    plan: Annotated[Path, typer.Argument(help="A plan (JSON) as `optimizer plan --format json` writes it.")],
    metrics: Annotated[
        list[str],
        typer.Option(
            help="What servers tell Prometheus: a file, a folder with a file for each replica, - or a URL; "
            "two files are two moments, the earlier first, several URLs several replicas.",
        ),
    ],
    interval_s: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            max=LONGEST_S,
            help="Seconds between two reads of URLs, or between two files without time stamps.",
        ),
    ] = None,
    deployment: Annotated[str | None, typer.Option(help="Whose metrics they are, where the plan has several.")] = None,
    tolerance_percent: Annotated[
        float, typer.Option(min=0.0, max=100.0, help="By how much load and cache may differ from the plan.")
    ] = 10.0,
    served_model_name: Annotated[
        str | None, typer.Option(help="What the servers call the model, where it is no published name of it.")
    ] = None,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
) -> None:
    """Whether what runs is what was planned: exit code 0 within, 1 drifted, 4 can't tell, 2 other metrics."""
    check_writable(output)
    known = calls.load_catalogs(catalogs)
    report, scenario = calls.sound_plan(plan, known)
    with about_plan(plan):
        found = calls.watch(
            metrics,
            report,
            scenario,
            known,
            deployment=deployment,
            interval_s=interval_s,
            tolerance=tolerance_percent / 100,
            served_as=served_model_name,
        )
    deliver(calls.watch_answer(found), found, output_format, output)
    raise typer.Exit(EXIT_BY_VERDICT[found.verdict])
