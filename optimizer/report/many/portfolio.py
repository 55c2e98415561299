"""A portfolio in tables: services with what they pay, pools with who uses them, limits that bind, and ways out."""

from collections.abc import Mapping
from typing import Final

from optimizer.answers.many.portfolio.types import PlannedPool, PortfolioReport
from optimizer.base.figures import figure
from optimizer.report.layout.amounts import money, plural
from optimizer.report.layout.columns import Cell, table_of
from optimizer.report.layout.elements import Section, Table, WrittenAnswer, with_content

MOST_SHOWN: Final = 150
"""Services in a table that people read."""
SERVICES: Final[Mapping[str, Cell]] = {
    "service": "{scenario}",
    ">alone": "{alone_usd:money}",
    ">bill": "{bill_usd:money}",
    ">pays": "{pays_usd:money}",
    "plan": lambda each: each.plan if each.holds is not False else f"{each.plan}; breaks a promise when simulated",
}
LIMITS: Final[Mapping[str, Cell]] = {
    "limit": "{field}",
    ">at most": "{limit:,}",
    ">used": "{busiest:,}",
    ">alone": "{alone:,}",
    "": "{unit}",
    ">worth of one more": lambda each: f"about {money(each.usd_per_unit_month)}" if each.usd_per_unit_month else "",
}
ROUGH: Final = "what one more of a limit is worth goes by prices of the last round: plan again with it raised to know"


def portfolio_answer(found: PortfolioReport) -> WrittenAnswer:
    """Services first, then what they share; without plans what conflicts and what would help."""
    shown = found.services[:MOST_SHOWN]
    more = len(found.services) - len(shown)
    lines = (f"the first {len(shown)}, and {more:,} more in the JSON",) if more else ()
    paid = f"Who pays what: {found.split_rule}." if found.services else ""
    proven = f"Nothing cheaper among {found.bound_of}." if found.monthly_cost_usd is not None else ""
    rough = ROUGH if any(each.usd_per_unit_month for each in found.limits) else ""
    sections = (
        Section("Services", lines, table_of(shown, SERVICES)),
        *(_pool(pool) for pool in found.pools),
        Section("Shared limits", (), table_of(found.limits, LIMITS)),
        Section("What conflicts", tuple(item.text for item in found.conflict)),
        Section("Ways out", tuple(way.text for way in found.relaxations)),
        Section("How to read it", tuple(filter(None, (paid, proven, rough))) + (tuple(found.notes) if shown else ())),
    )
    return WrittenAnswer(with_content(sections), found.summary, f"Portfolio {found.portfolio}")


def _pool(pool: PlannedPool) -> Section:
    """What is signed for, how much of it is used and who has which share."""
    if not pool.instances:
        return Section(f"Pool {pool.name}", (f"nothing is signed for of {pool.offer}",))
    count = f"{pool.instances:,} of at most {pool.max_instances:,} {plural('instance', pool.max_instances)}"
    line = f"{count} of {pool.offer} for {money(pool.monthly_cost_usd)} a month, used {figure(pool.used_percent)} %"
    rows = tuple(
        (
            each.scenario,
            str(each.instances_at_most),
            f"{each.instance_hours_per_month:,.0f}",
            f"{each.share_percent:.0f} %",
        )
        for each in pool.shares[:MOST_SHOWN]
    )
    return Section(f"Pool {pool.name}", (line,), Table(("service", ">at most", ">hours a month", ">share"), rows))
