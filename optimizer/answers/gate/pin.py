"""Catalogs held to a snapshot that was taken before: the same content, or a report of how far they have drifted."""

import re
from pathlib import Path
from typing import Final

from optimizer.answers.catalog.diff import difference
from optimizer.answers.catalog.snapshot import Snapshot, snapshot, snapshot_named
from optimizer.base.errors import Finding, InputError

HASH: Final = re.compile(r"[0-9a-f]{64}")
PRICES_NAMED: Final = 5
"""Of those that moved most."""
MEND: Final = "use the catalogs of the snapshot, take a new one with optimizer catalog snapshot, or --allow-drift"


def pinned(pin: str, overlay: Path | None, allow_drift: bool) -> tuple[str, list[str]]:
    """The hash that was pinned, and how the catalogs differ from it where that is allowed.

    Args:
        pin: A content hash, or the file of a snapshot.
        overlay: The user's own catalogs, laid over the shipped ones.
        allow_drift: Whether a difference is only told.

    Raises:
        InputError: the catalogs are not those pinned and that is not allowed; says what moved.
    """
    now = snapshot(overlay)
    old = None if HASH.fullmatch(pin) else snapshot_named(pin)
    wanted = pin if old is None else old.sha256
    if now.sha256 == wanted:
        return wanted, []
    told = [f"the catalogs are {now.sha256}, pinned is {wanted}", *(_drift(old, now) if old is not None else [])]
    if allow_drift:
        return wanted, told
    raise InputError([Finding("--pin", 0, "", "; ".join(told), MEND)])


def _drift(old: Snapshot, now: Snapshot) -> list[str]:
    found = difference(old, now)
    tables = ", ".join(found.tables) or "none"
    moves = [
        f"{move.subject} {move.before} → {move.after}"
        + (f" ({move.percent:+.1f} %)" if move.percent is not None else "")
        for move in found.moves[:PRICES_NAMED]
    ]
    middle = f", {found.median_percent:+.1f} % in the median" if found.median_percent is not None else ""
    counts = f"{len(found.moves):,} prices moved{middle}, {len(found.gone):,} gone, {len(found.new):,} new"
    return [f"tables that differ: {tables}", counts, *(f"moved most: {move}" for move in moves)]
