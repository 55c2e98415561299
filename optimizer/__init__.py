"""The cheapest LLM deployment that meets its SLAs, proven and explained.

from optimizer import load_catalogs, load_scenario, optimize
report = optimize(load_scenario("chat-8b"), load_catalogs())
"""

from optimizer.answers.optimize import optimize
from optimizer.inputs.loading_catalogs import load_catalogs
from optimizer.inputs.loading_scenario import load_scenario
from optimizer.performance.batch import predict_batch as predict

__all__ = ["load_catalogs", "load_scenario", "optimize", "predict"]
