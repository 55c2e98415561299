"""What the catalogs hold as tables: the overview, the rows of one catalog, and whether all is sound."""

from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import groupby
from operator import attrgetter
from typing import Final

from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.base.model import Strict
from optimizer.inputs.catalog.checks import SEVERITIES, CatalogFinding
from optimizer.inputs.catalog.records import Catalogs
from optimizer.report.catalog.listings import LISTINGS
from optimizer.report.layout.amounts import plural
from optimizer.report.layout.columns import table_of
from optimizer.report.layout.elements import Section, Table

SHOWN_SUBJECTS: Final = 3
"""Of one check's remarks, unless all are asked for."""


def catalog_rows(catalogs: Catalogs, name: str, pattern: str = "") -> tuple[Strict, ...]:
    """The rows of one catalog.

    Args:
        catalogs: What is known.
        name: Of the catalog, one of `LISTINGS`.
        pattern: A wildcard that one of a row's names must match, in any case; a bare word matches anywhere in a name.

    Returns:
        The rows as they were read, in the order in which they are listed.

    Raises:
        InputError: no catalog has that name.
    """
    if name not in LISTINGS:
        hint = did_you_mean(name, LISTINGS) or f"known: {', '.join(LISTINGS)}"
        raise InputError([Finding("catalog list", 0, "", f"unknown catalog '{name}'", hint)])
    listing = LISTINGS[name]
    glob = pattern.casefold() if any(sign in pattern for sign in "*?[") else f"*{pattern.casefold()}*"
    return tuple(
        row
        for row in listing.rows(catalogs)
        if any(fnmatchcase(str(getattr(row, name)).casefold(), glob) for name in listing.names)
    )


def overview_section(catalogs: Catalogs) -> Section:
    """Every catalog with its number of rows."""
    rows = []
    for name, listing in LISTINGS.items():
        held = listing.rows(catalogs)
        dates = sorted(str(getattr(row, "as_of", "")) for row in held) or [""]
        rows.append((name, f"{len(held):,}", dates[0], dates[-1], listing.about))
    table = Table(("catalog", ">rows", "oldest", "newest", "a row is"), tuple(rows))
    return Section(f"Catalogs of {catalogs.as_of}", table=table)


def listing_section(name: str, rows: Sequence[Strict], limit: int) -> Section:
    """The rows as a table, the first `limit` of them; 0 means all."""
    shown = rows[:limit] if limit else rows
    rest = len(rows) - len(shown)
    more = f"; the first {len(shown)}, narrow them with --filter or see all with --limit 0" if rest else ""
    return Section(f"{name}: {len(rows):,}{more}", table=table_of(shown, LISTINGS[name].columns))


def check_sections(findings: Sequence[CatalogFinding], verbose: bool) -> tuple[Section, ...]:
    """The verdict, then each severity's remarks; of a check with many subjects only the first, unless verbose."""
    counts = Counter(finding.severity for finding in findings)
    verdict = "The catalogs are sound" if not counts["error"] else "A plan on these catalogs would be wrong"
    sections = [
        Section(f"{verdict}: {', '.join(f'{counts[name]} {plural(name, counts[name])}' for name in SEVERITIES)}")
    ]
    for severity in SEVERITIES:
        rows = tuple(_remarks([finding for finding in findings if finding.severity == severity], verbose))
        if rows:
            sections.append(Section(f"{severity.capitalize()}s", table=Table(("check", "about", "finding"), rows)))
    return tuple(sections)


def _remarks(findings: Sequence[CatalogFinding], verbose: bool) -> Iterator[tuple[str, ...]]:
    """One row a finding; behind the first of a check with many, one row that counts the others."""
    for check, group in groupby(findings, key=attrgetter("check")):
        remarks = list(group)
        shown = remarks if verbose or len(remarks) <= SHOWN_SUBJECTS else remarks[: SHOWN_SUBJECTS - 1]
        yield from ((check, remark.subject, remark.text) for remark in shown)
        if len(shown) < len(remarks):
            yield check, f"and {len(remarks) - len(shown)} more", "see all with --verbose"
