"""The cheapest LLM deployment that meets its SLAs, proven and explained.

from optimizer import load_catalogs, load_scenario, optimize
report = optimize(load_scenario("chat-8b"), load_catalogs())

Every command is one function here: typed, and nothing prints.
"""

from optimizer.answers.calibrate import fit as calibrate
from optimizer.answers.compare import compare
from optimizer.answers.frontier import frontier
from optimizer.answers.gate import gate
from optimizer.answers.lifecycle_answer import lifecycle
from optimizer.answers.optimize import optimize
from optimizer.answers.validate import validate
from optimizer.answers.why_not import why_not
from optimizer.inputs.loading_catalogs import load_catalogs
from optimizer.inputs.loading_scenario import load_scenario
from optimizer.performance.batch import predict_batch as predict

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
