"""A proposed choice beside the plan, as sections."""

from collections.abc import Iterator

from optimizer.answers.planning.why_not import WhyNot
from optimizer.base.figures import figure
from optimizer.report.layout.amounts import money
from optimizer.report.layout.elements import Section, Table, WrittenAnswer, with_content
from optimizer.report.plan.sections import deployments_section


def why_not_answer(answer: WhyNot) -> WrittenAnswer:
    """The whole answer."""
    return WrittenAnswer(with_content(_sections(answer)), answer.summary, f"Why not: {answer.scenario}")


def _sections(answer: WhyNot) -> Iterator[Section]:
    """What it fails, or what it is and what makes the difference; then what would let it in."""
    yield Section("What it fails", tuple(item.text for item in answer.shortfalls))
    if answer.deployments:
        yield deployments_section(answer.deployments, answer.confidence)
    yield Section("What makes the difference", tuple(answer.notes), _factors(answer))
    ways, prices = (way.text for way in answer.relaxations), (entry.text for entry in answer.entries)
    of_ways, of_prices = ((), answer.broken_ways) if answer.deployments else (answer.broken_ways, ())
    yield Section("What would make it possible", (*_admitted(answer), *ways, *of_ways))
    yield Section("The price that lets it in, all others unchanged", (*prices, *of_prices))
    yield Section(_heading(answer), (_plan(answer), *answer.not_worked_out))


def _heading(answer: WhyNot) -> str:
    return "The optimum" if answer.of_optimum else "The plan"


def _plan(answer: WhyNot) -> str:
    cost, least = answer.optimal_monthly_cost_usd, answer.cheapest_usd
    if cost is None and answer.optimal_outcome == "infeasible":
        return "no plan at all meets the scenario"
    if cost is None:
        return "no plan was found in time, and none is ruled out"
    cheapest = "" if answer.of_optimum or least is None else f"; the cheapest costs {money(least)}"
    return f"{money(cost)} a month, {answer.optimal_summary}{cheapest}"


def _factors(answer: WhyNot) -> Table:
    several = len({factor.workload for factor in answer.factors}) > 1
    rows = tuple(
        (
            f"{factor.workload}: {factor.what}" if several else factor.what,
            f"{figure(factor.chosen, 4)}",
            f"{figure(factor.proposed, 4)}",
            factor.unit,
            "" if factor.cost_factor is None else f"× {factor.cost_factor:.2f}",
        )
        for factor in answer.factors
        if factor.chosen != factor.proposed
    )
    return Table(("", ">optimum" if answer.of_optimum else ">plan", ">instead", "", ">cost"), rows)


def _admitted(answer: WhyNot) -> tuple[str, ...]:
    if answer.admitted_monthly_cost_usd is None:
        return ()
    named = (item.requirement or item.criterion.replace("_", " ") for item in answer.shortfalls)
    fields = ", ".join(dict.fromkeys(named))
    return (f"if {fields} let it in: {money(answer.admitted_monthly_cost_usd)} a month, {answer.admitted_summary}",)
