"""A proposed choice beside the plan, as sections for text and Markdown."""

from optimizer.answers.why_not import WhyNot
from optimizer.plan.explain.cost_factors import CostFactor
from optimizer.report.layout.elements import Section, Table, money
from optimizer.report.layout.markdown import answer_markdown
from optimizer.report.layout.text import answer_text
from optimizer.report.plan.sections import deployments_section


def why_not_text(answer: WhyNot) -> str:
    """The whole answer as text, ending in a newline."""
    return answer_text(answer.summary, why_not_sections(answer))


def why_not_markdown(answer: WhyNot) -> str:
    """The whole answer as one Markdown document."""
    return answer_markdown(f"Why not: {answer.scenario}", answer.summary, why_not_sections(answer))


def why_not_sections(answer: WhyNot) -> tuple[Section, ...]:
    """What it fails, or what it is and what makes the difference; then what would let it in."""
    parts = [
        Section("What it fails", tuple(item.text for item in answer.shortfalls)),
        deployments_section(answer.deployments, answer.confidence),
        _factors(answer),
        Section("What would make it possible", (*_admitted(answer), *(way.text for way in answer.relaxations))),
        Section("The price that lets it in, all others unchanged", tuple(entry.text for entry in answer.entries)),
        Section("The optimum", _optimum(answer)),
    ]
    return tuple(part for part in parts if (part.table.rows if part.table else part.lines))


def _factors(answer: WhyNot) -> Section:
    several = len({factor.workload for factor in answer.factors}) > 1
    rows = [_row(factor, several) for factor in answer.factors if factor.chosen != factor.proposed]
    return Section("What makes the difference", (), Table(("", ">optimum", ">instead", "", ">cost"), tuple(rows)))


def _row(factor: CostFactor, several: bool) -> tuple[str, ...]:
    what = f"{factor.workload}: {factor.what}" if several else factor.what
    effect = "" if factor.cost_factor is None else f"× {factor.cost_factor:.2f}"
    return (what, f"{factor.chosen:,.4g}", f"{factor.proposed:,.4g}", factor.unit, effect)


def _admitted(answer: WhyNot) -> tuple[str, ...]:
    if answer.admitted_monthly_cost_usd is None:
        return ()
    cost = money(answer.admitted_monthly_cost_usd)
    fields = ", ".join(dict.fromkeys(item.requirement for item in answer.shortfalls))
    return (f"if {fields} let it in: {cost} a month, {answer.admitted_summary}",)


def _optimum(answer: WhyNot) -> tuple[str, ...]:
    if answer.optimal_monthly_cost_usd is None:
        return ("no plan at all meets the scenario",)
    return (f"{money(answer.optimal_monthly_cost_usd)} a month, {answer.optimal_summary}",)
