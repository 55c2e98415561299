"""Interrupts at random moments: a command ends at once, in words, leaving old files or whole ones and no process."""

import os
import random
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from fuzz.running import (
    COMMANDS,
    MAX_WALL_S,
    POLL_S,
    Command,
    cpu_s_of,
    furnished,
    has_ended,
    hears,
    left_wrong,
    running_in,
    started,
)

WORDS: Final = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
ANSWERS: Final = frozenset({0, 1, 3, 4})
IDLE_S, HARDLY_S = 10.0, 0.5
"""So long with hardly any CPU time is waiting, on a machine that does other things; a server looks at its clock."""
AT_ONCE_S: Final = 1.0
"""CPU seconds from a signal to the end."""


def signalled(number: int) -> dict[str, Any]:
    """What became of the run of that number: a command, a signal, and the CPU second at which it arrives.

    An interrupt goes to every process of the command, as a terminal sends it, a request to end to the first alone.
    """
    luck = random.Random(f"signalled {number}")
    name = luck.choice(list(COMMANDS))
    command, sent = COMMANDS[name], luck.choice(list(WORDS))
    moment_s = luck.uniform(0, command.span_s)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        furnished(command, folder)
        expected = {str(path.relative_to(folder)) for path in folder.rglob("*")}
        process = started(command.arguments, folder)
        arrived = _sent_at(process, sent, moment_s)
        found = {"number": number, "command": name, "signal": sent.name, "moment_s": round(moment_s, 2)}
        return found | _ended(process, command, folder, expected, arrived, sent)


def _sent_at(process: "subprocess.Popen[str]", sent: signal.Signals, moment_s: float) -> float | None:
    """The CPU second at which a signal was sent, once the command hears it; None where it had ended.

    A command that waits for others, as a server does, is sent it where it waits.
    """
    last_s, since = 0.0, time.perf_counter()
    while not has_ended(process):
        used_s = cpu_s_of(process.pid)
        if used_s > last_s + HARDLY_S:
            last_s, since = used_s, time.perf_counter()
        waits = time.perf_counter() - since > IDLE_S
        if (used_s >= moment_s or waits) and hears(process.pid, sent):
            (os.killpg if sent is signal.SIGINT else os.kill)(process.pid, sent)
            return used_s
        time.sleep(POLL_S)
    return None


def _ended(
    process: "subprocess.Popen[str]",
    command: Command,
    folder: Path,
    expected: set[str],
    arrived: float | None,
    sent: signal.Signals,
) -> dict[str, Any]:
    """How it ended, what it left, and what is wrong with either."""
    start = time.perf_counter()
    while not has_ended(process) and time.perf_counter() - start < MAX_WALL_S:
        time.sleep(POLL_S)
    took_s = cpu_s_of(process.pid) - (arrived or 0.0)
    wall_s = time.perf_counter() - start
    wrong = "" if has_ended(process) else "did not end"
    while running_in(process.pid) and time.perf_counter() - start < wall_s + AT_ONCE_S * 10:
        time.sleep(POLL_S)
    if left := running_in(process.pid):
        wrong = wrong or f"left {left} processes running"
        os.killpg(process.pid, signal.SIGKILL)
    said = process.communicate()[1].strip()
    code = process.returncode
    is_signalled = arrived is not None and code == 128 + sent
    if not (is_signalled and said.splitlines()[-1:] == [WORDS[sent]]) and code not in ANSWERS:
        wrong = wrong or f"exit code {code}: {said[-600:]}"
    if "Traceback" in said or "defect" in said:
        wrong = wrong or said[-1200:]
    if is_signalled and took_s > AT_ONCE_S:
        wrong = wrong or f"took {took_s:.1f} CPU s to end"
    wrong = wrong or left_wrong(command, folder, expected)
    ended: dict[str, Any] = {"ended": "signalled" if is_signalled else "answered", "code": code}
    if arrived is not None:
        ended |= {"took_cpu_s": round(took_s, 2), "took_s": round(wall_s, 2)}
    return ended | ({"broken": wrong} if wrong else {})
