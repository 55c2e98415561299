"""Constants that every engine needs rows of its own for: which of them the calibration lacks, and the rows to add."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from optimizer.inputs.catalog.records import Catalogs, Gpu
from optimizer.performance.physics.constants import HIERARCHY, OF_ENGINES, Axes, calibration_of, group_name
from optimizer.performance.physics.eras import era_of

EVERYTHING: Final[Axes] = ()
"""A row for everything would give every engine the same constant: no advice for one that nobody measured."""

Missing = Mapping[str, tuple[str, ...]]
"""Constants without a value, each with the groups of which one row would do, most specific first."""


def missing_constants(catalogs: Catalogs, engine: str, gpu: Gpu, version: str = "") -> Missing:
    """The constants that the calibration lacks of an engine on a GPU's vendor and architecture; empty for most."""
    calibration = calibration_of(catalogs)
    names = {
        "engine": engine,
        "era": era_of(calibration, engine, version),
        "vendor": gpu.vendor,
        "architecture": gpu.architecture,
    }
    found = {}
    for parameter in OF_ENGINES:
        hierarchy = HIERARCHY[parameter]
        groups = [group_name([names[axis] for axis in level]) for level in hierarchy]
        if not any((parameter, group) in calibration.position for group in groups):
            own = [group for group, level in zip(groups, hierarchy, strict=True) if level != EVERYTHING]
            found[parameter] = tuple(dict.fromkeys(own))
    return found


def needed_rows(missing: Missing) -> str:
    """The rows that would make predictions possible, in one clause."""
    parameters: defaultdict[Sequence[str], list[str]] = defaultdict(list)
    for parameter, groups in missing.items():
        parameters[groups].append(parameter)
    rows = (f"{', '.join(names)} in the group {' or '.join(groups)}" for groups, names in parameters.items())
    return f"calibration.csv needs a row each for {'; '.join(rows)}"


def uncalibrated(catalogs: Catalogs, engine: str, gpu: Gpu, version: str = "") -> str:
    """Why nothing can be predicted for an engine on a GPU, in one clause; empty where everything is known."""
    missing = missing_constants(catalogs, engine, gpu, version)
    return f"{engine} is not calibrated on {gpu.vendor}: {needed_rows(missing)}" if missing else ""
