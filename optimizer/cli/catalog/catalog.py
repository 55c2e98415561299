"""`optimizer catalog`: what the catalogs hold, how old it is, where it comes from and whether it is sound."""

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from optimizer.answers.catalog.soundness import check_catalogs
from optimizer.cli.options import CatalogsOption, Exit, Format, FormatOption, OutputOption, deliver
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.report.catalog.catalog import LISTINGS, catalog_rows, check_sections, listing_section, overview_section
from optimizer.report.catalog.entry import catalog_entries
from optimizer.report.layout.elements import WrittenAnswer

DEFAULT_LIMIT = 50

catalog = typer.Typer(help="Browse and check the catalogs.", no_args_is_help=True)


@catalog.command("list")
def list_rows(
    name: Annotated[str | None, typer.Argument(help=f"One of: {', '.join(LISTINGS)}.")] = None,
    pattern: Annotated[str, typer.Option("--filter", help="A word or wildcard, held against the rows' names.")] = "",
    limit: Annotated[int, typer.Option(min=0, help="Rows shown as text; 0 shows all.")] = DEFAULT_LIMIT,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
) -> None:
    """The catalogs, or the rows of one of them."""
    known = load_catalogs(catalogs)
    if name is None:
        counts = {each: len(listing.rows(known)) for each, listing in LISTINGS.items()}
        content = {"as_of": str(known.as_of), "rows": counts}
        deliver(WrittenAnswer((overview_section(known),)), content, output_format, output)
        return
    rows = catalog_rows(known, name, pattern)
    section = listing_section(name, rows, limit if output_format is Format.TEXT else 0)
    deliver(WrittenAnswer((section,)), {name: _dumped(rows)}, output_format, output)


@catalog.command("show")
def show(
    name: Annotated[str, typer.Argument(help="A GPU, model, engine, precision, provider or source.")],
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
) -> None:
    """Everything the catalogs say about one name, each figure with its source and date."""
    found = catalog_entries(load_catalogs(catalogs), name)
    sections = tuple(section for entry in found for section in entry.sections)
    content = [
        {"kind": entry.kind, "name": entry.name, **{part: _dumped(rows) for part, rows in entry.rows.items()}}
        for entry in found
    ]
    deliver(WrittenAnswer(sections), {"entries": content}, output_format, output)


@catalog.command("check")
def check(
    verbose: Annotated[bool, typer.Option("--verbose", help="Every remark, also where many are alike.")] = False,
    max_age_days: Annotated[int | None, typer.Option(min=0, help="Older prices are errors.")] = None,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
) -> None:
    """Whether the catalogs are sound, and how old they are; exit code 1 when a plan on them would be wrong."""
    known = load_catalogs(catalogs)
    findings = check_catalogs(known, max_age_days=max_age_days)
    sound = all(finding.severity != "error" for finding in findings)
    content = {"as_of": str(known.as_of), "sound": sound, "findings": [vars(finding) for finding in findings]}
    deliver(WrittenAnswer(check_sections(findings, verbose)), content, output_format, output)
    raise typer.Exit(Exit.ANSWERED if sound else Exit.BROKEN)


def _dumped(rows: Iterable[Any]) -> list[dict[str, Any]]:
    return [row.model_dump(mode="json") for row in rows]
