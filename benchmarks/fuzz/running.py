"""Commands that are cut off on their way: what they are given, what they may leave, and what runs of them (Linux)."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

ROOT: Final = Path(__file__).resolve().parent.parent.parent
OLD: Final = "what stood here before\n"
MAX_WALL_S: Final = 120.0
"""In which a command ends on a machine that does other things."""
POLL_S: Final = 0.01
TICKS: Final = os.sysconf("SC_CLK_TCK")
SWEEP: Final = "{scenario: ci-gate, over: {policy.confidence: [0.5, 0.7, 0.8, 0.9]}}\n"
SERVICES: Final = ("ci-gate", "chat-8b")


@dataclass(frozen=True)
class Command:
    """One that is cut off.

    Attributes:
        arguments: As typed in a folder with `sweep.yaml` and the folder `services`.
        outputs: Files that it writes; each is there already.
        span_s: CPU seconds that it takes, about; it is cut off somewhere in these.
        may_leave: What it may leave beside its outputs, the beginning of a path.
    """

    arguments: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    span_s: float = 4.0
    may_leave: str = "\0"


COMMANDS: Final = {
    "plan": Command(("plan", "ci-gate", "--output", "plan.json"), ("plan.json",), 3.0),
    "plan of a week": Command(("plan", "office-hours", "--output", "plan.json"), ("plan.json",), 8.0),
    "plan to a terminal": Command(("plan", "chat-8b"), (), 5.0),
    "report": Command(("report", "ci-gate", "--output", "page.html"), ("page.html",)),
    "compare": Command(("compare", "chat-8b", "--by", "provider", "--output", "table.json"), ("table.json",), 8.0),
    "frontier": Command(
        ("frontier", "chat-8b", "--sweep", "ttft_ms=400:2000:4", "--output", "points.json"), ("points.json",), 4.5
    ),
    "gate": Command(
        ("gate", "ci-gate", "--output", "gate.json", "--junit", "gate.xml", "--sarif", "gate.sarif.json"),
        ("gate.json", "gate.xml", "gate.sarif.json"),
    ),
    "horizon": Command(("horizon", "lifecycle-70b", "--output", "months.json"), ("months.json",), 8.0),
    "risk": Command(("risk", "ci-gate", "--draws", "40", "--output", "risk.json"), ("risk.json",), 8.0),
    "simulate": Command(("simulate", "ci-gate", "--output", "simulated.json"), ("simulated.json",), 6.0),
    "sweep": Command(("sweep", "sweep.yaml", "--jobs", "2", "--output", "swept"), (), 14.0, "swept"),
    "portfolio": Command(("portfolio", "services", "--jobs", "2", "--output", "all.json"), ("all.json",), 9.0),
    "serve": Command(("serve", "--port", "0", "--workers", "1"), (), 6.0),
}


def furnished(command: Command, folder: Path) -> None:
    """The folder holds what the command reads, and what stood where it writes."""
    (folder / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
    (folder / "services").mkdir()
    for name in SERVICES:
        shutil.copy(ROOT / "scenarios" / f"{name}.yaml", folder / "services")
    for name in command.outputs:
        (folder / name).write_text(OLD, encoding="utf-8")


def started(arguments: tuple[str, ...], folder: Path) -> "subprocess.Popen[str]":
    """The command in a session of its own, so that whatever it starts is found."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # a shell has what it runs in the background ignore interrupts, and whatever that starts
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return subprocess.Popen(
        [sys.executable, "-m", "optimizer", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def left_wrong(command: Command, folder: Path, expected: set[str]) -> str:
    """What is wrong with the files that a command left; empty where each is the old one or a whole one."""
    found = {str(path.relative_to(folder)) for path in folder.rglob("*")}
    strange = {name for name in found - expected if not name.startswith(command.may_leave)}
    if strange or any(".optimizer-" in name for name in found):
        return f"left {sorted(found - expected)}"
    if missing := expected - found:
        return f"took away {sorted(missing)}"
    broken = [name for name in found if (folder / name).is_file() and not _is_whole(folder / name)]
    return f"left half of {broken}" if broken else ""


def _is_whole(path: Path) -> bool:
    """Whether a file is the old one, or one that was written to its end."""
    text = path.read_text(encoding="utf-8")
    if text == OLD or path.suffix in (".yaml", ".csv", ".md"):
        return True
    try:
        if path.suffix == ".jsonl":
            [json.loads(line) for line in text.splitlines()]
            return text.endswith("\n") or not text
        if path.suffix == ".xml":
            ElementTree.fromstring(text)
            return True
        return text.rstrip().endswith("</html>") if path.suffix == ".html" else bool(json.loads(text))
    except (ValueError, ElementTree.ParseError):
        return False


def has_ended(process: "subprocess.Popen[str]") -> bool:
    """Whether it has, without asking for its code: what it used is told only until then."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def cpu_s_of(session: int) -> float:
    """CPU seconds of all that runs in a session, or has ended and was not asked for, and of what they waited for."""
    return sum(sum(map(int, fields[11:15])) for fields in members(session).values()) / TICKS


def running_in(session: int) -> int:
    """How many processes of a session still run."""
    return sum(fields[0] != "Z" for fields in members(session).values())


def hears(process: int, number: int) -> bool:
    """Whether a process has a handler for a signal."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return False
    caught = next((line.split()[1] for line in status.splitlines() if line.startswith("SigCgt")), "0")
    return bool(int(caught, 16) >> (number - 1) & 1)


def members(session: int) -> dict[int, list[str]]:
    """The processes of a session with what Linux tells of each, from its state on."""
    found = {}
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                fields = (each / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            except OSError:
                # it has ended meanwhile
                continue
            if int(fields[3]) == session:
                found[int(each.name)] = fields
    return found
