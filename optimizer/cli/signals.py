"""What arrives from outside while a command runs: an interrupt or a request to end."""

import os
import signal
import sys
from types import FrameType
from typing import Final, NoReturn

WORDS: Final = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
"""What ends a command, and the word for it."""

received: Final[list[signal.Signals]] = []
"""What has arrived: libraries may swallow what a handler raises, or make an error of their own of it."""


SIGNALLED: Final = 128
"""What shells add the signal's number to."""
CURSOR_SHOWN: Final = "\x1b[?25h"
"""Tells a terminal so: a bar that was being drawn has hidden it."""
IMPORTING: Final = "<frozen importlib._bootstrap>"
"""As Python names where it loads modules."""


class Ended(BaseException):
    """A signal arrived; no library waits for this as some do for KeyboardInterrupt."""


def listen() -> None:
    """From now on a signal raises `Ended`, but one that the caller ignores, as shells do for work in the background."""
    for number in WORDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def ignore() -> None:
    """From now on no signal is heard: the command is ending already."""
    for number in WORDS:
        signal.signal(number, signal.SIG_IGN)


def leave() -> NoReturn:
    """Ends without waiting for anything: a solver may still be at work in its thread, and holds no file open."""
    ignore()
    first = received[0]
    try:
        sys.stderr.write(f"{CURSOR_SHOWN if sys.stderr.isatty() else ''}{WORDS[first]}\n")
        sys.stderr.flush()
    except OSError:
        # nobody is there to be told
        pass
    os._exit(SIGNALLED + first)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    received.append(signal.Signals(number))
    # what is raised into an import that C++ began is printed there and lost
    if _importing(frame):
        leave()
    raise Ended


def _importing(frame: FrameType | None) -> bool:
    """Whether a module is being loaded."""
    while frame is not None:
        if frame.f_code.co_filename == IMPORTING:
            return True
        frame = frame.f_back
    return False
