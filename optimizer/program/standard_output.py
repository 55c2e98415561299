"""Standard output without what a solver's own code prints: it belongs to the answer alone."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_LIBRARY: Final = ctypes.CDLL(None) if os.name == "posix" else None
"""The C library of this process."""


@contextmanager
def kept_clean() -> Iterator[None]:
    """Send what the solver's own code prints to nowhere.

    HiGHS has a stray `printf` in the repair of near-integer solutions that no option silences; standard output belongs
    to the answer alone. The C library's buffer is flushed before the descriptor is put back.
    """
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        if _LIBRARY is not None:
            _LIBRARY.fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
