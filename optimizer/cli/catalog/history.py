"""`optimizer catalog snapshot` and `catalog diff`: recognise a state of the catalogs, and what moved since."""

from pathlib import Path
from typing import Annotated

import typer

from optimizer.answers.catalog.diff import catalog_diff
from optimizer.answers.catalog.snapshot import snapshot, snapshot_named
from optimizer.cli.options import CatalogsOption, Format, FormatOption, OutputOption, deliver, write
from optimizer.report.catalog.diff import diff_content, diff_sections, snapshot_section
from optimizer.report.export import as_json
from optimizer.report.layout.elements import WrittenAnswer

DEFAULT_LIMIT = 20


def snapshot_command(
    output: Annotated[
        Path | None, typer.Option("--output", help="Also write a manifest: hashes by table and file, all prices.")
    ] = None,
    output_format: FormatOption = Format.TEXT,
    catalogs: CatalogsOption = None,
) -> None:
    """The content hash of the catalogs as a plan reads them; --output keeps a manifest for `catalog diff`."""
    taken = snapshot(catalogs)
    if output is not None:
        write(as_json(taken), output)
    content = {"sha256": taken.sha256, **taken.model_dump(mode="json", include={"tables", "files"})}
    deliver(WrittenAnswer((snapshot_section(taken),)), content, output_format, None)


def diff_command(
    old: Annotated[str, typer.Argument(help="`shipped`, a folder of catalog files, or a snapshot's manifest.")],
    new: Annotated[str, typer.Argument(help="The same, at a later time.")],
    limit: Annotated[int, typer.Option(min=0, help="Rows shown of each kind; 0 shows all.")] = DEFAULT_LIMIT,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
) -> None:
    """Prices that moved with percent, offers gone and new, and tables that say something else."""
    found = catalog_diff(snapshot_named(old), snapshot_named(new))
    shown = limit if output_format is Format.TEXT else 0
    deliver(WrittenAnswer(diff_sections(found, shown)), diff_content(found), output_format, output)
