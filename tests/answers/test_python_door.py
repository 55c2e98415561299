"""Python is a door like the command line: every command is a typed function of the package, described and silent."""

import inspect
import tomllib
from collections.abc import Callable

import pytest
from support.paths import ROOT, TESTS

import optimizer
from optimizer import Choice, InputError, OptimizerError, optimize, why_not
from optimizer.cli.commands import COMMANDS
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.catalog.shipped import PACKAGE
from optimizer.inputs.scenario.scenario import Scenario

FUNCTION_OF_COMMAND = {
    "init": "scenario_text",
    "plan": "optimize",
    "report": "page",
    "export": "export_plan",
    "verify": "verify_plan",
    "catalog list": "catalog_rows",
    "catalog show": "catalog_entries",
    "catalog check": "check_catalogs",
    "catalog import": "import_prices",
    "measurements import": "import_measurements",
    "catalog add-model": "add_model",
    "catalog snapshot": "snapshot",
    "catalog diff": "catalog_diff",
    "catalog update": "update_catalogs",
}
"""Where the name is not the command's own."""

NAMED = {name: getattr(optimizer, name) for name in optimizer.__all__}
FUNCTIONS = {name: function for name, function in NAMED.items() if inspect.isfunction(function)}
LONG = ("optimize", "why_not", "frontier", "compare", "gate", "horizon", "lifecycle", "page", "risk")
USER_SCRIPT = TESTS / "answers" / "users_script.py"
"""Typed strictly with all else, by CI and by `mypy`."""


def commands() -> list[str]:
    return list(COMMANDS)


NO_ANSWERS = {"mcp", "serve"}
"""Commands that hand on answers for as long as they run."""


def test_every_command_is_a_function() -> None:
    asked = [name for name in commands() if name not in NO_ANSWERS]
    named = {name: FUNCTION_OF_COMMAND.get(name, name.replace("-", "_")) for name in asked}
    assert {name for name, function in named.items() if function not in FUNCTIONS} == set()


def test_the_names_are_sorted_and_there() -> None:
    assert optimizer.__all__ == sorted(optimizer.__all__)
    assert [name for name in optimizer.__all__ if not hasattr(optimizer, name)] == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_says_what_it_takes_and_gives(name: str) -> None:
    said = inspect.getdoc(FUNCTIONS[name]) or ""
    taken = inspect.signature(FUNCTIONS[name]).parameters
    assert [parameter for parameter in taken if f"\n    {parameter}: " not in said] == []
    assert "\nReturns:\n" in said


@pytest.mark.parametrize("name", LONG)
def test_progress_is_the_same_everywhere(name: str) -> None:
    progress = inspect.signature(FUNCTIONS[name]).parameters["progress"]
    assert (progress.annotation, progress.default) == (optimizer.Progress | None, None)
    assert progress.kind is inspect.Parameter.KEYWORD_ONLY


def test_progress_is_told_each_step_and_nothing_prints(
    market_of: Callable[..., Catalogs], chat: Scenario, capfd: pytest.CaptureFixture[str]
) -> None:
    few, steps = market_of("runpod"), list[str]()
    why_not(chat, few, Choice(gpu="l40s"), progress=steps.append)
    assert steps == ["predicting", "solving", "comparing"]
    optimize(chat, few)
    assert capfd.readouterr() == ("", "")


def test_every_error_is_one_to_catch() -> None:
    raised = [getattr(optimizer, name) for name in ("InputError", "SolverFailure", "VerificationFailed")]
    assert all(issubclass(error, OptimizerError) for error in raised)


def _refused(asking: Callable[[], object]) -> list[str]:
    with pytest.raises(InputError) as caught:
        asking()
    return [str(finding) for finding in caught.value.findings]


def test_numbers_out_of_their_range_are_refused_as_on_the_command_line(
    market_of: Callable[..., Catalogs], chat: Scenario
) -> None:
    few = market_of("runpod")
    plan = optimize(chat, few, work_limit=1)
    asked: dict[str, Callable[[], object]] = {
        "frontier: --sweep: ttft_ms from 400 to 800 in -2 is no range": lambda: optimizer.frontier(
            chat, few, [optimizer.Sweep("ttft_ms", 400, 800, -2)]
        ),
        "risk: draws: 0 is not a number from 10 to 5,000": lambda: optimizer.risk(chat, few, draws=0),
        "replan: months: -3 is not a number from 1 to 120": lambda: optimizer.replan([], few, [], months=-3),
        "horizon: wanted_gap: nan is not a number from 0 to 1": lambda: optimizer.horizon(
            chat, few, wanted_gap=float("nan")
        ),
        "watch: interval_s: -3 is not a number from 0.001 to 2,678,400": lambda: optimizer.watch(
            ["none.prom"], plan, chat, few, interval_s=-3
        ),
        "simulate: requests: -5 is not a number from 1 to 10,000,000": lambda: optimizer.simulate(
            plan, chat, few, requests=-5
        ),
        "benchmark: tool: no load generator is called 'vlm' (did you mean vllm": lambda: optimizer.benchmark(
            plan, chat, few, "vlm"
        ),
    }
    assert [said for said, asking in asked.items() if not _refused(asking)[0].startswith(said)] == []


@pytest.mark.parametrize(
    ("field", "workload"),
    [
        ("users", {"users": 3, "requests_per_user_hour": 1}),
        ("tokens_per_day", {"tokens_per_day": {"total": 1000}}),
        ("demand.profile", {"demand": {"profile": "week.csv"}}),
        ("trace", {"trace": "day.csv", "input_tokens": None, "output_tokens": None}),
    ],
)
def test_a_scenario_that_was_never_loaded_says_what_was_not_read(
    market_of: Callable[..., Catalogs], chat: Scenario, field: str, workload: dict[str, object]
) -> None:
    first = chat.workloads[0].model_dump(exclude_none=True) | {"requests_per_second": None} | workload
    built = Scenario.model_validate(chat.model_dump() | {"workloads": [first]})
    said = _refused(lambda: optimize(built, market_of("runpod")))
    assert [each.split(" (")[0].endswith("was not read yet") for each in said] == [True]
    assert said[0].startswith(f"scenario: workloads[{chat.workloads[0].name}].{field}: ")


def test_a_name_in_place_of_a_scenario_is_told_how_to_read_it(catalogs: Catalogs) -> None:
    for asked in (optimize, optimizer.risk, optimizer.page):
        with pytest.raises(TypeError, match="expected a Scenario, not 'chat-8b': load_scenario reads one"):
            asked("chat-8b", catalogs)  # type: ignore[arg-type]


def test_a_users_script_is_typed_through() -> None:
    assert (PACKAGE / "py.typed").is_file()
    script = USER_SCRIPT.read_text(encoding="utf-8")
    assert [name for name in optimizer.__all__ if f"o.{name}" not in script] == []
    checked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert checked["strict"]
    assert USER_SCRIPT.relative_to(ROOT).as_posix() in checked["files"]
