"""Answers in the form that was asked for: text, Markdown or JSON, and the schemas that say what the JSON contains."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from optimizer.answers.check.types import CheckReport
from optimizer.answers.compare.types import Comparison
from optimizer.answers.experiment import ExperimentReport
from optimizer.answers.frontier import Frontier
from optimizer.answers.gate.types import GateReport
from optimizer.answers.lifecycle.types import LifecycleReport
from optimizer.answers.portfolio.types import PortfolioReport
from optimizer.answers.replan import ReplanReport
from optimizer.answers.sweep.types import SweepReport
from optimizer.answers.watch.types import WatchReport
from optimizer.answers.why_not import WhyNot
from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.inputs.scenario.portfolio import Portfolio
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.record.explanation import Explanation
from optimizer.plan.record.horizon import HorizonReport
from optimizer.plan.record.report import PlanReport, Verification
from optimizer.plan.record.risk import RiskReport
from optimizer.plan.record.simulation import Simulation
from optimizer.report.layout.elements import WrittenAnswer
from optimizer.report.layout.markdown import answer_markdown
from optimizer.report.layout.text import DEFAULT_WIDTH, answer_text

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
Content = BaseModel | Mapping[str, Any]
"""What `--format json` may be asked of: a record, or plain values by name."""


def as_json(content: Content) -> str:
    """An answer as `--format json` writes it.

    Args:
        content: A plan, a comparison or any other answer.

    Returns:
        Indented JSON, fields in their declared order, ending in a newline.
    """
    plain = content.model_dump(mode="json", by_alias=True) if isinstance(content, BaseModel) else content
    return json.dumps(plain, indent=2, ensure_ascii=False) + "\n"


def rendered(answer: WrittenAnswer, content: Content, form: str, *, width: int = DEFAULT_WIDTH) -> str:
    """The answer as `text` of some width or as `markdown`, or its content as `json`."""
    if form == "json":
        return as_json(content)
    return answer_markdown(answer) if form == "markdown" else answer_text(answer, width)


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
