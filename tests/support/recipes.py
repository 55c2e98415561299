"""A recipe of docs/recipes followed step by step: its files written, its edits made, its commands run.

A step is a fenced block. Its info string says what to do with it:

    csv file=mine/gpus.csv      write this file (any language; folders are made)
    diff file=optimizer/a.py    in this file replace the lines without '+' by those without '-', which stand there once
    sh [exit=2]                 run this; it must end with that exit code, 0 unless said otherwise
    text                        what the commands before it said: each line in this order, '…' for anything between

Blocks of other kinds are there to be read.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from optimizer.cli.app import main

BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANYTHING = "…"

DECIDES = ("plan", "why-not")
UNHURRIED = ("--time-limit-s", "1e9", "--work-limit", "28000")
"""What commands that decide are given besides, so that no machine is too slow or too busy for what a page promises."""

Runner = Callable[[str, Path], tuple[int, str]]
"""Exit code and words of the commands of a block, run in a folder."""


@dataclass(frozen=True)
class Step:
    """One fenced block: its language, what its info string says beside it, and its text."""

    language: str
    arguments: dict[str, str]
    text: str

    @property
    def file(self) -> str:
        """The file that the block holds or edits; empty for commands and what they say."""
        return self.arguments.get("file", "")


def steps(page: str) -> Iterator[Step]:
    """The blocks of a page in their order."""
    for language, info, text in BLOCK.findall(page):
        yield Step(language, dict(word.split("=", 1) for word in shlex.split(info)), text)


def follow(page: str, checkout: Path) -> list[str]:
    """Does what a page says in a checkout and holds what it promises; the kinds of its steps.

    A page that changes code has its commands run by themselves, on that code; others save the start of a process.
    """
    blocks = list(steps(page))
    run = in_processes if any(step.file.startswith("optimizer/") for step in blocks) else in_this_process
    said = ""
    for step in blocks:
        path = checkout / step.file
        if step.language == "diff":
            path.write_text(edited(path.read_text(encoding="utf-8"), step.text), encoding="utf-8")
        elif step.file:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text, encoding="utf-8")
        elif step.language == "sh":
            code, said = run(step.text, checkout)
            assert code == int(step.arguments.get("exit", 0)), f"{step.text}\n{said}"
        elif step.language == "text":
            missing = unsaid(step.text, said)
            assert missing is None, f"nowhere, in this order: {missing}\nbut:\n{said}"
    return [step.language for step in blocks]


def edited(text: str, diff: str) -> str:
    """A text with the hunks of a diff applied, each found by its lines and not by their numbers."""
    for hunk in re.split(r"^@@.*\n", diff, flags=re.MULTILINE):
        lines = hunk.splitlines(keepends=True)
        before = "".join(line[1:] or "\n" for line in lines if not line.startswith("+"))
        after = "".join(line[1:] or "\n" for line in lines if not line.startswith("-"))
        assert text.count(before) == 1, f"{text.count(before)} places read:\n{before}"
        text = text.replace(before, after)
    return text


def in_processes(commands: str, checkout: Path) -> tuple[int, str]:
    """Any shell commands; `optimizer` and `python` run the checkout's code."""
    tools = checkout / ".tools"
    tools.mkdir(exist_ok=True)
    python = shlex.quote(sys.executable)
    decided = f'case "$1" in {"|".join(DECIDES)}) set -- "$@" {shlex.join(UNHURRIED)};; esac'
    for name, script in (
        ("optimizer", f'{decided}\nexec {python} -m optimizer "$@"'),
        ("python", f'exec {python} "$@"'),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)
    # a run of tests in there shares no plans with this one
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    room = {**alone, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(checkout)}
    shell = ["sh", "-e", "-c", commands]
    ended = subprocess.run(shell, cwd=checkout, env=room, capture_output=True, text=True, timeout=300, check=False)
    return ended.returncode, ended.stdout + ended.stderr


def in_this_process(commands: str, checkout: Path) -> tuple[int, str]:
    """Calls of `optimizer`, a line each, until one fails."""
    said = io.StringIO()
    for line in commands.splitlines():
        words = shlex.split(line)
        with (
            contextlib.chdir(checkout),
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(said),
            mock.patch.object(sys, "argv", [*words, *(UNHURRIED if words[1] in DECIDES else ())]),
        ):
            try:
                main()
            except SystemExit as ended:
                if ended.code:
                    return int(ended.code), said.getvalue()
    return 0, said.getvalue()


def unsaid(expected: str, said: str) -> str | None:
    """The first line of what was expected that does not follow those before it; None where all do."""
    lines = iter([" ".join(line.split()) for line in said.splitlines()])
    for line in expected.splitlines():
        parts = [re.escape(" ".join(part.split())) for part in line.split(ANYTHING)]
        pattern = re.compile(".*".join(parts))
        if not any(pattern.search(found) for found in lines):
            return line
    return None
