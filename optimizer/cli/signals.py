"""What arrives from outside while a command runs: an interrupt or a request to end."""

import signal
from types import FrameType
from typing import Final, NoReturn

WORDS: Final = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
"""What ends a command, and the word for it."""

received: Final[list[signal.Signals]] = []
"""What has arrived: libraries may swallow what a handler raises, or make an error of their own of it."""


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


def _end(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    received.append(signal.Signals(number))
    raise Ended
