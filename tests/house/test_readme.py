"""What the README shows works: its commands, its example, its Python."""

import re
import shlex
from collections.abc import Callable

import pytest
import typer
from support.command import Command
from support.paths import ROOT
from typer.main import get_command

from optimizer.cli.app import app
from optimizer.plan.record.report import PlanReport
from optimizer.report.plan.sections import plan_sections

PAGES = [ROOT / "README.md", ROOT / "docs" / "quick-start.md"]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.skipif(not PAGES[0].is_file(), reason="the README stands in the checkout")


def blocks(language: str) -> list[str]:
    return [
        text for page in PAGES for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language
    ]


def commands() -> list[list[str]]:
    """Arguments of every `optimizer` call in the shell blocks, comments, pipes and redirections cut off."""
    calls = []
    for line in "\n".join(blocks("sh")).replace("\\\n", " ").splitlines():
        for part in line.split("&&"):
            words = shlex.split(part.split("|")[0], comments=True)
            if words and words[0].endswith("bin/optimizer"):
                calls.append(words[1:])
    return calls


def test_the_two_commands_stand_first_one_line_each() -> None:
    main, tests = blocks("sh")[:2]
    assert main.count("\n") == tests.count("\n") == 1
    assert main.startswith("python3 -m venv .venv && .venv/bin/pip install -q . && ")
    assert tests.endswith("-m pytest -n auto --dist loadfile\n")


@pytest.mark.parametrize("arguments", commands(), ids=" ".join)
def test_every_command_shown_parses(arguments: list[str]) -> None:
    command: typer.core.TyperCommand = get_command(app)  # type: ignore[assignment]
    names = []
    while hasattr(command, "commands"):
        names.append(arguments[len(names)])
        assert names[-1] in command.commands, f"optimizer {' '.join(names)} does not exist"
        command = command.commands[names[-1]]
    command.make_context(names[-1], list(arguments[len(names) :]))


def test_the_main_command_runs(optimizer: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert "proven optimal" in optimizer(*commands()[0]).out.splitlines()[0]


def test_the_example_has_the_sections_of_a_plan(planned: Callable[[str], PlanReport]) -> None:
    (example,) = blocks("text")
    titles = [line for line in example.splitlines()[1:] if line and not line.startswith(" ")]
    assert titles == [section.title for section in plan_sections(planned("chat-8b"))]
    assert re.match(r"\$[\d,]+\.\d\d a month for chat-8b, proven optimal: ", example)


def test_the_python_shown_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example = blocks("python")[0]
    exec(compile(example, "README.md", "exec"), {})
    assert "a month for chat-8b" in capsys.readouterr().out


def test_every_command_there_is_stands_in_the_readme() -> None:
    text = PAGES[0].read_text(encoding="utf-8")
    assert [name for name in get_command(app).commands if f"`optimizer {name}" not in text] == []  # type: ignore[attr-defined]
