"""`optimizer catalog`: what the catalogs hold, how old it is, where it comes from and whether it is sound."""

from typing import Annotated

import typer

from optimizer.cli import calls, names
from optimizer.cli.options import CatalogsOption, Exit, Format, FormatOption, OutputOption, deliver

DEFAULT_LIMIT = 50


def catalog_list(
    name: Annotated[str | None, typer.Argument(help=f"One of: {', '.join(names.LISTINGS)}.")] = None,
    pattern: Annotated[str, typer.Option("--filter", help="A word or wildcard, held against the rows' names.")] = "",
    limit: Annotated[int, typer.Option(min=0, help="Rows shown as text; 0 shows all.")] = DEFAULT_LIMIT,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
) -> None:
    """The catalogs, or the rows of one of them."""
    known = calls.load_catalogs(catalogs)
    if name is None:
        content = calls.overview_content(known)
        deliver(calls.WrittenAnswer((calls.overview_section(known),)), content, output_format, output)
        return
    rows = calls.catalog_rows(known, name, pattern)
    section = calls.listing_section(name, rows, limit if output_format is Format.TEXT else 0)
    deliver(calls.WrittenAnswer((section,)), calls.rows_content(name, rows), output_format, output)


def catalog_show(
    name: Annotated[str, typer.Argument(help="A GPU, model, engine, precision, provider or source.")],
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
) -> None:
    """Everything the catalogs say about one name, each figure with its source and date."""
    found = calls.catalog_entries(calls.load_catalogs(catalogs), name)
    sections = tuple(section for entry in found for section in entry.sections)
    deliver(calls.WrittenAnswer(sections), calls.entries_content(found), output_format, output)


def catalog_check(
    verbose: Annotated[bool, typer.Option("--verbose", help="Every remark, also where many are alike.")] = False,
    max_age_days: Annotated[int | None, typer.Option(min=0, help="Older prices are errors.")] = None,
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
) -> None:
    """Whether the catalogs are sound, and how old; exit code 1 when a plan on them would be wrong."""
    known = calls.load_catalogs(catalogs)
    findings = calls.check_catalogs(known, max_age_days=max_age_days)
    sound = all(finding.severity != "error" for finding in findings)
    content = {"as_of": str(known.as_of), "sound": sound, "findings": [vars(finding) for finding in findings]}
    deliver(calls.WrittenAnswer(calls.check_sections(findings, verbose)), content, output_format, output)
    raise typer.Exit(Exit.ANSWERED if sound else Exit.BROKEN)
