"""What a plan is worth over draws, in words and tables: how often it holds, its cost, what would be better bought."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Final

from optimizer.base.errors import InputError
from optimizer.base.figures import figure
from optimizer.plan.record.fields import CENT
from optimizer.plan.record.risk import BestInDraws, MachineInDraws, PurchasesInDraws, RiskReport
from optimizer.report.layout.amounts import money, plural
from optimizer.report.layout.columns import Cell, table_of
from optimizer.report.layout.elements import Section, Table, WrittenAnswer, with_content

MOST_BEST: Final = 4

PROMISE_COLUMNS: Final[Mapping[str, Cell]] = {
    "workload": "{workload}",
    ">kept in": "{share_held:.0%}",
    ">at least": "{lowest_share:.0%}",
    ">at most": "{highest_share:.0%}",
}
SPREAD_COLUMNS: Final[Mapping[str, Cell]] = {
    "what": lambda each: " ".join(part for part in (each.uncertainty, each.of.replace("_", " ")) if part),
    ">1 in 10 below": "{p10:figure}",
    ">middle": "{p50:figure}",
    ">1 in 10 above": "{p90:figure}",
    "unit": "{unit}",
    "source": lambda each: f"{each.source}, {each.series} series" if each.series else each.source,
    "as of": "{as_of}",
}
VARIANCE_COLUMNS: Final[Mapping[str, Cell]] = {
    "uncertainty": "{uncertainty}",
    ">alone": "{alone:.0%}",
    ">with the others": "{with_others:.0%}",
}


def risk_answer(report: RiskReport) -> WrittenAnswer:
    """The whole answer; terminal and Markdown say the same."""
    title = f"Risk of {report.scenario}"
    if report.plan is None:
        return WrittenAnswer((), f"No plan for {report.scenario} to judge: {_no_plan(report)}.", title)
    several = report.promises if len(report.promises) > 1 else []
    sections = (
        Section("Promises", (), table_of(several, PROMISE_COLUMNS)),
        Section("A month over all draws", tuple(_budget(report)), _costs(report)),
        Section("Best bought before", tuple(_best(report))),
        Section("Cheapest, had the draw been known", tuple(_best_in(report))),
        Section("Where the variance of the plan's cost comes from", (), table_of(report.variance, VARIANCE_COLUMNS)),
        Section("What was drawn", tuple(_drawn(report)), table_of(report.spreads, SPREAD_COLUMNS)),
        _scope(report),
    )
    return WrittenAnswer(with_content(sections), _summary(report, report.plan), title)


def with_risk(answer: WrittenAnswer, found: RiskReport | InputError) -> WrittenAnswer:
    """A plan's answer with one section more: what it is worth in draws, or why that cannot be told."""
    if isinstance(found, InputError):
        line = " ".join(f"{each.problem} ({each.hint})." for each in found.findings)
    elif found.plan is None:
        return answer
    else:
        line = f"{in_a_line(found, found.plan)} `optimizer risk` says why, and what would be better bought."
    return replace(answer, sections=(*answer.sections, Section("Risk", (line,))))


def _no_plan(report: RiskReport) -> str:
    return "none meets the scenario" if report.outcome == "infeasible" else "none was found in time"


def _summary(report: RiskReport, plan: PurchasesInDraws) -> str:
    """How often the plan holds, and what it costs where more is rented."""
    return f"{in_a_line(report, plan)}{_better(report, plan)}"


def in_a_line(report: RiskReport, plan: PurchasesInDraws) -> str:
    """The answer in two sentences."""
    ahead = f"{report.months_ahead} {plural('month', report.months_ahead)} ahead"
    held = _share(report.all_held or 0)
    whole = report.promises[0] if len(report.promises) == 1 else None
    ends = f"{whole.lowest_share * 100:.0f} to {_share(whole.highest_share)}" if whole else ""
    range_of = f" ({ends} with a confidence of 95 %)" if whole else ""
    makes_up = "more is rented" if not plan.expected_unserved_usd else "more is rented or requests go unserved"
    return (
        f"Over {report.draws:,} draws of the month {ahead} the plan for {report.scenario} keeps its promises in {held}"
        f"{range_of}. Where it falls short {makes_up}: {money(plan.p50_usd)} a month in the middle, "
        f"{money(plan.p10_usd)} to {money(plan.p90_usd)} in eight of ten draws, {money(report.plan_usd)} today."
    )


def _better(report: RiskReport, plan: PurchasesInDraws) -> str:
    """What the best purchases save, where they do."""
    best = report.best
    if best is None:
        return " A limit was reached before better purchases were looked for."
    if _saved_usd(report, plan, best) <= 0:
        return " Nothing was found to be better bought."
    bought = f"to buy {_bought(report, best)}" if best.bought else f"to buy nothing before and {_instead(best)}"
    mean, tail = _against(best.expected_usd, plan.expected_usd), _against(best.tail_usd, plan.tail_usd)
    found = "Best is" if report.complete else "The best that was found before a limit was reached is"
    return f" {found} {bought}: {mean} in the mean, {tail} in the dearest draws."


def _saved_usd(report: RiskReport, plan: PurchasesInDraws, best: PurchasesInDraws) -> float:
    """By how much the best purchases come to less than the plan, mean and tail weighed as the scenario does."""
    weight = report.tail_weight
    return float(plan.expected_usd - best.expected_usd) * (1 - weight) + float(plan.tail_usd - best.tail_usd) * weight


def _instead(best: PurchasesInDraws) -> str:
    """What is done where nothing is bought before."""
    if not best.expected_unserved_usd:
        return "rent what it takes"
    return "rent or leave requests unserved, whichever costs less" if best.expected_rented_usd else "serve nothing"


def _against(usd: Decimal, other: Decimal) -> str:
    """How much less or more a figure is than another."""
    return f"{money(abs(other - usd))} {'less' if usd <= other else 'more'}"


def _bought(report: RiskReport, best: PurchasesInDraws) -> str:
    by_name = {each.name: each for each in report.machines}
    return " and ".join(f"{each.instances:,}× {_machine(by_name[each.machine or ''])}" for each in best.bought)


def _machine(each: MachineInDraws) -> str:
    """A machine in a phrase."""
    term = each.pricing_term.replace("_", " ")
    months = f", {each.commitment_months} months" if each.commitment_months else ""
    runs = f"{each.model} {each.precision} with {each.engine}"
    return f"{each.provider} {each.instance_type} in {each.region} ({term}{months}; {runs})"


def _share(share: float) -> str:
    return f"{share * 100:.0f} %"


def _budget(report: RiskReport) -> Iterator[str]:
    """In how many draws it holds, where there is one."""
    plan, best = report.plan, report.best
    if plan is not None and plan.within_budget is not None:
        other = "" if best is None else f", with what is best bought before in {_share(best.within_budget or 0)}"
        yield f"The budget holds in {_share(plan.within_budget)} of the draws with the plan{other}."


def _costs(report: RiskReport) -> Table:
    """What is bought against what would be best, and against knowing."""
    rows = [
        _row(name, found) for name, found in (("the plan", report.plan), ("best bought before", report.best)) if found
    ]
    if report.known_usd is not None:
        rows.append(("every draw known", money(report.known_usd), "", "", "", "", "", ""))
    level = figure((1 - report.tail_level) * 100)
    headings = ("", ">mean", ">1 in 10 below", ">middle", ">1 in 10 above", f">dearest {level}%", ">rented", ">regret")
    return Table(headings, tuple(rows))


def _row(name: str, found: PurchasesInDraws) -> tuple[str, ...]:
    usd = (found.expected_usd, found.p10_usd, found.p50_usd, found.p90_usd, found.tail_usd, found.expected_rented_usd)
    return (name, *(money(each) for each in usd), money(found.regret_usd))


def _best(report: RiskReport) -> Iterator[str]:
    """What it is, and how far it is proven."""
    best, gap = report.best, report.gap
    if best is None:
        return
    tail = figure(report.tail_weight * 100)
    aim = f"{figure((1 - report.tail_weight) * 100)} % of the mean and {tail} % of the dearest draws"
    bought = _bought(report, best) if best.bought else f"to buy nothing before and {_instead(best)}"
    yield f"Least {aim}: {bought}."
    if report.plan is not None and _saved_usd(report, report.plan, best) < 0:
        yield "That was chosen by other draws than those of the table, in which the plan comes to less."
    if gap is not None:
        upper = f"{money(gap.upper_usd)} ± {money(gap.upper_half_width_usd)}"
        lower = f"{money(gap.lower_usd)} ± {money(gap.lower_half_width_usd)}"
        batches = f"{gap.batches} batches of {gap.draws_per_batch} draws"
        above = gap.upper_usd + gap.upper_half_width_usd + CENT < gap.lower_usd - gap.lower_half_width_usd
        left = f"So at most {money(gap.most_gap_usd)} is left to gain (95 % on each side)."
        few = "The two contradict each other: ask for more `--draws` to see what is left to gain."
        yield (
            f"In draws that they were not chosen by that is {upper}; by the optima of {batches} the least is {lower}. "
            f"{few if above else left}"
        )


def _best_in(report: RiskReport) -> Iterator[str]:
    """Which machines in how many draws."""
    by_name = {each.name: each for each in report.machines}
    known = sum(each.draws for each in report.best_in)
    if 0 < known < report.draws:
        yield f"A limit was reached after {known:,} of {report.draws:,} draws."
    for each in report.best_in[:MOST_BEST]:
        yield f"{each.draws:,} {plural('draw', each.draws)}: {_together(each, by_name)}"
    rest = report.best_in[MOST_BEST:]
    if rest:
        draws = sum(each.draws for each in rest)
        others = f"{len(rest)} other {plural('choice', len(rest))}"
        yield f"{draws:,} {plural('draw', draws)}: {others}, which the JSON holds"


def _together(each: BestInDraws, by_name: Mapping[str, MachineInDraws]) -> str:
    return " with ".join(_machine(by_name[name]) for name in each.machines) or "nothing, and requests go unserved"


def _drawn(report: RiskReport) -> Iterator[str]:
    if any(each.uncertainty == "predictions" for each in report.variance):
        yield "Predictions are off as measurements showed (docs/accuracy.md), alike on one GPU in part."


def _scope(report: RiskReport) -> Section:
    considered = f"{report.scope.statement} Considered: {'; '.join(report.scope.considered)}."
    left_out = f"Not considered: {'; '.join(report.scope.not_considered)}."
    return Section("Read with care", (*report.notes, considered, left_out))
