"""The catalogs as `--format json` shows them: the overview, the rows of one, and all that is said about one name."""

from collections.abc import Iterable, Sequence
from typing import Any

from optimizer.base.model import Strict
from optimizer.inputs.catalog.records import Catalogs
from optimizer.report.catalog.entry import CatalogEntry
from optimizer.report.catalog.listings import LISTINGS


def overview_content(catalogs: Catalogs) -> dict[str, Any]:
    """Their day, and how many rows each holds."""
    counts = {name: len(listing.rows(catalogs)) for name, listing in LISTINGS.items()}
    return {"as_of": str(catalogs.as_of), "rows": counts}


def rows_content(name: str, rows: Iterable[Strict]) -> dict[str, Any]:
    """Rows of the catalog of that name."""
    return {name: _plain(rows)}


def entries_content(entries: Sequence[CatalogEntry]) -> dict[str, Any]:
    """What is said about a name, once for each kind of thing that has it."""
    return {
        "entries": [
            {"kind": each.kind, "name": each.name, **{part: _plain(rows) for part, rows in each.rows.items()}}
            for each in entries
        ]
    }


def _plain(rows: Iterable[Strict]) -> list[dict[str, Any]]:
    return [row.model_dump(mode="json") for row in rows]
