"""Which release of an engine a text names: none is refused, one newer than the newest known is told."""

import re
from collections.abc import Sequence
from typing import Final

from optimizer.inputs.catalog.entries.engines import Engine
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.physics.constants import calibration_of
from optimizer.performance.physics.eras import version_number

YEAR: Final = re.compile(r"20\d\d")


def unknown_release(engine: Engine, version: str, catalogs: Catalogs) -> str:
    """What to write in place of a text that names no release; empty where it names one.

    A number is one, however new, and so is a year whose releases are known. Where all releases of an engine are
    predicted alike any text will do.
    """
    eras = eras_of(engine, catalogs)
    if not version or version == engine.newest_version or len(eras) < 2:
        return ""
    year = YEAR.search(version)
    years = [each for each in _groups("version_in_year", engine, catalogs) if year is not None and each == year[0]]
    if version_number(engine.id, version) is not None or years:
        return ""
    *others, last = eras
    known = f"releases that are predicted apart begin with {', '.join(others)} and {last}"
    return f"say its number, or nothing for the newest known, {engine.newest_version}; {known}"


def newer_release(engine: Engine, version: str) -> str:
    """That a release is newer than any that is known, and as which one it is predicted; empty where it is not."""
    number, newest = (version_number(engine.id, each) for each in (version, engine.newest_version))
    if number is None or newest is None or number <= newest:
        return ""
    return f"{engine.id} {version} is newer than any that is known: predicted as {engine.newest_version}"


def eras_of(engine: Engine, catalogs: Catalogs) -> Sequence[str]:
    """The releases of an engine from which on predictions differ, the oldest first."""
    first = _groups("era_first_version", engine, catalogs)
    return sorted(first, key=first.__getitem__)


def _groups(parameter: str, engine: Engine, catalogs: Catalogs) -> dict[str, float]:
    """What the calibration knows of an engine under one name, by what stands behind the engine's."""
    named = calibration_of(catalogs).members(parameter)
    pairs = ((group.partition(":"), value) for group, value in named.items())
    return {name: value for (of, _, name), value in pairs if of == engine.id}
