"""A plan's conflict with the lines of the scenario file that ask for it."""

from optimizer.base.errors import Finding
from optimizer.inputs.scenario.loading import ScenarioFile
from optimizer.plan.record.report import PlanReport


def located(report: PlanReport, file: ScenarioFile) -> PlanReport:
    """The same report, every requirement of the conflict that someone wrote with its line."""
    conflict = [
        item.model_copy(update={"line": file.located([Finding("", 0, item.requirement, "")])[0].line})
        if item.written
        else item
        for item in report.explanation.conflict
    ]
    return report.model_copy(update={"explanation": report.explanation.model_copy(update={"conflict": conflict})})
