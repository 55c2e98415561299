"""`optimizer export`: files that deploy a plan."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from optimizer.cli import calls
from optimizer.cli.names import TARGETS
from optimizer.cli.options import CatalogsOption, Format, FormatOption, deliver

COMMAND, README = "export", "README.md"


def export(
    plan: Annotated[Path, typer.Argument(help="A plan (JSON) as `optimizer plan --format json` writes it.")],
    further: Annotated[
        list[str] | None, typer.Argument(metavar="[TARGET]...", help="More targets, after --to.")
    ] = None,
    *,
    to: Annotated[list[str], typer.Option("--to", help=f"One target or several: {', '.join(TARGETS)}.")],
    output: Annotated[Path, typer.Option("--output", help="The folder to write; an earlier export in it is replaced.")],
    weights: Annotated[
        list[str] | None,
        typer.Option(
            "--weights",
            help="A checkpoint of your choice, MODEL:PRECISION=PUBLISHER/NAME, a draft MODEL:METHOD=...; repeatable.",
        ),
    ] = None,
    month: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m"], help="Of the bill of `--to focus`; the one after the catalogs' day unless given."
        ),
    ] = None,
    output_format: FormatOption = Format.TEXT,
    catalogs: CatalogsOption = None,
) -> None:
    """Files that deploy a plan, or its bill: a folder a deployment, and a README with the order of steps."""
    calls.check_folder(output, COMMAND)
    targets = [name for each in (*to, *(further or ())) for name in each.replace(",", " ").split()]
    named = calls.load_catalogs(catalogs), weights or (), month.date() if month else None
    found = calls.export_plan(plan, targets, *named)
    answer, content = calls.export_answer(found), calls.export_content(found, str(output))
    bill = {calls.FOCUS_FILE: calls.focus_csv(found)} if found.bill else {}
    calls.write_folder(output, {README: calls.rendered(answer, content, "markdown"), **found.files, **bill}, COMMAND)
    deliver(answer, content, output_format, None)
