"""The cheapest LLM deployment that meets its SLAs, proven and explained.

from optimizer import load_catalogs, load_scenario, optimize
report = optimize(load_scenario("chat-8b"), load_catalogs())

Every command is one function here, typed, and nothing prints. What takes long takes `progress`, which is told the name
of each step as it begins. What a name needs is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from optimizer.base.lazy import on_first_use

if TYPE_CHECKING:
    from optimizer.answers.accuracy.calibrate import Fit
    from optimizer.answers.accuracy.calibrate import fit as calibrate
    from optimizer.answers.accuracy.decisions import Decisions, validate_decisions
    from optimizer.answers.accuracy.imported import ImportedMeasurements, import_measurements
    from optimizer.answers.accuracy.own import OwnUpdate, own_update
    from optimizer.answers.accuracy.predicted import Prediction, Setting
    from optimizer.answers.accuracy.prediction import predict_setting
    from optimizer.answers.accuracy.validate import Validation, validate
    from optimizer.answers.ahead.horizon.horizon import horizon
    from optimizer.answers.ahead.lifecycle.lifecycle import lifecycle
    from optimizer.answers.ahead.lifecycle.types import LifecycleReport
    from optimizer.answers.ahead.risk.risk import risk
    from optimizer.answers.catalog.diff import CatalogDiff, catalog_diff
    from optimizer.answers.catalog.imported import ImportedPrices, PriceListTerms
    from optimizer.answers.catalog.importing import import_prices
    from optimizer.answers.catalog.models import AddedModel, add_model
    from optimizer.answers.catalog.overlay import write_overlay
    from optimizer.answers.catalog.own_overlay import write_own
    from optimizer.answers.catalog.snapshot import Snapshot, snapshot, snapshot_named
    from optimizer.answers.catalog.soundness import check_catalogs
    from optimizer.answers.catalog.update import CatalogUpdate, update_catalogs
    from optimizer.answers.compare.compare import compare
    from optimizer.answers.compare.types import Comparison
    from optimizer.answers.draft import ScenarioDraft, scenario_text
    from optimizer.answers.gate.baseline import Baseline
    from optimizer.answers.gate.gate import gate
    from optimizer.answers.gate.pin import Pin, pinned
    from optimizer.answers.gate.reading import read_baselines
    from optimizer.answers.gate.rules.demands import GateLimits
    from optimizer.answers.gate.types import GateReport
    from optimizer.answers.many.portfolio.portfolio import portfolio
    from optimizer.answers.many.portfolio.reading import load_portfolio
    from optimizer.answers.many.portfolio.types import PortfolioFiles, PortfolioReport
    from optimizer.answers.many.replan.replan import replan
    from optimizer.answers.many.replan.types import ReplanReport
    from optimizer.answers.many.sweep.reading import load_sweep
    from optimizer.answers.many.sweep.sweep import sweep
    from optimizer.answers.many.sweep.types import SweepReport, SweepRow, SweepRuns
    from optimizer.answers.planning.frontier import Frontier, frontier
    from optimizer.answers.planning.optimize import optimize
    from optimizer.answers.planning.page import Page, page
    from optimizer.answers.planning.why_not import WhyNot, why_not
    from optimizer.answers.running.arrivals import arrivals_of
    from optimizer.answers.running.benchmark import BenchmarkPlan, benchmark
    from optimizer.answers.running.check.check import check
    from optimizer.answers.running.check.types import CheckReport
    from optimizer.answers.running.experiment import ExperimentReport, experiment
    from optimizer.answers.running.export.export import export_plan
    from optimizer.answers.running.export.record import Export
    from optimizer.answers.running.simulate import simulate
    from optimizer.answers.running.watch.types import WatchReport
    from optimizer.answers.running.watch.watch import watch
    from optimizer.answers.verify import verify_plan
    from optimizer.base.errors import Finding, InputError, OptimizerError, SolverFailure, VerificationFailed
    from optimizer.base.progress import Progress
    from optimizer.inputs.catalog.checks import CatalogFinding
    from optimizer.inputs.catalog.loading import load_catalogs
    from optimizer.inputs.catalog.records import Catalogs
    from optimizer.inputs.measurements import load_measurements
    from optimizer.inputs.scenario.loading import ScenarioFile, load_scenario, load_scenario_file
    from optimizer.inputs.scenario.scenario import Scenario
    from optimizer.performance.measured.batch import predict_batch as predict
    from optimizer.plan.question.forcing import Choice
    from optimizer.plan.question.price_free import PriceFree
    from optimizer.plan.record.horizon import HorizonReport
    from optimizer.plan.record.report import PlanReport, Verification
    from optimizer.plan.record.risk import RiskReport
    from optimizer.plan.record.simulation import Simulation
    from optimizer.plan.variants.frontier import Sweep
    from optimizer.report.catalog.catalog import catalog_rows
    from optimizer.report.catalog.entry import CatalogEntry, catalog_entries
    from optimizer.report.export import as_json
    from optimizer.report.focus import focus_csv
    from optimizer.report.plan.page import page_html
    from optimizer.report.running.benchmark.files import benchmark_files
    from optimizer.report.schemas import schema
else:
    __getattr__ = on_first_use(__name__)

__all__ = [
    "AddedModel",
    "Baseline",
    "BenchmarkPlan",
    "CatalogDiff",
    "CatalogEntry",
    "CatalogFinding",
    "CatalogUpdate",
    "Catalogs",
    "CheckReport",
    "Choice",
    "Comparison",
    "Decisions",
    "ExperimentReport",
    "Export",
    "Finding",
    "Fit",
    "Frontier",
    "GateLimits",
    "GateReport",
    "HorizonReport",
    "ImportedMeasurements",
    "ImportedPrices",
    "InputError",
    "LifecycleReport",
    "OptimizerError",
    "OwnUpdate",
    "Page",
    "Pin",
    "PlanReport",
    "PortfolioFiles",
    "PortfolioReport",
    "Prediction",
    "PriceFree",
    "PriceListTerms",
    "Progress",
    "ReplanReport",
    "RiskReport",
    "Scenario",
    "ScenarioDraft",
    "ScenarioFile",
    "Setting",
    "Simulation",
    "Snapshot",
    "SolverFailure",
    "Sweep",
    "SweepReport",
    "SweepRow",
    "SweepRuns",
    "Validation",
    "Verification",
    "VerificationFailed",
    "WatchReport",
    "WhyNot",
    "add_model",
    "arrivals_of",
    "as_json",
    "benchmark",
    "benchmark_files",
    "calibrate",
    "catalog_diff",
    "catalog_entries",
    "catalog_rows",
    "check",
    "check_catalogs",
    "compare",
    "experiment",
    "export_plan",
    "focus_csv",
    "frontier",
    "gate",
    "horizon",
    "import_measurements",
    "import_prices",
    "lifecycle",
    "load_catalogs",
    "load_measurements",
    "load_portfolio",
    "load_scenario",
    "load_scenario_file",
    "load_sweep",
    "optimize",
    "own_update",
    "page",
    "page_html",
    "pinned",
    "portfolio",
    "predict",
    "predict_setting",
    "read_baselines",
    "replan",
    "risk",
    "scenario_text",
    "schema",
    "simulate",
    "snapshot",
    "snapshot_named",
    "sweep",
    "update_catalogs",
    "validate",
    "validate_decisions",
    "verify_plan",
    "watch",
    "why_not",
    "write_overlay",
    "write_own",
]


def __dir__() -> list[str]:
    """Every name of the package, loaded or not."""
    return __all__
