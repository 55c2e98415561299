"""The JSON schemas of what is published: each answer and each file that is read, by its name."""

import json

from pydantic import BaseModel

from optimizer.answers.ahead.lifecycle.types import LifecycleReport
from optimizer.answers.compare.types import Comparison
from optimizer.answers.gate.types import GateReport
from optimizer.answers.many.portfolio.types import PortfolioReport
from optimizer.answers.many.replan.types import ReplanReport
from optimizer.answers.many.sweep.types import SweepReport
from optimizer.answers.planning.frontier import Frontier
from optimizer.answers.planning.why_not import WhyNot
from optimizer.answers.running.check.types import CheckReport
from optimizer.answers.running.experiment import ExperimentReport
from optimizer.answers.running.watch.types import WatchReport
from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.inputs.scenario.portfolio import Portfolio
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.record.explanation import Explanation
from optimizer.plan.record.horizon import HorizonReport
from optimizer.plan.record.report import PlanReport, Verification
from optimizer.plan.record.risk import RiskReport
from optimizer.plan.record.simulation import Simulation

SCHEMAS: dict[str, type[BaseModel]] = {
    "check": CheckReport,
    "compare": Comparison,
    "experiment": ExperimentReport,
    "explanation": Explanation,
    "frontier": Frontier,
    "gate": GateReport,
    "horizon": HorizonReport,
    "lifecycle": LifecycleReport,
    "plan": PlanReport,
    "portfolio": PortfolioReport,
    "portfolio-file": Portfolio,
    "replan": ReplanReport,
    "risk": RiskReport,
    "scenario": Scenario,
    "simulate": Simulation,
    "sweep": SweepReport,
    "verify": Verification,
    "watch": WatchReport,
    "why-not": WhyNot,
}


def schema(name: str) -> str:
    """The JSON schema of a published shape.

    Args:
        name: One of `SCHEMAS`.

    Returns:
        JSON, keys sorted, ending in a newline.

    Raises:
        InputError: no shape has that name.
    """
    if name not in SCHEMAS:
        hint = did_you_mean(name, SCHEMAS) or f"known: {', '.join(sorted(SCHEMAS))}"
        raise InputError([Finding("NAME", 0, "", f"unknown schema '{name}'", hint)])
    record = SCHEMAS[name]
    read_in = record in (Portfolio, Scenario)
    shape = record.model_json_schema(mode="validation" if read_in else "serialization")
    return json.dumps(shape, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
