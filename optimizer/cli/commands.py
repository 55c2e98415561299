"""Every command of `optimizer`: what help says of it in a line, and its function, loaded when the command is named."""

from typing import TYPE_CHECKING, Final

from optimizer.base.lazy import on_first_use

if TYPE_CHECKING:
    from optimizer.cli.accuracy.calibrate import calibrate as calibrate
    from optimizer.cli.accuracy.measurements import measurements_import as measurements_import
    from optimizer.cli.accuracy.predict import predict as predict
    from optimizer.cli.accuracy.validate import validate as validate
    from optimizer.cli.ahead.horizon import horizon as horizon
    from optimizer.cli.ahead.lifecycle import lifecycle as lifecycle
    from optimizer.cli.ahead.risk import risk as risk
    from optimizer.cli.catalog.catalog import catalog_check as catalog_check
    from optimizer.cli.catalog.catalog import catalog_list as catalog_list
    from optimizer.cli.catalog.catalog import catalog_show as catalog_show
    from optimizer.cli.catalog.history import catalog_diff as catalog_diff
    from optimizer.cli.catalog.history import catalog_snapshot as catalog_snapshot
    from optimizer.cli.catalog.importing import catalog_import as catalog_import
    from optimizer.cli.catalog.importing import catalog_update as catalog_update
    from optimizer.cli.catalog.model import catalog_add_model as catalog_add_model
    from optimizer.cli.gate.gate import gate as gate
    from optimizer.cli.many.portfolio import portfolio as portfolio
    from optimizer.cli.many.replan import replan as replan
    from optimizer.cli.many.sweep import sweep as sweep
    from optimizer.cli.mcp import mcp as mcp
    from optimizer.cli.plans.compare import compare as compare
    from optimizer.cli.plans.frontier import frontier as frontier
    from optimizer.cli.plans.init import init as init
    from optimizer.cli.plans.plan import plan as plan
    from optimizer.cli.plans.report import report as report
    from optimizer.cli.plans.verify import verify as verify
    from optimizer.cli.plans.why_not import why_not as why_not
    from optimizer.cli.running.benchmark import benchmark as benchmark
    from optimizer.cli.running.check import check as check
    from optimizer.cli.running.experiment import experiment as experiment
    from optimizer.cli.running.export import export as export
    from optimizer.cli.running.simulate import simulate as simulate
    from optimizer.cli.running.watch import watch as watch
    from optimizer.cli.schema import schema as schema
    from optimizer.cli.serve import serve as serve
else:
    __getattr__ = on_first_use(__name__)

COMMANDS: Final = {
    "init": "A few questions, and a commented scenario; without a terminal each answer not given has its default.",
    "plan": "The cheapest plan that meets the scenario, with its proof and explanation.",
    "lifecycle": "Training and serving cost by month under growth, the crossover, power and carbon.",
    "horizon": "When to commit, for how long and what to wait for, over months whose course is not known.",
    "risk": "How often a plan holds and what it costs where demand, prices and predictions are not known.",
    "why-not": "What a choice would cost against the plan and why, or what it fails, and the price at which it wins.",
    "frontier": "Cost against a requirement or two, each point proven, and the values where the plan changes.",
    "sweep": "One scenario under many values at once: a plan each, on all cores, kept so that a stop loses nothing.",
    "portfolio": "Many scenarios planned together: who has which share of a commitment, who pays what, and the saving.",
    "gate": "Whether budgets hold and prices are sound, what changed, and why; exit code 1 when the gate is broken.",
    "replan": "What yesterday's plans would be today, worth the move or not; exit code 0 nothing to do, 1 something.",
    "compare": "The best plan under each choice at the same service levels, ranked by cost, and what stops the others.",
    "report": "The plan and its explanation as one self-contained page, charts included; tens of seconds.",
    "verify": "Whether every promise and figure of a plan file holds, computed again; exit code 1 if not.",
    "simulate": "A plan's percentiles when requests really arrive, one by one; exit code 1 when a promise breaks.",
    "export": "Files that deploy a plan, or its bill: a folder a deployment, and a README with the order of steps.",
    "experiment": "Which benchmark run to buy first: what its results are expected to save, less its price.",
    "benchmark": "The runs that can falsify a plan's promises, as scripts of a load generator, dearest doubts first.",
    "check": "Whether benchmarks keep a plan's promises: exit code 0 kept, 1 broken, 4 undecided, 2 another run.",
    "watch": "Whether what runs is what was planned: exit code 0 within, 1 drifted, 4 can't tell, 2 other metrics.",
    "predict": "What a configuration delivers: TTFT, TPOT and throughput with their 90 % intervals.",
    "calibrate": "Fit the model's constants to measurements; the errors before and after are printed.",
    "validate": "Prediction errors on measurements, by metric, GPU, engine and so on; worst groups named.",
    "measurements import": "Results of load generators as measurements of your own; unfit runs are refused and listed.",
    "serve": "The same answers over HTTP, and a page to ask in; until Ctrl-C.",
    "mcp": "The same answers as tools for agents (Model Context Protocol), over standard input and output.",
    "schema": "The JSON schema of a published shape.",
    "catalog list": "The catalogs, or the rows of one of them.",
    "catalog show": "Everything the catalogs say about one name, each figure with its source and date.",
    "catalog check": "Whether the catalogs are sound, and how old; exit code 1 when a plan on them would be wrong.",
    "catalog import": "Another price list as your own catalog files; what is not certain is left out and listed.",
    "catalog update": "Newer prices in one go: rows newer than what is known are taken, and what moved is shown.",
    "catalog add-model": "A model of your own from its config.json: what was read, and its row of the catalog.",
    "catalog diff": "Prices that moved with percent, offers gone and new, and tables that say something else.",
    "catalog snapshot": "The content hash of the catalogs as a plan reads them; --output keeps it for `catalog diff`.",
}
"""In the order in which help lists them; the function of `catalog add-model` is `catalog_add_model`."""

GROUPS: Final = {
    "catalog": "Browse and check the catalogs.",
    "measurements": "Measurements of your own, from the tools that took them.",
}
"""What help says of each group of commands."""
