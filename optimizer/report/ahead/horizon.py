"""When to commit and for how long, in words and tables: the answer, what to sign, what to wait for, what else costs."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

from optimizer.base.figures import figure
from optimizer.plan.record.horizon import HorizonReport, Signed, TermBreakEven, Value
from optimizer.report.layout.amounts import money, plural
from optimizer.report.layout.columns import Cell, table_of
from optimizer.report.layout.elements import Section, WrittenAnswer, with_content

MOST_SIGNED: Final = 8
MOST_BREAK_EVENS: Final = 5

NAMES: Final[Mapping[str, str]] = {
    "on demand alone": "nothing signed, all by the hour",
    "month by month": "each month planned for itself",
    "the mean branch": "signed for the mean of all branches",
    "every branch known": "each branch known from the start",
}
NO_PLAN: Final[Mapping[str, str]] = {"infeasible": "no plan"}
PAID: Final[Mapping[str, str]] = {"monthly": "", "upfront": ", prepaid", "bought": ", bought"}
SIGNED_COLUMNS: Final[Mapping[str, Cell]] = {
    ">month": "{month}",
    "in": lambda each: ", ".join(each.branches),
    "sign": lambda each: f"{each.instances:,}× {each.provider} {each.instance_type}",
    "GPUs": "{gpus_per_instance}× {gpu}",
    "for": lambda each: _term(each.term_months, each.payment),
    ">$/h": "{usd_per_instance_hour:unit_price}",
    ">due at once": lambda each: money(each.upfront_usd) if each.upfront_usd else "",
    ">a month": lambda each: money(each.monthly_usd) if each.monthly_usd else "",
}
STRATEGY_COLUMNS: Final[Mapping[str, Cell]] = {
    "way": lambda each: NAMES[each.name],
    ">expected": lambda each: money(each.expected_usd, NO_PLAN.get(each.outcome, "not found in time")),
    ">more": "{more_usd:change}",
    ">regret": "{regret_usd:money}",
    ">owed after the end": "{owed_after_usd:money}",
}
BRANCH_COLUMNS: Final[Mapping[str, Cell]] = {
    "branch": "{name}",
    ">weight": "{weight:.0%}",
    ">known in month": "{from_month}",
    ">costs": "{net_present_usd:money}",
    ">had it been known": "{known_usd:money}",
    ">regret": "{regret_usd:money}",
}


def horizon_answer(report: HorizonReport) -> WrittenAnswer:
    """The whole answer; terminal and Markdown say the same."""
    title = f"Commitments of {report.scenario}"
    if report.expected_usd is None:
        return WrittenAnswer((_scope(report),), _without_purchases(report), title)
    several = report.branches if len(report.branches) > 1 else []
    sections = (
        _signed("Sign now", report.sign_now, "nothing: rent by the hour"),
        _signed("Wait for", report.sign_later, "nothing is signed later"),
        Section("Other ways to decide", tuple(_values(report)), table_of(report.strategies, STRATEGY_COLUMNS)),
        Section("By branch", (), table_of(several, BRANCH_COLUMNS)),
        _break_evens(report),
        Section("How prices moved", tuple(_observed(report))),
        _scope(report),
    )
    return WrittenAnswer(with_content(sections), _summary(report), title)


def _summary(report: HorizonReport) -> str:
    """What it costs, what to sign in this month, and how far that is proven."""
    rate = report.discount_percent_per_year
    dollars = f" in today's dollars at {figure(rate)} % a year" if rate else ""
    first = report.sign_now
    now = f"sign {_counted(first)} now" if first else _nothing_now(report)
    over = f"over {counted(report.months, 'month')}"
    if len(report.branches) > 1:
        over += f" and {len(report.branches)} branches"
    return (
        f"{money(report.expected_usd)} is expected {over} for {report.scenario}{dollars}: {now}. "
        f"{_proven(report)}{_against(report)}"
    )


def _nothing_now(report: HorizonReport) -> str:
    """When the first commitment comes, if any does."""
    if not report.sign_later:
        return "sign nothing"
    first = report.sign_later[0]
    return f"sign nothing now, and {_counted([first])} in month {first.month}"


def _counted(signed: list[Signed]) -> str:
    first, rest = signed[0], len(signed) - 1
    more = f" and {counted(rest, 'other contract')}" if rest else ""
    machine = f"{first.instances:,}× {first.provider} {first.instance_type}"
    return f"{machine} for {_term(first.term_months, first.payment)}{more}"


def _term(months: int, payment: str) -> str:
    return f"{counted(months, 'month')}{PAID[payment]}"


def _proven(report: HorizonReport) -> str:
    if report.outcome == "optimal":
        return "No purchases within the scope cost less."
    gap = f"{figure((report.relative_gap or 0) * 100, 2)} %"
    if (report.relative_gap or 0) <= report.wanted_gap:
        return f"None cost less by more than {gap}."
    return f"A limit was reached: it is proven to within {gap} only."


def _against(report: HorizonReport) -> str:
    """What signing nothing would cost instead."""
    other = next((each for each in report.strategies if each.name == "on demand alone"), None)
    if other is None:
        return ""
    if other.more_usd is None:
        return " By the hour alone there is no plan." if other.outcome == "infeasible" else ""
    if other.more_usd <= 0:
        return " By the hour alone it costs no more."
    return f" All by the hour would cost {money(other.more_usd)} more."


def _without_purchases(report: HorizonReport) -> str:
    return f"No purchases for {report.scenario} over {report.months} months: {report.reason}."


def _signed(title: str, signed: list[Signed], nothing: str) -> Section:
    """A row a contract; what is the same in several branches is one row."""
    if not signed:
        return Section(title, (nothing,))
    alike: dict[tuple[object, ...], list[Signed]] = {}
    for each in signed:
        key = (each.month, each.offer, each.payment, each.instances, each.usd_per_instance_hour)
        alike.setdefault(key, []).append(each)
    rows = [
        several[0].model_copy(update={"branches": [name for each in several for name in each.branches]})
        for several in alike.values()
    ]
    rest = len(rows) - MOST_SIGNED
    more = f"The next {MOST_SIGNED}; the JSON holds {rest} more." if rest > 0 else ""
    return Section(title, (more,), table_of(rows[:MOST_SIGNED], SIGNED_COLUMNS))


def _values(report: HorizonReport) -> Iterator[str]:
    """What knowing is worth, and the regret at the quantile."""
    if report.value_of_stochastic_solution is not None:
        yield f"Knowing the branches, not their mean alone, saves {_value(report.value_of_stochastic_solution)}."
    if report.value_of_perfect_information is not None:
        yield f"Knowing the branch from the start would save {_value(report.value_of_perfect_information)}."
    if report.regret_usd is not None and len(report.branches) > 1:
        share = f"{report.regret_quantile:.0%}"
        yield f"With a probability of {share} the regret is at most {money(report.regret_usd)}."


def _value(value: Value) -> str:
    """The difference, and between what it lies where the gaps leave that open."""
    if value.highest_usd - value.lowest_usd < Decimal("0.01"):
        return money(value.usd)
    return f"{money(value.usd)} (between {money(value.lowest_usd)} and {money(value.highest_usd)} by the proofs)"


def _pays(each: TermBreakEven) -> str:
    if each.on_demand is None:
        return "not sold on demand"
    return "not reached" if each.months is None else f"{each.months} of {each.term_months}"


BREAK_EVEN_COLUMNS: Final[Mapping[str, Cell]] = {
    "term": "{offer}",
    "for": lambda each: _term(each.term_months, each.payment),
    ">$/h": "{usd_per_hour:unit_price}",
    ">on demand": "{on_demand_usd_per_hour:unit_price}",
    ">months": _pays,
}


def _break_evens(report: HorizonReport) -> Section:
    """The terms that are signed first, then the others that pay soonest."""
    signed = {(each.offer, each.payment) for each in (*report.sign_now, *report.sign_later)}
    ranked = sorted(report.break_even, key=lambda each: (each.offer, each.payment) not in signed)
    line = "Months of use after which a term has cost no more than the same machine on demand, if signed now."
    table = table_of(ranked[:MOST_BREAK_EVENS], BREAK_EVEN_COLUMNS)
    return Section("Break-even", (line,) if ranked else (), table)


def _observed(report: HorizonReport) -> Iterator[str]:
    for each in report.observed_prices:
        span = f"{each.first:%Y-%m} to {each.last:%Y-%m}"
        moved = f"{change_percent(each.percent_per_year)} a year at the median of {each.series} series"
        ends = f"{change_percent(each.lowest_percent_per_year)} to {change_percent(each.highest_percent_per_year)}"
        yield f"{each.architecture} at {each.seller} sellers, {span}: {moved} ({ends})"


def counted(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count} {plural(noun, count)}"


def change_percent(percent: float) -> str:
    """A signed percentage."""
    return f"{'−' if percent < 0 else '+'}{abs(percent):.0f} %"


def _scope(report: HorizonReport) -> Section:
    considered = f"{report.scope.statement} Considered: {'; '.join(report.scope.considered)}."
    left_out = f"Not considered: {'; '.join(report.scope.not_considered)}."
    return Section("Read with care", (considered, left_out, *report.notes))
