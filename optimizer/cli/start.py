"""Where `optimizer` starts: an interrupt ends it at once and in words, whatever is being imported or solved."""

import gc
import os
import sys
import threading
from importlib import import_module
from typing import Final, NoReturn

from optimizer.cli import signals

NO_OUTPUT: Final = 2
YOUNG_OBJECTS: Final = 600_000
"""Objects more than before at which Python looks for circles among them: at its own 700 it looks through libraries and
catalogs, which stay, again and again, for a tenth of a command's time. A plan makes some 300,000 that stay, and circles
of no size that could be seen; so it is made without a look."""

ONE_THREAD: Final = "OPENBLAS_NUM_THREADS"
"""How many threads NumPy's linear algebra starts, which it reads as it is loaded. With one, sums are added up in the
same order on machines of any size, and none is waited for: products here are small."""

STANDARD_ERROR: Final = 2
"""As the system counts what is open."""


def main() -> NoReturn:
    """Runs the command line until it ends or a signal ends it."""
    code: str | int | None = 0
    gc.set_threshold(YOUNG_OBJECTS)
    os.environ.setdefault(ONE_THREAD, "1")
    try:
        _let_complain()
        signals.listen()
        # imported by name and here, not above: most of the time of a short command goes by while it is loaded
        try:
            import_module("optimizer.cli.app").main()
        except SystemExit as ended:
            code = ended.code
        code = _flushed(code)
        # all is written: nothing is left that an interrupt could end
        signals.ignore()
    except BaseException:
        if not signals.received:
            raise
    if signals.received:
        signals.leave()
    _end(code)


def _let_complain() -> None:
    """Complaints go nowhere where standard error is closed, rather than into what is opened next in its place."""
    if sys.stderr is None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        if nowhere != STANDARD_ERROR:
            os.dup2(nowhere, STANDARD_ERROR)
            os.close(nowhere)
        sys.stderr = os.fdopen(STANDARD_ERROR, "w")


def _end(code: str | int | None) -> NoReturn:
    """Ends with a code; past Python's own end where a solver was left behind at work, which would abort the process.

    A thread that comes back from C++ to an interpreter that is gone is cut off there, and C++ calls that fatal.
    """
    if isinstance(code, str) or threading.active_count() == 1:
        # Python would look for circles among all that is left, for a tenth of a command's time
        gc.freeze()
        sys.exit(code)
    sys.stderr.flush()
    os._exit(code or 0)


def _flushed(code: str | int | None) -> str | int | None:
    """The code, after what is left to be written was written; another one where it could not be."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        # what is left goes nowhere, without a second complaint as Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return code if isinstance(error, BrokenPipeError) else code or NO_OUTPUT
    return code
