"""What a command says to whoever started it, whatever their terminal, pipe or disk makes of it."""

import io
import os
import re
import sys
from typing import Any, Final, NoReturn

from optimizer.base.errors import Finding, InputError
from optimizer.base.files import reason

MAX_FINDINGS: Final = 50
"""Problems that are shown of one run; the rest is a count."""

MOVING: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
"""Control, bidirectional and zero-width signs and halves of signs; a result's own lines and tabs are none."""
LINE_COMMAND: Final = re.compile(r"^([^\S\n]*)(?=::)", re.MULTILINE)
"""What GitHub's runners take for a command where a line begins, blanks before it or not."""
COMMAND: Final = re.compile(r"#(?=#(?:vso)?\[)", re.IGNORECASE)
"""What Azure's agent and GitHub's older syntax take for a command anywhere in a line."""


class ClosedStream(io.TextIOBase):
    """Stands for a standard stream that the caller closed: whoever writes to it is told."""

    def write(self, text: str) -> NoReturn:
        """Refuses.

        Raises:
            OSError: always.
        """
        del text
        raise OSError("it is closed")


def prepare_streams() -> None:
    """Makes standard streams that were closed known as such, and lets signs that can't be shown be replaced."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # else the next file that is opened becomes standard output
            os.open(os.devnull, os.O_RDWR)
    streams: Any = sys
    streams.stdout = sys.stdout or ClosedStream()
    streams.stderr = sys.stderr or ClosedStream()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def show(text: str) -> None:
    """Prints a result. A reader that left early, as `head` does, has had what it wanted.

    Raises:
        InputError: standard output is closed or full.
    """
    try:
        sys.stdout.write(harmless(text))
        sys.stdout.flush()
    except BrokenPipeError:
        return
    except OSError as error:
        hint = "write to a file with --output"
        raise InputError([Finding("standard output", 0, "", f"cannot be written: {reason(error)}", hint)]) from error


def say(text: str) -> None:
    """A remark on standard error; where nobody can hear it, nothing."""
    try:
        sys.stderr.write(f"{no_command(text)}\n")
        sys.stderr.flush()
    except OSError:
        return


def say_findings(error: InputError) -> None:
    """Every problem on a line of its own, the first of them where there are very many."""
    for finding in error.findings[:MAX_FINDINGS]:
        say(f"error: {printable(str(finding))}")
    more = len(error.findings) - MAX_FINDINGS
    if more > 0:
        say(f"error: {more:,} more {'problem' if more == 1 else 'problems'} like these are not shown")


def printable(text: str) -> str:
    """The text on one line, signs that would move a terminal's cursor written out: what it quotes is not ours."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text)


def harmless(text: str) -> str:
    """A result with the signs written out that move a cursor or turn what follows around; in JSON it stays the same.

    Names of files may hold them; and nothing that is quoted may be a command to a pipeline.
    """
    return no_command(MOVING.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def no_command(text: str) -> str:
    """The same without what runners act upon: its first sign is written out, so that no search finds the token."""
    return LINE_COMMAND.sub(r"\1\\", COMMAND.sub(r"\\u0023", text))
