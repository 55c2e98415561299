"""`optimizer verify`: whether every promise and figure of a plan file holds."""

from pathlib import Path
from typing import Annotated

import typer

from optimizer.cli import calls
from optimizer.cli.options import CatalogsOption, Exit, Format, FormatOption, OutputOption, check_writable, deliver


def verify(
    plan: Annotated[Path, typer.Argument(help="A plan (JSON) as `optimizer plan --format json` writes it.")],
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate", help="The file that `optimizer plan --certificate` wrote beside it: checks it, too."
        ),
    ] = None,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
) -> None:
    """Whether every promise and figure of a plan file holds, computed again; exit code 1 if not."""
    check_writable(output)
    found = calls.verify_plan(plan, calls.load_catalogs(catalogs), certificate)
    deliver(calls.verification_answer(found), found, output_format, output)
    raise typer.Exit(Exit.ANSWERED if found.passed else Exit.BROKEN)
