"""A command loads what it uses: help, the version, a typo and a bad file wait for no solver and no table."""

import importlib
import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from support.command import Command
from typer.main import get_command

from optimizer.answers.accuracy import validate
from optimizer.answers.compare.compare import COMPARABLE
from optimizer.cli import calls, commands, names
from optimizer.cli.accuracy import measurements, predict
from optimizer.cli.app import app
from optimizer.inputs import scenario
from optimizer.inputs.catalog.shipped import PACKAGE
from optimizer.inputs.importing.api_prices import API_FORMATS
from optimizer.inputs.importing.price_lists import FORMATS
from optimizer.inputs.scenario import fields
from optimizer.plan.benchmark.commands import TOOLS
from optimizer.plan.variants.frontier import SWEEPABLE
from optimizer.report.catalog.listings import LISTINGS
from optimizer.report.compare.compare import MOST_SHOWN
from optimizer.report.schemas import SCHEMAS

HEAVY = {"numpy", "pandas", "ortools", "scipy", "matplotlib"}
MAX_OF_OURS, READING_CATALOGS = 51, 8
"""Modules of this package that a command may load before it answers that it can't; those more that tell which names of
a wrong scenario nobody knows either."""

RUN = "import sys; from optimizer.cli.app import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
BAD = "name: x\nworkloads: [{nam: 3}]\n"


def loaded(*arguments: str) -> set[str]:
    """The modules that a process has loaded when the command has answered."""
    ended = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=PACKAGE.parent,
    )
    return set(ended.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "arguments", [("--help",), ("--version",), ("plam",), ("plan", "--help"), ("plan", "nosuch"), ("gate", "bad.yaml")]
)
def test_an_answer_that_needs_no_plan_waits_for_none(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(BAD, encoding="utf-8")
    modules = loaded(*(str(tmp_path / word) if word == "bad.yaml" else word for word in arguments))
    ours = {name for name in modules if name.startswith("optimizer.")}
    assert modules & HEAVY == set()
    assert "optimizer.cli.app" in ours
    assert len(ours) <= MAX_OF_OURS + READING_CATALOGS * ("bad.yaml" in arguments)
    rooms = {name.split(".")[1] for name in ours}
    assert rooms <= {"base", "cli", "inputs"}
    assert rooms == {"base", "cli"} or arguments[0] in {"plan", "gate"}


def test_the_package_itself_loads_nothing() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", "import sys, optimizer; print(*sys.modules)"], check=True, capture_output=True, text=True
    )
    ours = {name for name in ended.stdout.split() if name.startswith("optimizer")}
    assert ours == {"optimizer", "optimizer.base", "optimizer.base.lazy"}


def test_a_command_ends_without_a_search_for_circles_in_all_that_it_loaded() -> None:
    """That search took 0.2 s after the last word, a tenth of an everyday command."""
    told = "import atexit, gc; from optimizer.cli.start import main; "
    told += "atexit.register(lambda: print(len(gc.get_objects()))); main()"
    ended = subprocess.run([sys.executable, "-c", told, "--help"], check=True, capture_output=True, text=True)
    assert int(ended.stdout.splitlines()[-1]) < 1_000


@pytest.mark.parametrize("path", commands.COMMANDS)
def test_help_says_of_a_command_what_the_command_says_of_itself(path: str) -> None:
    function = getattr(commands, path.replace(" ", "_").replace("-", "_"))
    assert (inspect.getdoc(function) or "").splitlines()[0] == commands.COMMANDS[path]


def test_every_module_of_a_command_is_in_the_list() -> None:
    listed = {getattr(commands, path.replace(" ", "_").replace("-", "_")).__module__ for path in commands.COMMANDS}
    shared = {"app", "calls", "commands", "names", "options", "progress", "question", "signals", "start", "terminal"}
    parts = {"outputs", "scenarios"}
    files = [path for path in (PACKAGE / "cli").rglob("*.py") if path.stem not in {"__init__", *shared, *parts}]
    assert listed == {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in files}


HAS_MCP, NEEDS_MCP = importlib.util.find_spec("mcp") is not None, "optimizer.serve.agents.protocol"
"""Whether the extra is installed that the check leaves out, and what cannot be imported without it."""


@pytest.mark.parametrize("door", [commands, calls, scenario, importlib.import_module("optimizer")])
def test_every_name_that_a_door_promises_is_there(door: object) -> None:
    source = inspect.getsource(door)  # type: ignore[arg-type]
    lines = [line for line in source.splitlines() if line.startswith("    from ")]
    promised = [line.split(" import ")[1] for line in lines if HAS_MCP or NEEDS_MCP not in line]
    found = [name.split(" as ")[-1].strip() for line in promised for name in line.strip("()").split(",") if name]
    assert found
    assert [name for name in found if not hasattr(door, name)] == []


def test_a_name_that_a_door_does_not_promise_is_told() -> None:
    with pytest.raises(AttributeError, match=r"module 'optimizer.cli.calls' has no attribute 'nothing'"):
        _ = calls.nothing  # type: ignore[attr-defined]


def test_the_names_in_help_are_those_that_are_known() -> None:
    assert tuple(COMPARABLE) == names.COMPARABLE
    assert tuple(SWEEPABLE) == names.SWEEPABLE
    assert tuple(validate.DIMENSIONS) == names.DIMENSIONS
    assert tuple(validate.DEFAULT_BY) == names.DEFAULT_BY
    assert tuple(SCHEMAS) == names.SCHEMAS
    assert tuple(LISTINGS) == names.LISTINGS
    assert (*FORMATS, *API_FORMATS) == names.FORMATS
    assert tuple(TOOLS) == names.LOAD_GENERATORS
    assert names.MOST_SHOWN == MOST_SHOWN
    assert {measurements.MAX_TOKENS, predict.MAX_TOKENS} == {fields.MAX_TOKENS}
    assert measurements.MAX_DEGREE == predict.MAX_DEGREE


def test_the_version_is_said(optimizer: Command) -> None:
    assert optimizer("--version").out == f"optimizer {importlib.import_module('optimizer.base.version').VERSION}\n"


def test_the_list_of_commands_is_the_group() -> None:
    top = get_command(app).commands  # type: ignore[attr-defined]
    grouped = [f"{group} {name}" for group in commands.GROUPS for name in top[group].commands]
    alone = [name for name in top if name not in commands.GROUPS]
    assert sorted([*alone, *grouped]) == sorted(commands.COMMANDS)


def test_a_question_waits_for_no_tables_unless_its_scenario_names_some() -> None:
    asked = (
        "import sys, optimizer; optimizer.load_scenario('chat-8b'); optimizer.optimize; print('pandas' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", asked], check=True, capture_output=True, text=True)
    assert ended.stdout == "False\n"
