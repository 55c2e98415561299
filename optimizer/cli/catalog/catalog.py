"""`optimizer catalog`: what the catalogs hold, how old it is, where it comes from and whether it is sound."""

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from optimizer.answers.catalog.soundness import soundness
from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.cli.options import CatalogsOption, Format, FormatOption, OutputOption, write
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.report.catalog.catalog import LISTINGS, check_sections, listing_section, matching, overview_section
from optimizer.report.catalog.entry import entries
from optimizer.report.layout.rendering import rendered

DEFAULT_LIMIT = 50
EXIT_UNSOUND = 1

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
        section = overview_section(known)
        counts = {each: len(listing.rows(known)) for each, listing in LISTINGS.items()}
        write(rendered([section], {"as_of": str(known.as_of), "rows": counts}, output_format.value), output)
        return
    if name not in LISTINGS:
        hint = did_you_mean(name, LISTINGS) or f"known: {', '.join(LISTINGS)}"
        raise InputError([Finding("catalog list", 0, "", f"unknown catalog '{name}'", hint)])
    rows = matching(LISTINGS[name], known, pattern)
    section = listing_section(name, rows, limit if output_format is Format.TEXT else 0)
    write(rendered([section], {name: _dumped(rows)}, output_format.value), output)


@catalog.command("show")
def show(
    name: Annotated[str, typer.Argument(help="A GPU, model, engine, precision, provider or source.")],
    output_format: FormatOption = Format.TEXT,
    output: OutputOption = None,
    catalogs: CatalogsOption = None,
) -> None:
    """Everything the catalogs say about one name, each figure with its source and date."""
    found = entries(load_catalogs(catalogs), name)
    sections = [section for entry in found for section in entry.sections]
    content = [
        {"kind": entry.kind, "name": entry.name, **{part: _dumped(rows) for part, rows in entry.rows.items()}}
        for entry in found
    ]
    write(rendered(sections, {"entries": content}, output_format.value), output)


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
    findings = soundness(known, max_age_days=max_age_days)
    sound = all(finding.severity != "error" for finding in findings)
    content = {"as_of": str(known.as_of), "sound": sound, "findings": [vars(finding) for finding in findings]}
    write(rendered(check_sections(findings, verbose), content, output_format.value), output)
    raise typer.Exit(0 if sound else EXIT_UNSOUND)


def _dumped(rows: Iterable[Any]) -> list[dict[str, Any]]:
    return [row.model_dump(mode="json") for row in rows]
