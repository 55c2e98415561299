"""The cheapest LLM deployment that meets its SLAs, proven and explained.

from optimizer import load_catalogs, load_scenario, optimize
report = optimize(load_scenario("chat-8b"), load_catalogs())

Every command is one function here: typed, and nothing prints.
"""

from optimizer.answers.accuracy.calibrate import fit as calibrate
from optimizer.answers.accuracy.validate import validate
from optimizer.answers.compare.compare import compare
from optimizer.answers.frontier import frontier
from optimizer.answers.gate.gate import gate
from optimizer.answers.lifecycle.lifecycle import lifecycle
from optimizer.answers.optimize import optimize
from optimizer.answers.why_not import why_not
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.scenario.loading import load_scenario
from optimizer.performance.measured.batch import predict_batch as predict

__all__ = [
    "calibrate",
    "compare",
    "frontier",
    "gate",
    "lifecycle",
    "load_catalogs",
    "load_scenario",
    "optimize",
    "predict",
    "validate",
    "why_not",
]
