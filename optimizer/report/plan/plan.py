"""A plan as terminal text and as Markdown."""

from optimizer.plan.record.report import PlanReport
from optimizer.report.layout.markdown import answer_markdown
from optimizer.report.layout.text import DEFAULT_WIDTH, answer_text
from optimizer.report.plan.sections import plan_sections


def plan_text(report: PlanReport, verbose: bool = False, width: int = DEFAULT_WIDTH) -> str:
    """The whole answer as text, ending in a newline."""
    return answer_text(report.explanation.summary, plan_sections(report, verbose), width)


def plan_markdown(report: PlanReport, verbose: bool = True) -> str:
    """The whole answer as one Markdown document."""
    sections = plan_sections(report, verbose)
    return answer_markdown(f"Plan for {report.scenario}", report.explanation.summary, sections)
