"""A recipe of docs/recipes followed step by step: its files written, its edits made, its commands run.

A step is a fenced block. Its info string says what to do with it:

    csv file=mine/gpus.csv      write this file (any language; folders are made)
    diff file=optimizer/a.py    in this file replace the lines without '+' by those without '-', which stand there once
    sh [exit=2]                 run this; it must end with that exit code, 0 unless said otherwise
    text                        what the commands before it said: each line in this order, '…' for anything between

Blocks of other kinds are there to be read.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ELLIPSIS = "…"


@dataclass(frozen=True)
class Step:
    """One fenced block: its language, what its info string says beside it, and its text."""

    language: str
    arguments: dict[str, str]
    text: str


def steps(page: str) -> Iterator[Step]:
    """The blocks of a page in their order."""
    for language, info, text in BLOCK.findall(page):
        yield Step(language, dict(word.split("=", 1) for word in shlex.split(info)), text)


def follow(page: str, folder: Path) -> int:
    """Does what a page says in a folder and holds what it promises; the number of steps done."""
    done = 0
    said = ""
    for step in steps(page):
        done += 1
        if step.language == "diff":
            path = folder / step.arguments["file"]
            path.write_text(edited(path.read_text(encoding="utf-8"), step.text), encoding="utf-8")
        elif "file" in step.arguments:
            path = folder / step.arguments["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text, encoding="utf-8")
        elif step.language == "sh":
            code, said = ran(step.text, folder)
            assert code == int(step.arguments.get("exit", 0)), f"{step.text}\n{said}"
        elif step.language == "text":
            missing = unsaid(step.text, said)
            assert missing is None, f"nowhere, in this order: {missing}\nbut:\n{said}"
        else:
            done -= 1
    return done


def edited(text: str, diff: str) -> str:
    """A text with the hunks of a diff applied, each found by its lines and not by their numbers."""
    for hunk in re.split(r"^@@.*\n", diff, flags=re.MULTILINE):
        lines = hunk.splitlines(keepends=True)
        if not lines:
            continue
        before = "".join(line[1:] or "\n" for line in lines if not line.startswith("+"))
        after = "".join(line[1:] or "\n" for line in lines if not line.startswith("-"))
        assert text.count(before) == 1, f"{text.count(before)} places read:\n{before}"
        text = text.replace(before, after)
    return text


def ran(commands: str, folder: Path) -> tuple[int, str]:
    """Exit code and words of shell commands; `optimizer` and `python` are those of this test, on the folder's code."""
    tools = folder / ".tools"
    tools.mkdir(exist_ok=True)
    for name, arguments in (("optimizer", " -m optimizer"), ("python", "")):
        (tools / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)}{arguments} "$@"\n')
        (tools / name).chmod(0o755)
    room = {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "COLUMNS": "120",
    }
    ended = subprocess.run(
        ["sh", "-e", "-c", commands], cwd=folder, env=room, capture_output=True, text=True, timeout=120, check=False
    )
    return ended.returncode, ended.stdout + ended.stderr


def unsaid(expected: str, said: str) -> str | None:
    """The first line of what was expected that does not follow those before it; None where all do."""
    lines = iter(" ".join(line.split()) for line in said.splitlines())
    for line in expected.splitlines():
        parts = [re.escape(" ".join(part.split())) for part in line.split(ELLIPSIS)]
        pattern = re.compile(".*".join(parts))
        if not any(pattern.search(found) for found in lines):
            return line
    return None
