"""Catalogs held to a snapshot that was taken before: the same content, or a report of how far they have drifted."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from optimizer.answers.catalog.diff import catalog_diff
from optimizer.answers.catalog.snapshot import Snapshot, snapshot, snapshot_named
from optimizer.base.errors import Finding, InputError

HASH: Final = re.compile(r"[0-9a-f]{64}")
PRICES_NAMED: Final = 5
"""Of those that moved most."""
HINT: Final = "use the catalogs of the snapshot, take a new one with optimizer catalog snapshot, or --allow-drift"


@dataclass(frozen=True)
class Pin:
    """The content hash that catalogs were held to, and how they differ from it where that is allowed."""

    sha256: str
    drift: tuple[str, ...] = ()


def pinned(pin: str, overlay: Path | None = None, *, allow_drift: bool = False) -> Pin:
    """Holds the shipped catalogs under an overlay to a state of before.

    Args:
        pin: A content hash, or the file of a snapshot.
        overlay: The user's own catalogs, laid over the shipped ones.
        allow_drift: Whether a difference is only told.

    Returns:
        The hash, with how the catalogs differ from it.

    Raises:
        InputError: the catalogs are not those pinned and that is not allowed; says what moved.
    """
    today = snapshot(overlay)
    old = None if HASH.fullmatch(pin) else snapshot_named(pin)
    wanted = pin if old is None else old.sha256
    if today.sha256 == wanted:
        return Pin(wanted)
    drift = [f"the catalogs are {today.sha256}, pinned is {wanted}", *(_drift(old, today) if old is not None else [])]
    if not allow_drift:
        raise InputError([Finding("--pin", 0, "", "; ".join(drift), HINT)])
    return Pin(wanted, tuple(drift))


def _drift(old: Snapshot, today: Snapshot) -> Iterator[str]:
    found = catalog_diff(old, today)
    yield f"tables that differ: {', '.join(found.tables) or 'none'}"
    middle = f", {found.median_percent:+.1f} % in the median" if found.median_percent is not None else ""
    moved = f"{len(found.moves):,} {'price' if len(found.moves) == 1 else 'prices'} moved"
    yield f"{moved}{middle}, {len(found.gone):,} gone, {len(found.new):,} new"
    for move in found.moves[:PRICES_NAMED]:
        percent = f" ({move.percent:+.1f} %)" if move.percent is not None else ""
        yield f"moved most: {move.subject} {move.before} → {move.after}{percent}"
