"""Engine releases: which generation a free-text version belongs to, and what it starts with on a GPU."""

import re

from optimizer.base.units import MIB_PER_GIB
from optimizer.inputs.catalog.entries.engines import Device, EngineSettings, settings_on
from optimizer.inputs.catalog.records import Catalogs, known
from optimizer.performance.physics.constants import Calibration

_NUMBER = re.compile(r"(?<![\d.])(\d{1,2})\.(\d{1,2})(?:\.(\d{1,2})(?!\d))?")
_YEAR = re.compile(r"(20\d\d)")
_PLATFORM = re.compile(r"(?:rocm|cuda|torch|python|py|cu|ubuntu)[\s\-_:]*\d+(?:\.\d+)*")
"""What an engine runs on, with a version of its own: `rocm/vllm:rocm6.4.1_vllm_0.9.1`."""
_CALENDAR = re.compile(r"(?<![\d.])(2\d)\.(?:0[1-9]|1[0-2])(?!\d)(?!\.\d)")
"""A container's release by year and month, 24.07, which is none of the engine's."""
_NICKNAMES = {"tensorrt-llm": ("tensorrt-llm", "trt-llm", "trtllm"), "vllm": ("vllm",), "sglang": ("sglang",)}
_FIRST = "era_first_version"
_YEARLY = "version_in_year"
_PARTS = 100


def version_number(engine: str, text: str) -> float | None:
    """The version as major + minor/100 + patch/10,000, or None when the text names none.

    A text that names several engines ("2024 (vLLM ~0.5; TRT-LLM ~0.10)") is read behind the engine's own name.
    """
    lowered = _CALENDAR.sub(" ", _PLATFORM.sub(" ", text.casefold()))
    for nickname in _NICKNAMES.get(engine, (engine,)):
        if nickname in lowered:
            behind = lowered.split(nickname)[1:]
            lowered = next((part for part in reversed(behind) if _NUMBER.search(part)), behind[0])
            break
    found = _NUMBER.search(lowered)
    return int(found[1]) + int(found[2]) / _PARTS + int(found[3] or 0) / _PARTS**2 if found else None


def era_of(calibration: Calibration, engine: str, version: str) -> str:
    """The era of an engine's version: the last one that starts at or before it; the newest when nothing is stated.

    Eras are rows `era_first_version` of the calibration catalog, group `engine:era`.
    """
    prefix = f"{engine}:"
    firsts = {group: first for group, first in calibration.members(_FIRST).items() if group.startswith(prefix)}
    if not firsts:
        return engine
    number = release_number(calibration, engine, version)
    ordered = sorted(firsts, key=lambda group: firsts[group])
    fitting = [group for group in ordered if number is None or firsts[group] <= number]
    return fitting[-1] if fitting else ordered[0]


def release_number(calibration: Calibration, engine: str, version: str) -> float | None:
    """As `version_number`; a bare year is translated by `version_in_year` rows, group `engine:year`."""
    number, year, month = version_number(engine, version), _YEAR.search(version), _CALENDAR.search(version)
    if number is None and (year or month):
        stated = year[1] if year else f"20{month[1]}" if month else ""
        return calibration.members(_YEARLY).get(f"{engine}:{stated}")
    return number


def engine_settings(
    catalogs: Catalogs, calibration: Calibration, engine: str, gpu: str, version: str = ""
) -> EngineSettings:
    """What an engine's release starts with on a GPU; the newest stable one where no version is stated.

    Raises:
        InputError: an engine or a GPU that no catalog knows.
    """
    found, device = known(catalogs.engines, engine, "engine"), catalogs.gpu(gpu)
    number = release_number(calibration, engine, version)
    # the releases before which other defaults hold, the first one first, as far as this release lies before them
    limits = {row.before_version: version_number(engine, row.before_version) for row in catalogs.engine_defaults}
    named = {text: first for text, first in limits.items() if first is not None}
    earlier = [text for text in sorted(named, key=named.__getitem__) if number is not None and number < named[text]]
    memory_gib = device.usable_memory_mib / MIB_PER_GIB
    return settings_on(found, Device(gpu, memory_gib), catalogs.engine_defaults, earlier)
