"""`optimizer init` writes a scenario that plans, from answers given as options, at a terminal or not at all."""

import io
from pathlib import Path

import pytest
from support.command import Command

from optimizer.cli.plans.init import QUESTIONS
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.loading import load_scenario


class Terminal(io.StringIO):
    """Somebody who answers these lines."""

    def isatty(self) -> bool:
        """Yes."""
        return True


def test_without_a_terminal_defaults_make_a_scenario(
    optimizer: Command, tmp_path: Path, catalogs: Catalogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "new.yaml"
    monkeypatch.setattr("sys.stdin", io.StringIO())
    result = optimizer("init", str(file), "--users", "500", "--max-monthly-usd", "3000")
    assert (result.code, result.err) == (0, "")
    assert f"optimizer plan {file}" in result.out
    scenario = load_scenario(file)
    assert scenario.workloads[0].stated_as == ("500 users at 10 requests an hour = 1.39 requests/s in every hour",)
    assert scenario.policy.max_monthly_usd == 3000
    assert check_scenario(scenario, catalogs) == ()
    assert file.read_text(encoding="utf-8").count("#") > 10


def test_what_is_left_out_stays_a_comment_and_what_is_said_does_not(
    optimizer: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    optimizer("init", str(one))
    optimizer("init", str(other), "--users-in", "germany", "--min-quality", "0.99")
    bare, asked = load_scenario(one).workloads[0], load_scenario(other).workloads[0]
    assert (bare.users_in, bare.min_quality) == ((), None)
    assert (asked.users_in, asked.min_quality) == (("germany",), 0.99)


def test_at_a_terminal_every_question_is_asked_and_enter_takes_the_default(
    optimizer: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "asked.yaml"
    answers = ["desk", "", "250", *[""] * (len(QUESTIONS) - 3)]
    monkeypatch.setattr("sys.stdin", Terminal("\n".join(answers) + "\n"))
    result = optimizer("init", str(file))
    assert result.code == 0
    assert all(question in result.out for question, _ in QUESTIONS.values())
    scenario = load_scenario(file)
    assert (scenario.name, scenario.workloads[0].model) == ("desk", "llama-3.1-8b")
    assert scenario.workloads[0].requests_per_second == pytest.approx(250 * 10 / 3600)


def test_a_file_that_is_there_stays_unless_forced(
    optimizer: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("mine\n", encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    result = optimizer("init", str(file))
    assert result.code == 2
    assert "--force" in result.err
    assert file.read_text(encoding="utf-8") == "mine\n"
    assert optimizer("init", str(file), "--force").code == 0
    assert load_scenario(file).name == "my-service"


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--model", "llama-3.1-8", "did you mean llama-3.1-8b"),
        ("--users-in", "germny", "did you mean germany?"),
        ("--input-tokens", "0", "greater than or equal to 1"),
    ],
)
def test_an_answer_that_cannot_be_is_told_and_nothing_is_written(
    option: str, value: str, words: str, optimizer: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    result = optimizer("init", str(tmp_path / "new.yaml"), option, value)
    assert result.code == 2
    assert words in result.err
    assert not (tmp_path / "new.yaml").exists()


def test_every_wrong_answer_is_told_by_its_option(
    optimizer: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name with a colon was told as broken YAML of a file that did not exist, and nothing else with it."""
    monkeypatch.setattr("sys.stdin", io.StringIO())
    wrong = ("--name", "a b: c", "--users-in", "mars", "--min-quality", "3", "--max-monthly-usd", "-4")
    result = optimizer("init", str(tmp_path / "new.yaml"), *wrong)
    assert result.code == 2
    assert [line.split(": ")[2] for line in result.err.splitlines()] == sorted(wrong[::2])
    assert "new.yaml" not in result.err


@pytest.mark.parametrize(("option", "answer"), [("--users-in", "] x: ["), ("--model", "a: b"), ("--name", "x, #y")])
def test_an_answer_is_a_text_whatever_yaml_makes_of_it(
    option: str, answer: str, optimizer: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    result = optimizer("init", str(tmp_path / "new.yaml"), option, answer)
    assert result.err.startswith(f"error: init: {option}: ")
    assert f"'{answer}'" in result.err
    assert optimizer("init", str(tmp_path / "new.yaml"), "--name", "123", "--users-in", "germany, us-east").code == 0
    scenario = load_scenario(tmp_path / "new.yaml")
    assert (scenario.name, scenario.workloads[0].users_in) == ("123", ("germany", "us-east"))


@pytest.mark.parametrize(
    ("typed", "completed"),
    [("optimizer pl", "plan"), ("optimizer plan --time", "--time-limit-s"), ("optimizer catalog sh", "show")],
)
def test_a_shell_completes_commands_and_options(
    typed: str, completed: str, optimizer: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_OPTIMIZER_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
    assert optimizer().out.split() == [completed]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_told_how_to_complete(shell: str, optimizer: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_OPTIMIZER_COMPLETE", f"source_{shell}")
    assert "_OPTIMIZER_COMPLETE" in optimizer().out
