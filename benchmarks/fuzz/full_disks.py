"""Disks that fill up at random moments: a command says so, and what stood where it writes stands there still."""

import os
import random
import resource
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from fuzz.running import COMMANDS, MAX_WALL_S, POLL_S, cpu_s_of, furnished, has_ended, left_wrong, members, started

ANSWERS: Final = frozenset({0, 1, 3, 4})
REFUSED: Final = 2
MOST_BYTES: Final = 20_000
"""Room that is left on the disk; most outputs are larger."""
WRITERS: Final = sorted(name for name, command in COMMANDS.items() if command.outputs or command.may_leave != "\0")


def filled(number: int, disk: Path | None) -> dict[str, Any]:
    """What became of the run of that number: a command, the room that it is left, and the CPU second from which on.

    Args:
        number: Of the run.
        disk: A small file system of nobody else, which is filled up; without it files may not grow over the room.
    """
    luck = random.Random(f"full disk {number}")
    name = luck.choice(WRITERS)
    command, room = COMMANDS[name], luck.choice((0, 1, luck.randrange(MOST_BYTES)))
    moment_s = luck.choice((0.0, luck.uniform(0, command.span_s)))
    with tempfile.TemporaryDirectory(dir=disk) as place:
        folder = Path(place)
        furnished(command, folder)
        expected = {str(path.relative_to(folder)) for path in folder.rglob("*")}
        process = started(command.arguments, folder)
        ballast = _filled_at(process, moment_s, room, disk)
        begun = time.perf_counter()
        while not has_ended(process) and time.perf_counter() - begun < MAX_WALL_S:
            time.sleep(POLL_S)
        wrong = "" if has_ended(process) else "did not end"
        if wrong:
            process.kill()
        said = process.communicate()[1].strip()
        ballast.unlink(missing_ok=True)
        refused = process.returncode == REFUSED and "cannot be written" in said
        if process.returncode not in ANSWERS and not refused:
            wrong = wrong or f"exit code {process.returncode}: {said[-600:]}"
        if "Traceback" in said or "defect" in said:
            wrong = wrong or said[-1200:]
        wrong = wrong or left_wrong(command, folder, expected)
    found = {"number": number, "command": name, "room": room, "moment_s": round(moment_s, 2)}
    found |= {"ended": "refused" if refused else "answered", "code": process.returncode}
    return found | ({"broken": wrong} if wrong else {})


def _filled_at(process: "subprocess.Popen[str]", moment_s: float, room: int, disk: Path | None) -> Path:
    """Fills the disk, or forbids files to grow over the room, once the command has used so much CPU time."""
    ballast = (disk or Path(tempfile.gettempdir())) / f"ballast-{os.getpid()}"
    while not has_ended(process) and cpu_s_of(process.pid) < moment_s:
        time.sleep(POLL_S)
    if disk is None:
        for each in members(process.pid):
            # a process that ends meanwhile writes nothing
            try:
                resource.prlimit(each, resource.RLIMIT_FSIZE, (room, room))
            except ProcessLookupError:
                continue
        return ballast
    left = os.statvfs(disk)
    with ballast.open("wb") as stream:
        os.posix_fallocate(stream.fileno(), 0, max(left.f_bavail * left.f_frsize - room, 1))
    return ballast
