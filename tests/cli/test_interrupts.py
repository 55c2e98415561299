"""Ctrl-C and SIGTERM end a command at once, in words, wherever it is: in imports, in a solver, in writing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT

SIGNALLED_WHILE = {
    "importing": """
class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == "typer":
            os.kill(os.getpid(), number)
sys.meta_path.insert(0, Interrupting())
""",
    "loading in C++, which loses what is raised": """
class Losing:
    def find_spec(self, name, path, target=None):
        if name == "typer":
            try:
                os.kill(os.getpid(), number)
            except BaseException:
                time.sleep(600)
sys.meta_path.insert(0, Losing())
""",
    "solving": """
from ortools.math_opt.core.python import solver as mathopt
def endless(*_, **__):
    os.kill(os.getpid(), number)
    time.sleep(600)
mathopt.solve = endless
""",
    "writing": """
def fsync(_):
    os.kill(os.getpid(), number)
    time.sleep(600)
os.fsync = fsync
""",
    "failing": """
from optimizer.base import files
def read_text(*_, **__):
    try:
        os.kill(os.getpid(), number)
        time.sleep(600)
    except BaseException:
        raise ImportError("initialization failed")
import optimizer.inputs.scenario.loading
optimizer.inputs.scenario.loading.read_text = read_text
""",
}
COMMAND = {
    "importing": ["--help"],
    "loading in C++, which loses what is raised": ["--help"],
    "solving": ["plan", "s.yaml", "--quiet", "--output", "plan.txt"],
    "writing": ["schema", "plan", "--output", "plan.txt"],
    "failing": ["plan", "s.yaml"],
}
SCENARIO = """\
name: small
workloads:
  - {name: chat, model: llama-3.1-8b, requests_per_second: 1, input_tokens: 100, output_tokens: 50}
policy: {gpus: {allow: [l4]}, providers: {allow: [gcp]}, engines: [vllm], precisions: [bf16]}
"""


def started(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A Python program in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(("name", "code", "word"), [("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "terminated")])
@pytest.mark.parametrize("where", SIGNALLED_WHILE)
def test_a_signal_ends_a_command_in_words(where: str, name: str, code: int, word: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO)
    (tmp_path / "plan.txt").write_text("old")
    program = f"""
import os, signal, sys, time
number = signal.{name}
sys.argv = ["optimizer", *{COMMAND[where]!r}]
{SIGNALLED_WHILE[where]}
from optimizer.cli.start import main
main()
"""
    ended = started(program, tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "", f"{word}\n")
    assert sorted(os.listdir(tmp_path)) == ["plan.txt", "s.yaml"]
    assert (tmp_path / "plan.txt").read_text() == "old"


def test_a_signal_after_all_is_written_changes_nothing(tmp_path: Path) -> None:
    program = """
import atexit, os, signal, sys
sys.argv = ["optimizer", "schema", "plan", "--output", "plan.txt"]
for number in (signal.SIGINT, signal.SIGTERM):
    atexit.register(os.kill, os.getpid(), number)
from optimizer.cli.start import main
main()
"""
    ended = started(program, tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert (tmp_path / "plan.txt").read_text().startswith("{")


@pytest.mark.parametrize("left_behind", [True, False])
def test_a_solver_that_is_left_behind_does_not_change_the_exit_code(left_behind: bool, tmp_path: Path) -> None:
    """Python's own end, which handlers see, would meet its thread on the way back from C++, and abort."""
    program = f"""
import atexit, threading
import optimizer.cli.app as app
from optimizer.cli.start import main
def answered():
    if {left_behind}:
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    print("answer")
    raise SystemExit(4)
app.main = answered
atexit.register(print, "Python ends")
main()
"""
    ended = started(program, tmp_path)
    said = "answer\n" if left_behind else "answer\nPython ends\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (4, said, "")
