"""Commands that start from a process which has everything loaded: each in a copy of its own, under caps."""

import gc
import os
import pkgutil
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final, NoReturn

from optimizer.cli import calls

BYTES_PER_GB: Final = 1_000_000_000
ROOMS: Final = ("cli.plans", "answers", "plan", "program", "report")
"""What commands load as they need it, and is loaded before the first copy is made."""
POLL_S: Final = 0.02


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Attributes:
        code: Its exit code, or the negative number of the signal that ended it.
        said: What it wrote to standard error.
        peak_gb: The most memory that it held, with what it was copied with.
        in_time: False where it had to be killed.
    """

    code: int
    said: str
    cpu_s: float
    wall_s: float
    peak_gb: float
    in_time: bool


class Commands:
    """Runs commands in copies of this process.

    No solver may have run in it: copies have no threads but one, and a solver keeps some.
    """

    def __init__(self, *, max_gb: float, max_cpu_s: float, max_wall_s: float) -> None:
        """Loads what commands load.

        Args:
            max_gb: Of address space, of which a process uses a part.
            max_cpu_s: After which a command is killed.
            max_wall_s: After which a command is killed, for one that waits for ever uses no CPU.
        """
        self._max_gb, self._max_cpu_s, self._max_wall_s = max_gb, max_cpu_s, max_wall_s
        for room in ROOMS:
            package = import_module(f"optimizer.{room}")
            for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                import_module(module.name)
        self._catalogs = calls.load_catalogs(None)
        # what stays for good need not be looked through in every copy
        gc.freeze()

    def run(self, arguments: list[str], folder: Path) -> Ended:
        """What became of `optimizer` with these arguments; what it says is kept in that folder."""
        start, said = time.perf_counter(), folder / "said.txt"
        child = os.fork()
        if child == 0:
            self._become(arguments, said)
        in_time = True
        while not (ended := os.wait4(child, os.WNOHANG))[0]:
            if in_time and time.perf_counter() - start > self._max_wall_s:
                in_time = False
                os.kill(child, signal.SIGKILL)
            time.sleep(POLL_S)
        code, used = os.waitstatus_to_exitcode(ended[1]), ended[2]
        return Ended(
            code=code,
            said=said.read_text(encoding="utf-8", errors="replace"),
            cpu_s=used.ru_utime + used.ru_stime,
            wall_s=time.perf_counter() - start,
            # Linux tells KiB
            peak_gb=used.ru_maxrss * 1024 / BYTES_PER_GB,
            in_time=in_time and code not in (-signal.SIGXCPU, -signal.SIGKILL),
        )

    def _become(self, arguments: list[str], said: Path) -> NoReturn:
        """The copy becomes the command, up to its exit code."""
        try:
            resource.setrlimit(resource.RLIMIT_AS, (int(self._max_gb * BYTES_PER_GB),) * 2)
            resource.setrlimit(resource.RLIMIT_CPU, (int(self._max_cpu_s), int(self._max_cpu_s) + 5))
            os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.argv = ["optimizer", *arguments]
            # what is read anew would be the same again
            setattr(calls, "load_catalogs", lambda _: self._catalogs)  # noqa: B010
            app = import_module("optimizer.cli.app")
            setattr(app, "say", _telling(app.say))  # noqa: B010
            import_module("optimizer.cli.start").main()
        except SystemExit as ended:
            _end(ended.code if isinstance(ended.code, int) else int(ended.code is not None))
        except BaseException:  # noqa: BLE001
            sys.excepthook(*sys.exc_info())
            _end(TRACEBACK)
        _end(0)


def _telling(say: Callable[[str], None]) -> Callable[[str], None]:
    """Says, and of a defect where it was raised, which no user is shown."""

    def told(text: str) -> None:
        say(text)
        if "defect" in text:
            traceback.print_exc()

    return told


TRACEBACK: Final = 1
"""What Python ends with after a traceback."""


def _end(code: int) -> NoReturn:
    """Past whatever the process that was copied would do at its end."""
    sys.stderr.flush()
    os._exit(code)
