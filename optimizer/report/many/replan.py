"""What yesterday's plans would be today, on one page: what to do first, then each move with its prices."""

from collections.abc import Iterator, Mapping
from typing import Final

from optimizer.answers.gate.types import DeploymentChange
from optimizer.answers.many.replan.types import Replanned, ReplanReport
from optimizer.report.layout.amounts import money
from optimizer.report.layout.columns import Cell, table_of
from optimizer.report.layout.elements import Section, WrittenAnswer, with_content

ADVICE: Final = {
    "stay": "stay",
    "move": "move",
    "must_move": "must move",
    "new": "new",
    "no_plan": "no plan",
    "undecided": "undecided",
}
SIGNS: Final = {"+": "+", "~": "~", "-": "−", "=": ""}
MOST_PRICES: Final = 5
SCENARIOS: Final[Mapping[str, Cell]] = {
    "scenario": "{scenario}",
    "advice": lambda each: ADVICE[each.advice],
    ">yesterday": lambda each: money(each.before_usd, unknown=""),
    ">if it stays": lambda each: money(each.stay_usd, unknown=""),
    ">best today": lambda each: money(each.after_usd, unknown=""),
    ">saves": lambda each: money(each.saves_usd_per_month, unknown=""),
    ">once": lambda each: money(each.one_time_usd) if each.one_time_usd else "",
}
CHANGES: Final[Mapping[str, Cell]] = {
    "": lambda each: SIGNS[each.sign],
    "what": "{what}",
    "where": "{where}",
    "how many": lambda each: _then(each.before, each.after),
    ">$/month": lambda each: _then(*(f"{usd:,.2f}" if usd is not None else "" for usd in _months(each))),
}


def replan_answer(found: ReplanReport) -> WrittenAnswer:
    """All scenarios in a table, then those that somebody has to act upon."""
    acted = [each for each in found.scenarios if each.advice != "stay" or _moves_freely(each) or each.warnings]
    gone = tuple(f"{each.scenario}: {money(each.before_usd)} a month can be stopped" for each in found.removed)
    within = f"a move has to pay back within {found.months} {'month' if found.months == 1 else 'months'}"
    sections = (
        Section("All scenarios", (within,), table_of(found.scenarios, SCENARIOS)),
        *(_section(each) for each in acted),
        Section("No scenario any more", gone),
    )
    return WrittenAnswer(with_content(sections), found.summary, "Replanned")


def _moves_freely(each: Replanned) -> bool:
    """Whether something starts or stops that no change is counted for: outside the busiest hours, or at an API."""
    return any(change.sign in ("+", "-") for change in each.deployments)


def _section(each: Replanned) -> Section:
    moved = [change for change in each.deployments if change.sign != "="]
    return Section(each.scenario, (each.text, *each.warnings, *_prices(each)), table_of(moved, CHANGES))


def _prices(each: Replanned) -> Iterator[str]:
    yield from (price.text for price in each.prices[:MOST_PRICES])
    more = len(each.prices) - MOST_PRICES
    if more > 0:
        yield f"and {more} more in the JSON"


def _months(each: DeploymentChange) -> tuple[object, ...]:
    return each.before_usd, each.after_usd


def _then(*sides: str) -> str:
    """Before and after; once where nothing moved or one side has none."""
    return " → ".join(dict.fromkeys(filter(None, sides)))
