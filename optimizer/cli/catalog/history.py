"""`optimizer catalog snapshot` and `catalog diff`: recognise a state of the catalogs, and what moved since."""

from pathlib import Path
from typing import Annotated

import typer

from optimizer.cli import calls
from optimizer.cli.options import CatalogsOption, Format, FormatOption, OutputOption, deliver, write

DEFAULT_LIMIT = 20


def catalog_snapshot(
    output: Annotated[
        Path | None, typer.Option("--output", help="Also write a manifest: hashes by table and file, all prices.")
    ] = None,
    output_format: FormatOption = Format.TEXT,
    catalogs: CatalogsOption = None,
) -> None:
    """The content hash of the catalogs as a plan reads them; --output keeps it for `catalog diff`."""
    taken = calls.snapshot(catalogs)
    if output is not None:
        write(calls.as_json(taken), output)
    content = {"sha256": taken.sha256, **taken.model_dump(mode="json", include={"tables", "files"})}
    deliver(calls.WrittenAnswer((calls.snapshot_section(taken),)), content, output_format, None)


def catalog_diff(
    old: Annotated[
        str,
        typer.Argument(help="`shipped`, a folder for --catalogs (compared as laid over), or a snapshot's manifest."),
    ],
    new: Annotated[str, typer.Argument(help="The same, at a later time.")],
    limit: Annotated[int, typer.Option(min=0, help="Rows shown of each kind; 0 shows all.")] = DEFAULT_LIMIT,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
) -> None:
    """Prices that moved with percent, offers gone and new, and tables that say something else."""
    found = calls.catalog_diff(calls.snapshot_named(old), calls.snapshot_named(new))
    shown = limit if output_format is Format.TEXT else 0
    deliver(calls.WrittenAnswer(calls.diff_sections(found, shown)), calls.diff_content(found), output_format, output)
