"""How much memory a command may take, and whether it has: of the machine as of the group that the process runs in."""

import importlib
import math
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from optimizer.base.errors import Finding, InputError

BYTES_PER_GB: Final = 10**9
SHARE_OF_MACHINE: Final = 0.8
"""Of all there is; the rest is left to what is needed after the limit, and to others."""
MOMENT_S: Final = 0.01
"""For which a look holds: searches ask at every step, and a system call each was a thirtieth of a plan's time."""
RESIDENT: Final = Path("/proc/self/statm")
GROUP_LIMITS: Final = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where Linux says what a container may take, the newer place first."""


class Memory:
    """What this process may hold; nothing limits it where the system does not tell what it holds."""

    def __init__(self, limit_gb: float | None = None) -> None:
        """A limit of so many GB; None for a share of what the machine has.

        Raises:
            InputError: a finite limit is given where the system does not tell what a process holds.
        """
        if limit_gb not in {None, math.inf} and not resident_bytes():
            told = Finding("--max-memory-gb", 0, "", "this system does not tell how much memory a process holds")
            raise InputError([told])
        self.limit_bytes = _machine_bytes() * SHARE_OF_MACHINE if limit_gb is None else limit_gb * BYTES_PER_GB
        self._looked_at_s, self._used_up = -math.inf, False

    @property
    def used_up(self) -> bool:
        """Whether the process holds as much as it may, or did when that was looked at a moment ago."""
        now_s = time.monotonic()
        if now_s - self._looked_at_s >= MOMENT_S:
            self._looked_at_s, self._used_up = now_s, resident_bytes() >= self.limit_bytes
        return self._used_up


def resident_bytes() -> int:
    """What the process holds in memory now, or the most it has held where only that is told; 0 where neither is."""
    with suppress(OSError, ValueError, AttributeError):
        # asked many times a second: a look without the objects that Python makes of a file
        told = os.open(RESIDENT, os.O_RDONLY)
        try:
            return int(os.read(told, 256).split()[1]) * os.sysconf("SC_PAGE_SIZE")
        finally:
            os.close(told)
    with suppress(ImportError):
        resource = importlib.import_module("resource")  # Windows has none
        # KiB, on macOS bytes
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * (1 if sys.platform == "darwin" else 1024)
    return 0


def refuse_beyond(limit_gb: float) -> None:
    """From now on the system refuses the process more memory of its own, where it can (Linux)."""
    with suppress(ImportError, OSError, ValueError):
        resource = importlib.import_module("resource")  # Windows has none
        limit = int(limit_gb * BYTES_PER_GB)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _machine_bytes() -> float:
    """The least of what is installed and what its container may take; infinite where neither is told."""
    told = []
    with suppress(OSError, ValueError, AttributeError):
        told.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in GROUP_LIMITS:
        with suppress(OSError, ValueError):
            told.append(int(path.read_text()))
    return float(min(told, default=float("inf")))
