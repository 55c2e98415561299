"""A comparison of choices as text, Markdown, one HTML page or a procurement sheet in CSV."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import groupby
from typing import Final

from optimizer.answers.bill import BillLine, Unit
from optimizer.answers.compare.types import Compared, Comparison, HostingFacts, OwnedCost, Verdict
from optimizer.base.figures import figure
from optimizer.plan.readback.summary import by_second_words
from optimizer.report.layout.amounts import change, money, percent, plural
from optimizer.report.layout.cells import csv_cell
from optimizer.report.layout.columns import Cell, table_of
from optimizer.report.layout.elements import Section, Table, WrittenAnswer, with_content
from optimizer.report.layout.html import answer_html, drawing_html, links_html, section_html

MOST_SHOWN: Final = 15
"""Rows of each table when nobody says how many."""
MOST_NAMED: Final = 8
"""Choices named behind one requirement that stops them."""
SHEET_COLUMNS: Final = (
    "rank",
    "choice",
    "verdict",
    "monthly_cost_usd",
    "difference_usd",
    "cost_per_million_tokens_usd",
    "cost_per_million_output_tokens_usd",
    "cost_per_request_usd",
    "gpus",
    "idle_gpus",
    "idle_gpus_usd",
    "price_age_days",
    "price_confidence",
    "performance",
    "discounts",
    "summary",
    "outcome",
    "stopped_by",
)
API_COLUMNS: Final[Mapping[str, Cell]] = {
    "class": "{workload} {request_class}",
    "API": "{provider}: {api}",
    ">$/M in": "{usd_per_million_input_tokens:unit_price}",
    ">cached": "{usd_per_million_cached_input_tokens:unit_price}",
    ">$/M out": "{usd_per_million_output_tokens:unit_price}",
    ">$/request": "{usd_per_request:unit_price}",
    ">$/month": "{monthly_cost_usd:,.2f}",
}
UNITS: Final[Mapping[Unit, str]] = {
    "instance hour": "instance hours",
    "GB": "GB",
    "request": "requests",
    "container second": "container seconds",
    "once": "",
}
ORDER_COLUMNS: Final[Mapping[str, Cell]] = {
    "line": "{line}",
    "provider": "{provider}",
    "region": lambda line: f"{line.region} {line.country}".strip(),
    "item": lambda line: f"{line.item} ({line.gpus_per_instance}×{line.gpu})" if line.gpu else line.item,
    ">count": lambda line: line.count or "",
    "term": lambda line: " ".join(_term(line)),
    ">USD a unit": "{unit_price_usd:unit_price}",
    ">a month": lambda line: f"{figure(float(line.quantity_per_month))} {UNITS[line.unit]}".strip(),
    ">$/month": "{monthly_cost_usd:,.2f}",
    "price of": lambda line: line.price_as_of or "",
    "source": "{price_source}",
    "seller": "{seller}",
}


def compare_answer(answer: Comparison, top: int | None = None) -> WrittenAnswer:
    """Those that comply, the plan first, those that the policy bars; those that fail; what the order rests on."""
    most = top or MOST_SHOWN
    cheapest_barred = bool(answer.choices) and answer.choices[0].verdict == "not_admitted"
    found = [_complying(answer, most), _not_admitted(answer, most)]
    sections = [*(reversed(found) if cheapest_barred else found), _failing(answer), _not_compared(answer)]
    sections += _hosting(answer.hosting) if answer.hosting else []
    sections.append(_basis(answer))
    return WrittenAnswer(with_content(sections), answer.summary, f"{answer.scenario} by {_dimension(answer)}")


def compare_html(answer: Comparison, top: int | None = None, chart: str = "") -> str:
    """The whole answer as one self-contained page; nothing is loaded.

    Args:
        answer: What was compared.
        top: Rows of each table.
        chart: The drawing of `compare_chart`; empty where it could not be drawn.
    """
    written = compare_answer(answer, top)
    parts = [*([drawing_html(f"What each {_dimension(answer)} costs", chart)] if chart else [])]
    parts += map(section_html, written.sections)
    parts += map(section_html, with_content([_orders(answer)]))
    parts += [links_html("Sources of prices", [(each.title, each.url) for each in answer.sources])]
    return answer_html(written.title, written.summary, any(row.rank for row in answer.choices), filter(None, parts))


def _orders(answer: Comparison) -> Section:
    """What the plan orders, line by line."""
    first = next((row for row in answer.choices if row.rank == 1 and row.lines), None)
    if first is None:
        return Section("What to order")
    return Section(f"What to order: {first.choice}", table=table_of(first.lines, ORDER_COLUMNS))


def compare_csv(answer: Comparison, top: int | None = None) -> str:
    """One line a choice under the names of the JSON's fields; all of them unless `top` says how many comply at most."""
    out = io.StringIO()
    sheet = csv.writer(out, lineterminator="\n")
    sheet.writerow(("scenario", "by", *SHEET_COLUMNS))
    for row in shown_in_sheets(answer, top):
        fields = {**row.model_dump(mode="json", exclude={"lines"}), **_joined(row)}
        cells = (answer.scenario, answer.by, *(fields[name] for name in SHEET_COLUMNS))
        sheet.writerow("" if cell is None else csv_cell(str(cell)) for cell in cells)
    return out.getvalue()


def shown_in_sheets(answer: Comparison, top: int | None) -> list[Compared]:
    """All choices unless `top` says how many that comply at most."""
    return [row for row in answer.choices if top is None or row.rank is None or row.rank <= top]


def flat(row: Compared) -> dict[str, object]:
    """A choice as the cells of one line, figures as figures."""
    return {**row.model_dump(exclude={"lines"}), **_joined(row)}


def _joined(row: Compared) -> dict[str, str]:
    """What is a list, in one cell."""
    return {
        "stopped_by": "; ".join(item.requirement or item.text for item in row.stopped_by),
        "discounts": "; ".join(row.discounts),
    }


def _term(line: BillLine) -> Iterator[str]:
    yield line.pricing_term.replace("_", " ")
    if line.commitment_months:
        yield f"{line.commitment_months} months"


def _dimension(answer: Comparison) -> str:
    """What was compared, in words."""
    return answer.by.replace("_", " ")


def _of(answer: Comparison, verdict: Verdict) -> list[Compared]:
    return [row for row in answer.choices if row.verdict == verdict]


def _complying(answer: Comparison, most: int) -> Section:
    rows = _of(answer, "complies")
    shown, hidden = rows[:most], len(rows) - most
    columns: Mapping[str, Cell] = {
        ">": "{rank}",
        _dimension(answer): "{choice}",
        ">$/month": "{monthly_cost_usd:,.2f}",
        ">more": lambda row: change(row.difference_usd or None),
        ">$/M tokens": "{cost_per_million_tokens_usd:unit_price}",
        ">$/request": "{cost_per_request_usd:unit_price}",
        ">GPUs": lambda row: f"{row.gpus:,}, {row.idle_gpus:,} idle" if row.idle_gpus else f"{row.gpus:,}",
        ">price": _price_basis,
        "plan": "{summary}",
    }
    idle = ", ".join(f"{row.choice} {money(row.idle_gpus_usd)}" for row in shown if row.idle_gpus and row.idle_gpus_usd)
    lines = [
        *answer.notes,
        f"{hidden:,} dearer {plural('one', hidden)} left out; --top {len(rows)} shows them" if hidden > 0 else "",
        *sorted({f"{row.choice}: {text}" for row in shown for text in row.discounts}),
        f"a part of the cost is of idle GPUs: {idle}" if idle else "",
    ]
    return Section("What complies", tuple(filter(None, lines)), table_of(shown, columns))


def _price_basis(row: Compared) -> str:
    """How old the oldest price is, and how sure the least sure."""
    return f"{row.price_age_days} d" + ("" if row.price_confidence == "listed" else f", {row.price_confidence}")


def _not_admitted(answer: Comparison, most: int) -> Section:
    """What would comply if the policy's lists let it in, and which of them keeps it out."""
    rows = _of(answer, "not_admitted")
    hidden = len(rows) - most
    columns: Mapping[str, Cell] = {
        _dimension(answer): "{choice}",
        ">$/month": "{monthly_cost_usd:,.2f}",
        ">difference": "{difference_usd:change}",
        "kept out by": lambda row: ", ".join(dict.fromkeys(item.requirement or "supply" for item in row.stopped_by)),
        "plan": "{summary}",
    }
    lines = (f"{hidden:,} dearer {plural('one', hidden)} left out",) if hidden > 0 else ()
    return Section("What would comply if the policy admitted it", lines, table_of(rows[:most], columns))


def _failing(answer: Comparison) -> Section:
    """Choices by the first requirement that stops them, with the words of the first of each group.

    Precisions are few, and each keeps another quality: every one of them has its own words.
    """
    rows = sorted(_of(answer, "fails"), key=lambda row: (_first_obstacle(row), row.choice))
    lines = []
    for _, group in groupby(rows, key=lambda row: row.choice if answer.by == "precision" else _first_obstacle(row)):
        first, *others = group
        obstacle = _first_obstacle(first)
        names = _some_names([first.choice, *(row.choice for row in others)])
        reason = first.stopped_by[0].text if first.stopped_by else "no plan meets the scenario"
        which = f" ({first.choice})" if others else ""
        further = dict.fromkeys(item.requirement for item in first.stopped_by[1:])
        also = ", ".join(name for name in further if name not in ("", obstacle))
        lines.append(f"{names}: {reason}{which}{f'; also {also}' if also else ''}")
    return Section("What cannot comply, and why", tuple(lines))


def _not_compared(answer: Comparison) -> Section:
    """Choices of which nothing is known, under the limit that was reached."""
    rows = sorted(_of(answer, "not_compared"), key=_first_reason)
    reasons = groupby(rows, key=_first_reason)
    lines = tuple(f"{_some_names([row.choice for row in group])}: {reason}" for reason, group in reasons)
    return Section("Not compared", lines)


def _first_reason(row: Compared) -> str:
    return row.stopped_by[0].text


def _first_obstacle(row: Compared) -> str:
    return (row.stopped_by[0].requirement or row.stopped_by[0].text) if row.stopped_by else ""


def _some_names(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"


def _hosting(facts: HostingFacts) -> list[Section]:
    return [
        Section("Where the order flips", _flips(facts)),
        _curve(facts),
        Section("How busy a fleet must be", tuple(item.text for item in facts.utilization)),
        Section("By API", table=table_of(facts.apis, API_COLUMNS)),
        Section("By the second", tuple(map(by_second_words, facts.containers))),
        Section("Hardware of one's own, a month", tuple(_owned(item) for item in facts.owned)),
        Section("Read with care", tuple(facts.notes)),
    ]


def _flips(facts: HostingFacts) -> tuple[str, ...]:
    known = (*(item.text for item in facts.break_evens), *facts.not_worked_out)
    if known or len(facts.ways) < 2:
        return known
    first, last = facts.curve[0].requests_per_month, facts.curve[-1].requests_per_month
    return (f"nowhere between {first:,.0f} and {last:,.0f} requests a month",)


def _curve(facts: HostingFacts) -> Section:
    ways = facts.ways
    rows = tuple(
        (f"{point.requests_per_month:,.0f}", *(_cost(point.monthly_cost_usd[way]) for way in ways))
        for point in facts.curve
    )
    headings = (">requests a month", *(f">{way}, $/month" for way in ways))
    return Section("Cost by demand", table=Table(headings, rows if ways else ()))


def _cost(amount: Decimal | None) -> str:
    return "no plan" if amount is None else f"{amount:,.2f}"


def _owned(item: OwnedCost) -> str:
    parts = ", ".join(f"{name} {money(amount)}" for name, amount in item.parts_usd.items())
    return f"{item.instances:,}× {item.offer}: {money(item.monthly_cost_usd)}{f' ({parts})' if parts else ''}"


def _basis(answer: Comparison) -> Section:
    rows = [row for row in answer.choices if row.rank is not None]
    proven = sum(row.outcome == "optimal" for row in rows)
    found = f"{proven} of {len(rows)} {plural('plan', len(rows))}"
    lines = [f"proven optimal, each under its own choice and within policy.simplicity_percent: {found}"] if rows else []
    estimated = [row.choice for row in rows if row.performance == "estimated"]
    lines += [f"nobody measured hardware in the plans of {_some_names(estimated)}"] if estimated else []
    as_of = f"prices and facts as of {answer.catalog_as_of.isoformat()}"
    bound = f"planned on the {percent(answer.confidence)} bound"
    demand = f"{answer.requests_per_month:,.0f} requests a month"
    demand += f", {answer.demand_rounding}" if answer.demand_rounding else ""
    lines.append(f"{demand}; {as_of}; {bound}")
    return Section("How sure", tuple(lines))
