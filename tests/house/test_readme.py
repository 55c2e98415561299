"""What the README shows works: its commands, its example, its Python."""

import inspect
import json
import re
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import typer
from support.command import Command
from support.expositions import Served
from support.golden import Golden
from support.paths import ROOT
from typer.main import get_command

import optimizer
from optimizer.answers.planning import page as answers_page
from optimizer.answers.planning.optimize import optimized
from optimizer.cli.app import app
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.measurements import shipped_measurements
from optimizer.plan.record.report import PlanReport
from optimizer.report.layout.text import answer_text
from optimizer.report.plan.sections import plan_answer
from optimizer.report.schemas import SCHEMAS

PAGES = [ROOT / "README.md", ROOT / "docs" / "quick-start.md"]
PRICES = """region,instance_type,gpu,gpu_count,price_usd_per_hour,pricing_term
us-east-1,g6.xlarge,L4,1,0.40,on_demand
"""
CONFIG = {
    "model_type": "llama",
    "num_hidden_layers": 16,
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 8192,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}
RESULTS = ROOT / "tests" / "data" / "load_results"
IMPORT = re.compile(r"^from (\S+) import", re.MULTILINE)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.skipif(not PAGES[0].is_file(), reason="the README stands in the checkout")


def test_every_schema_is_named() -> None:
    (line,) = (each for each in PAGES[0].read_text(encoding="utf-8").splitlines() if "`optimizer schema NAME`" in each)
    assert set(re.findall(r"`([\w-]+)`", line.partition("schema of")[2])) == set(SCHEMAS)


def blocks(language: str, pages: Iterable[Path] = PAGES) -> list[str]:
    return [
        text for page in pages for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language
    ]


PYTHON_PAGES = [page for page in (*PAGES[:1], *sorted((ROOT / "docs").glob("*.md"))) if blocks("python", [page])]


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
    assert tests.endswith("-m pytest -n auto --dist worksteal\n")


@pytest.mark.parametrize("arguments", commands(), ids=" ".join)
def test_every_command_shown_parses(arguments: list[str]) -> None:
    command: Any = get_command(app)
    name, rest, context = "optimizer", list(arguments), None
    while hasattr(command, "commands"):
        context = typer.Context(command, parent=context, info_name=name)
        name, command, rest = command.resolve_command(context, rest)
    command.make_context(name, rest)


def test_the_main_command_runs(optimizer: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert "proven" in optimizer(*commands()[0]).out.splitlines()[0]


def test_the_example_is_what_the_plan_says_today(planned: Callable[[str], PlanReport], golden: Golden) -> None:
    page = PAGES[0].read_text(encoding="utf-8")
    (example,) = blocks("text", PAGES[:1])
    golden(PAGES[0], page.replace(example, answer_text(plan_answer(planned("chat-8b"), verbose=False))))


@pytest.fixture
def workplace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs, planned: Callable[[str], PlanReport]
) -> None:
    """A folder with the files that readers of the examples have; what is shipped is read and planned once per run."""
    shipped_measurements().head(12).to_csv(tmp_path / "measurements.csv", index=False)
    (tmp_path / "prices.csv").write_text(PRICES, encoding="utf-8")
    (tmp_path / "result.json").write_bytes((RESULTS / "vllm_0.33.0_bench_serve.json").read_bytes())
    (tmp_path / "metrics.prom").write_text(Served().text(), encoding="utf-8")
    (tmp_path / "my-model").mkdir()
    (tmp_path / "my-model" / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    read = optimizer.load_catalogs
    monkeypatch.setattr(optimizer, "load_catalogs", lambda overlay=None: read(overlay) if overlay else catalogs)
    monkeypatch.setattr(optimizer, "optimize", lambda scenario, _: planned(scenario.name))
    # what a page shows of limits is tested in tests/report; here it is called as shown
    monkeypatch.setattr(answers_page, "optimized", lambda *asked, **_: optimized(*asked))
    monkeypatch.setattr(answers_page, "FRONTIER_POINTS", 3)


@pytest.mark.slow("runs every command as a function, as the page shows it")
@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize("page", PYTHON_PAGES, ids=lambda page: page.name)
def test_the_python_shown_runs(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for example in blocks("python", [page]):
        exec(compile(example, page.name, "exec"), names)
    assert capsys.readouterr().out
    assert [name for name in IMPORT.findall("".join(blocks("python", [page]))) if name.startswith("optimizer.")] == []


def test_every_function_is_shown() -> None:
    shown = "".join(blocks("python", [ROOT / "docs" / "python.md"]))
    functions = [name for name in optimizer.__all__ if inspect.isfunction(getattr(optimizer, name))]
    assert [name for name in functions if f"{name}(" not in shown] == []


def test_every_command_there_is_stands_in_the_readme() -> None:
    text = PAGES[0].read_text(encoding="utf-8")
    assert [name for name in get_command(app).commands if f"`optimizer {name}" not in text] == []  # type: ignore[attr-defined]
