"""Python is a door like the command line: every command is a typed function of the package, described and silent."""

import importlib.util
import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

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
USER_SCRIPT = '''
from datetime import date
from decimal import Decimal
from pathlib import Path

import optimizer as o


def told(step: str) -> None:
    """Where a caller shows it."""


watch: o.Progress = told
catalogs: o.Catalogs = o.load_catalogs(Path("own"))
scenario: o.Scenario = o.load_scenario("chat-8b")
draft = o.ScenarioDraft(
    name="desk",
    model="llama-3.1-8b",
    users=500,
    requests_per_user_hour=6,
    input_tokens=800,
    output_tokens=200,
    ttft_ms=1000,
    tpot_ms=50,
)
drafted: str = o.scenario_text(draft, Path("desk.yaml"), catalogs)
file: o.ScenarioFile = o.load_scenario_file("chat-8b")
plan: o.PlanReport = o.optimize(scenario, catalogs, time_limit_s=5.0, progress=watch, thorough=True, kept=o.PriceFree())
cost: Decimal | None = plan.monthly_cost_usd
other: o.WhyNot = o.why_not(scenario, catalogs, o.Choice(gpu="l4"), progress=watch)
curve: o.Frontier = o.frontier(scenario, catalogs, [o.Sweep("ttft_ms", 300, 900, 3)], progress=watch)
asked: o.SweepRuns = o.load_sweep(Path("sweep.yaml"), catalogs)
swept: o.SweepReport = o.sweep(asked, jobs=2, output=Path("results"), progress=watch)
row: o.SweepRow = swept.rows[0]
folder: o.PortfolioFiles = o.load_portfolio("services", catalogs)
together: o.PortfolioReport = o.portfolio(folder, catalogs, jobs=2, progress=watch)
table: o.Comparison = o.compare(scenario, catalogs, "gpu", progress=watch)
pin: o.Pin = o.pinned("hash", allow_drift=True)
before: tuple[o.Baseline, ...] = o.read_baselines([Path("main.json")])
limits = o.GateLimits(max_monthly_usd=Decimal(5), warn_only=("unproven",))
verdict: o.GateReport = o.gate([file], catalogs, limits, before, pin=pin, progress=watch)
moves: o.ReplanReport = o.replan([file], catalogs, before, months=3, progress=watch)
months: o.LifecycleReport = o.lifecycle(scenario, catalogs, progress=watch)
ahead: o.HorizonReport = o.horizon(scenario, catalogs, progress=watch)
unknown: o.RiskReport = o.risk(scenario, catalogs, draws=20, seed=1, progress=watch)
drawn: o.Page = o.page(scenario, catalogs, progress=watch)
html: str = o.page_html(drawn)
text: str = o.as_json(plan) + o.schema("plan")
kept: o.Verification = o.verify_plan(Path("plan.json"), catalogs)
files: o.Export = o.export_plan(Path("plan.json"), ["vllm"], catalogs)
bill: str = o.focus_csv(o.export_plan(Path("plan.json"), ["focus"], catalogs))
tried: o.Simulation = o.simulate(plan, scenario, catalogs, o.arrivals_of("gamma:4", None), requests=1000)
bought: o.ExperimentReport = o.experiment(scenario, catalogs, budget_usd=20.0, progress=watch)
runs: o.BenchmarkPlan = o.benchmark(plan, scenario, catalogs, "vllm")
scripts: dict[str, str] = o.benchmark_files(runs)
checked: o.CheckReport = o.check([Path("result.json")], plan, scenario, catalogs)
today: o.WatchReport = o.watch(["before.prom", "after.prom"], plan, scenario, catalogs, interval_s=600)
measured = o.load_measurements(Path("measurements.csv"))
brought: o.ImportedMeasurements = o.import_measurements([Path("result.json")], catalogs, {"gpu": "l4", "tp": 1})
predicted = o.predict(measured, catalogs)["pred_status"]
setting = o.Setting(
    model="llama-3.1-8b",
    gpu="l4",
    tensor_parallel=1,
    precision="fp8",
    engine="vllm",
    input_tokens=8,
    output_tokens=8,
    load_type="concurrency",
    load_value=1,
)
one: o.Prediction = o.predict_setting(setting, catalogs)
errors: o.Validation = o.validate(measured, catalogs, by=["gpu"])
picks: o.Decisions = o.validate_decisions(measured, catalogs)
fitted: o.Fit = o.calibrate(measured, catalogs, start="shipped", as_of=date(2026, 11, 1))
own: o.OwnUpdate = o.own_update(measured, catalogs, file="M.csv", data="a week in November")
moved_files: dict[Path, int] = o.write_own(Path("own"), own.entries, None)
sound: tuple[o.CatalogFinding, ...] = o.check_catalogs(catalogs, max_age_days=90)
rows = o.catalog_rows(catalogs, "gpus", "h100*")
entries: tuple[o.CatalogEntry, ...] = o.catalog_entries(catalogs, "l4")
terms = o.PriceListTerms(source="contract", as_of=date(2026, 11, 1))
prices: o.ImportedPrices = o.import_prices(Path("prices.csv"), catalogs, terms)
model: o.AddedModel = o.add_model(Path("my-model"), catalogs, name="mine")
written: dict[Path, int] = o.write_overlay(Path("own"), {**prices.tables, **model.tables}, afresh=True)
state: o.Snapshot = o.snapshot(Path("own"))
moved: o.CatalogDiff = o.catalog_diff(o.snapshot_named("shipped"), state)
updated: o.CatalogUpdate = o.update_catalogs(Path("prices.csv"), Path("own"), terms)
try:
    o.load_scenario("nothing")
except o.InputError as error:
    found: tuple[o.Finding, ...] = error.findings
except (o.SolverFailure, o.VerificationFailed, o.OptimizerError):
    pass
'''


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


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_a_users_script_is_typed_through(tmp_path: Path) -> None:
    assert (PACKAGE / "py.typed").is_file()
    script = tmp_path / "script.py"
    script.write_text(USER_SCRIPT, encoding="utf-8")
    used = [name for name in optimizer.__all__ if f"o.{name}" not in USER_SCRIPT]
    assert used == []
    check = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", str(script)]
    ended = subprocess.run(check, check=False, capture_output=True, text=True, cwd=PACKAGE.parent)
    assert ended.returncode == 0, ended.stdout
