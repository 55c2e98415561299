"""Standard output without what a solver's own code prints: it belongs to the answer alone."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_clean() -> Iterator[None]:
    """Send what the solver's own code prints to nowhere.

    HiGHS has a stray `printf` in the repair of near-integer solutions that no option silences; standard output belongs
    to the answer alone. The C library's buffer is flushed before the descriptor is put back.
    """
    library = ctypes.CDLL(None) if os.name == "posix" else None
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        if library is not None:
            library.fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
