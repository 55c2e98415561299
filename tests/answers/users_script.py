"""What a user may write: every name of the package, with the type that is promised. Never run; types are checked."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import optimizer as o


def told(step: str) -> None:
    """Where a caller shows it."""
    print(step)


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
