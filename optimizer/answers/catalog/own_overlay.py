"""Where own measurements are written: beside the constants that their predictions were made with, and no others."""

from collections.abc import Iterable
from pathlib import Path

from optimizer.answers.catalog.overlay import write_overlay
from optimizer.base.errors import Finding, InputError, refuse
from optimizer.inputs.catalog.loading import TABLES
from optimizer.inputs.catalog.records import CalibrationEntry
from optimizer.performance.physics.own import without_own

CALIBRATION = "calibration"


def write_own(folder: Path, entries: Iterable[CalibrationEntry], catalogs: Path | None) -> dict[Path, int]:
    """Writes the rows into a folder of catalog files; what earlier own measurements left there is dropped.

    Args:
        folder: Made where it is not there; its other files and constants stay.
        entries: As `own_update` gives them.
        catalogs: The folder that predictions were made with.

    Returns:
        The file, with the number of rows that it now holds.

    Raises:
        InputError: the folder has constants of its own and predictions were made with others, so that both together
            would predict something else; or it can't be written.
    """
    kept = _constants(folder)
    if kept != ([] if catalogs is None else _constants(catalogs)):
        file = f"{folder}/{TABLES[CALIBRATION].files[0]}"
        problem = "other constants than those that the measurements were held against"
        raise InputError([Finding(file, 0, "", problem, f"give --catalogs {folder} and --output {folder}")])
    return write_overlay(folder, {CALIBRATION: (*kept, *entries)}, afresh=True)


def _constants(folder: Path) -> list[CalibrationEntry]:
    """What a folder of catalog files has as constants of its own."""
    findings: list[Finding] = []
    rows = TABLES[CALIBRATION].read(folder, str(folder), findings)
    refuse(findings)
    return list(without_own([placed.row for _, placed in sorted(rows.items())]))
