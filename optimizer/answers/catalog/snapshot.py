"""What catalogs hold, as one hash that does not depend on file layout, and as prices that can be compared later."""

import hashlib
import json
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from optimizer.base.errors import Finding, InputError, refuse
from optimizer.base.files import read_bytes, read_text
from optimizer.base.model import Strict
from optimizer.inputs.catalog.loading import SHIPPED_LABEL, TABLES, load_catalogs
from optimizer.inputs.catalog.shipped import shipped_dir

SCHEMA_VERSION: Final = 1
OVERLAY_LABEL: Final = "overlay"
SHIPPED_NAME: Final = "shipped"
"""What stands for the shipped catalogs where a folder or a snapshot may be named."""
HOW_TO_NAME: Final = (
    "give `shipped`, a folder of catalog files, or a file of `optimizer catalog snapshot --output FILE`"
)

PRICES: Final[dict[str, tuple[str, ...]]] = {
    "offers": ("price_usd_per_hour",),
    "serverless": (
        "usd_per_million_input_tokens",
        "usd_per_million_output_tokens",
        "usd_per_million_cached_input_tokens",
        "usd_per_request",
    ),
    "per_second": ("usd_per_second", "usd_per_vcpu_second", "usd_per_gib_second"),
    "ancillary": ("value",),
}
"""The tables that hold money, and their columns of it."""

Rows = Mapping[Hashable, Any]


class Price(Strict):
    """What one row asks for, and since when."""

    amounts: dict[str, Decimal]
    """By column; what the row leaves blank is left out."""
    as_of: date


class TableContent(Strict):
    """One table: how many rows, and a hash of what they say."""

    rows: int
    sha256: str


class Snapshot(Strict):
    """Catalogs as they were: enough to recognise them and to tell which prices moved since."""

    schema_version: int = SCHEMA_VERSION
    sha256: str
    """Of all tables together; the same rows give the same hash in any order, layout or folder."""
    tables: dict[str, TableContent]
    """Those that some file holds; a folder of one's own need not have all."""
    files: dict[str, str]
    """SHA-256 of each file's bytes."""
    prices: dict[str, dict[str, Price]]
    """By table and by the row's key."""


def snapshot(overlay: Path | None = None) -> Snapshot:
    """The state of the shipped catalogs with an overlay, as a plan would read them.

    Args:
        overlay: The user's own catalogs, laid over the shipped ones.

    Returns:
        One hash of all that is known, hashes by table and file, and every price.

    Raises:
        InputError: the catalogs cannot be loaded.
    """
    load_catalogs(overlay)
    folders = [(shipped_dir("catalogs"), SHIPPED_LABEL)]
    folders += [(overlay, OVERLAY_LABEL)] if overlay is not None else []
    return _of(folders)


def snapshot_named(name: str) -> Snapshot:
    """The snapshot of what a user names.

    Args:
        name: `shipped`; a folder, whose rows lie over the shipped ones as in a plan, unless it is whole catalogs
            of its own; or a file written before.

    Returns:
        Its hashes and prices.

    Raises:
        InputError: none of these, or its content cannot be read.
    """
    path, shipped = Path(name), (shipped_dir("catalogs"), SHIPPED_LABEL)
    if name == SHIPPED_NAME:
        return _of([shipped])
    if path.is_dir():
        return _of([(path, name)] if _whole(path) else [shipped, (path, name)])
    try:
        return Snapshot.model_validate_json(read_text(path, hint=HOW_TO_NAME))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(step) for step in first["loc"])
        hint = "it must come from `optimizer catalog snapshot --output FILE`"
        raise InputError([Finding(name, 0, field, f"not a snapshot: {first['msg']}", hint)]) from error


def _whole(folder: Path) -> bool:
    """Whether a folder holds catalogs of another version: most of the files that are shipped; an overlay holds few."""
    shipped = [file for table in TABLES.values() if not table.private for file in table.files]
    return 2 * sum((folder / file).is_file() for file in shipped) > len(shipped)


def _of(folders: Sequence[tuple[Path, str]]) -> Snapshot:
    """Later folders lie over earlier ones, row by row; a folder's label stands for it in messages and in `files`."""
    findings = list(_empty(*folders[-1]))
    rows: dict[str, dict[Hashable, Any]] = {}
    files: dict[str, str] = {}
    for folder, label in folders:
        for name, table in TABLES.items():
            present = [file for file in table.files if os.path.lexists(folder / file)]
            files |= {f"{label}/{file}": _sha256(read_bytes(folder / file)) for file in present}
            if present:
                placed = table.read(folder, label, findings)
                rows.setdefault(name, {}).update((key, item.row) for key, item in placed.items())
    refuse(findings)
    tables = {name: TableContent(rows=len(rows[name]), sha256=_content_hash(rows[name])) for name in sorted(rows)}
    return Snapshot(
        sha256=_sha256("".join(f"{name} {table.sha256}\n" for name, table in tables.items()).encode()),
        tables=tables,
        files=dict(sorted(files.items())),
        prices={name: _prices(rows[name], columns) for name, columns in sorted(PRICES.items()) if name in tables},
    )


def _empty(folder: Path, label: str) -> Iterator[Finding]:
    known = [file for table in TABLES.values() for file in table.files]
    if not any(os.path.lexists(folder / file) for file in known):
        yield Finding(label, 0, "", "no catalog file in this folder", f"known files: {', '.join(known)}")


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _content_hash(rows: Rows) -> str:
    """Of the rows' own statements: defaults left out, numbers in their shortest form, sorted."""
    statements = (row.model_dump(exclude_defaults=True) for row in rows.values())
    lines = sorted(json.dumps(statement, sort_keys=True, default=_plain) for statement in statements)
    return _sha256("\n".join(lines).encode())


def _plain(value: object) -> str:
    return f"{value.normalize():f}" if isinstance(value, Decimal) else str(value)


def _prices(rows: Rows, columns: tuple[str, ...]) -> dict[str, Price]:
    named = {
        "/".join(key) if isinstance(key, tuple) else str(key): Price(
            amounts={name: amount for name in columns if (amount := getattr(row, name)) is not None},
            as_of=row.as_of,
        )
        for key, row in rows.items()
    }
    return dict(sorted(named.items()))
