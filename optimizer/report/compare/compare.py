"""A comparison of choices as text, Markdown, one HTML page or a procurement sheet in CSV."""

import csv
import io
from collections.abc import Iterable, Sequence
from decimal import Decimal
from html import escape
from itertools import groupby

from optimizer.answers.compare.types import Compared, Comparison, HostingFacts, OwnedCost
from optimizer.plan.record.fields import significant
from optimizer.report.layout.elements import Section, Table, change, money
from optimizer.report.layout.html import STYLE, section_html
from optimizer.report.layout.markdown import answer_markdown
from optimizer.report.layout.text import answer_text

MOST_SHOWN = 15
"""Rows of each table when nobody says how many."""
MOST_NAMED = 8
"""Choices named behind one requirement that stops them."""
SHEET_COLUMNS = (
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


def compare_text(answer: Comparison, top: int | None = None) -> str:
    """The whole answer as text, ending in a newline."""
    return answer_text(answer.summary, compare_sections(answer, top))


def compare_markdown(answer: Comparison, top: int | None = None) -> str:
    """The whole answer as one Markdown document."""
    return answer_markdown(_title(answer), answer.summary, compare_sections(answer, top))


def compare_html(answer: Comparison, top: int | None = None) -> str:
    """The whole answer as one self-contained page; nothing is loaded."""
    title = escape(_title(answer))
    kind = "answer" if any(row.rank for row in answer.choices) else "answer none"
    body = [f"<h1>{title}</h1>", f'<p class="{kind}">{escape(answer.summary)}</p>']
    body += [section_html(section) for section in compare_sections(answer, top)]
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style>"
    )
    text = "\n".join(body)
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n{text}\n</body></html>\n'


def compare_csv(answer: Comparison, top: int | None = None) -> str:
    """One line a choice under the names of the JSON's fields; all of them unless `top` says how many comply at most."""
    out = io.StringIO()
    sheet = csv.writer(out, lineterminator="\n")
    sheet.writerow(("scenario", "by", *SHEET_COLUMNS))
    for row in answer.choices:
        if top is not None and row.rank is not None and row.rank > top:
            continue
        fields = row.model_dump(mode="json")
        fields["stopped_by"] = "; ".join(item.requirement or item.text for item in row.stopped_by)
        fields["discounts"] = "; ".join(row.discounts)
        cells = [fields[name] for name in SHEET_COLUMNS]
        sheet.writerow((answer.scenario, answer.by, *("" if cell is None else cell for cell in cells)))
    return out.getvalue()


def _title(answer: Comparison) -> str:
    return f"{answer.scenario} by {answer.by.replace('_', ' ')}"


def compare_sections(answer: Comparison, top: int | None) -> tuple[Section, ...]:
    """Those that comply, those that the policy bars, those that fail; for hosting what the order rests on."""
    most = top or MOST_SHOWN
    parts = [
        _complying(answer, most),
        _not_admitted(answer, most),
        _failing(answer),
        *(_hosting(answer.hosting) if answer.hosting else ()),
        _basis(answer),
    ]
    return tuple(part for part in parts if part.lines or (part.table and part.table.rows))


def _of(answer: Comparison, verdict: str) -> list[Compared]:
    return [row for row in answer.choices if row.verdict == verdict]


def _complying(answer: Comparison, most: int) -> Section:
    rows = _of(answer, "complies")
    hidden = len(rows) - most
    lines = [f"{hidden} dearer ones are left out; --top {len(rows)} shows them"] if hidden > 0 else []
    lines += sorted({f"{row.choice}: {text}" for row in rows[:most] for text in row.discounts})
    what = answer.by.replace("_", " ")
    headings = (">", what, ">$/month", ">more", ">$/M tokens", ">$/request", ">GPUs", ">price", "plan")
    lines += _idle(rows[:most])
    return Section("What complies", tuple(lines), Table(headings, tuple(_row(row) for row in rows[:most])))


def _row(row: Compared) -> tuple[str, ...]:
    more = "" if not row.difference_usd else change(row.difference_usd)
    return (str(row.rank), row.choice, f"{row.monthly_cost_usd:,.2f}", more, *_figures(row), row.summary)


def _idle(rows: Sequence[Compared]) -> list[str]:
    """What the idle GPUs of each plan cost, where it has some."""
    paid = [f"{row.choice} {money(row.idle_gpus_usd)}" for row in rows if row.idle_gpus and row.idle_gpus_usd]
    return [f"of it for GPUs that nothing runs on: {', '.join(paid)}"] if paid else []


def _figures(row: Compared) -> tuple[str, ...]:
    gpus = f"{row.gpus}, {row.idle_gpus} idle" if row.idle_gpus else str(row.gpus)
    price = f"{row.price_age_days} d" + ("" if row.price_confidence == "listed" else f", {row.price_confidence}")
    return (_unit(row.cost_per_million_tokens_usd), _unit(row.cost_per_request_usd), gpus, price)


def _unit(amount: Decimal | None) -> str:
    return "" if amount is None else significant(amount)


def _not_admitted(answer: Comparison, most: int) -> Section:
    """What would comply if the policy's lists let it in, and which of them keeps it out."""
    rows = _of(answer, "not_admitted")
    table = [
        (row.choice, f"{row.monthly_cost_usd:,.2f}", _signed(row.difference_usd), _fields(row), row.summary)
        for row in rows[:most]
    ]
    hidden = len(rows) - most
    lines = (f"{hidden} dearer ones are left out",) if hidden > 0 else ()
    headings = (answer.by.replace("_", " "), ">$/month", ">difference", "kept out by", "plan")
    return Section("What would comply if the policy admitted it", lines, Table(headings, tuple(table)))


def _signed(amount: Decimal | None) -> str:
    return "" if amount is None else change(amount)


def _fields(row: Compared) -> str:
    return ", ".join(dict.fromkeys(item.requirement or "supply" for item in row.stopped_by))


def _failing(answer: Comparison) -> Section:
    """Choices by the first requirement that stops them, with the words of the first of each group."""
    rows = sorted(_of(answer, "fails"), key=lambda row: (_stop(row), row.choice))
    lines = []
    for _, group in groupby(rows, key=_stop):
        same = list(group)
        names = ", ".join(row.choice for row in same[:MOST_NAMED])
        names += f" and {len(same) - MOST_NAMED} more" if len(same) > MOST_NAMED else ""
        first = same[0].stopped_by[0].text if same[0].stopped_by else "no plan meets the scenario"
        which = f" ({same[0].choice})" if len(same) > 1 else ""
        also = ", ".join(_others(same[0]))
        lines.append(f"{names}: {first}{which}{f'; also {also}' if also else ''}")
    return Section("What cannot comply, and why", tuple(lines))


def _stop(row: Compared) -> str:
    return (row.stopped_by[0].requirement or row.stopped_by[0].text) if row.stopped_by else ""


def _others(row: Compared) -> list[str]:
    return list(dict.fromkeys(i.requirement for i in row.stopped_by[1:] if i.requirement not in ("", _stop(row))))


def _hosting(facts: HostingFacts) -> Iterable[Section]:
    yield Section("Where the order flips", _flips(facts))
    yield _curve(facts)
    yield Section("How busy a fleet must be", tuple(item.text for item in facts.utilization))
    yield _apis(facts)
    yield Section("Hardware of one's own, a month", tuple(_owned(item) for item in facts.owned))
    yield Section("Read with care", tuple(facts.notes))


def _flips(facts: HostingFacts) -> tuple[str, ...]:
    if facts.break_evens:
        return tuple(item.text for item in facts.break_evens)
    if len(facts.curve[0].monthly_cost_usd) < 2:
        return ()
    first, last = facts.curve[0].requests_per_month, facts.curve[-1].requests_per_month
    return (f"nowhere between {first:,.0f} and {last:,.0f} requests a month",)


def _curve(facts: HostingFacts) -> Section:
    ways = list(facts.curve[0].monthly_cost_usd)
    rows = [
        (f"{point.requests_per_month:,.0f}", *(_cost(point.monthly_cost_usd[way]) for way in ways))
        for point in facts.curve
    ]
    headings = (">requests a month", *(f">{way}, $/month" for way in ways))
    return Section("Cost by demand", (), Table(headings, tuple(rows) if ways else ()))


def _cost(amount: Decimal | None) -> str:
    return "no plan" if amount is None else f"{amount:,.2f}"


def _apis(facts: HostingFacts) -> Section:
    rows = [
        (
            f"{item.workload} {item.request_class}",
            f"{item.provider}: {item.api}",
            _unit(item.usd_per_million_input_tokens),
            _unit(item.usd_per_million_cached_input_tokens),
            _unit(item.usd_per_million_output_tokens),
            _unit(item.usd_per_request),
            f"{item.monthly_cost_usd:,.2f}",
        )
        for item in facts.apis
    ]
    headings = ("class", "API", ">$/M in", ">cached", ">$/M out", ">$/request", ">$/month")
    return Section("By API", (), Table(headings, tuple(rows)))


def _owned(item: OwnedCost) -> str:
    parts = ", ".join(f"{name} {money(amount)}" for name, amount in item.parts_usd.items())
    return f"{item.instances}× {item.offer}: {money(item.monthly_cost_usd)}{f' ({parts})' if parts else ''}"


def _basis(answer: Comparison) -> Section:
    rows = [row for row in answer.choices if row.rank is not None]
    proven = sum(row.outcome == "optimal" for row in rows)
    lines = [f"{proven} of {len(rows)} plans are proven optimal under their choice"] if rows else []
    lines += _estimated(rows)
    as_of = f"prices and facts as of {answer.catalog_as_of.isoformat()}"
    bound = f"planned on the {answer.confidence * 100:g} % bound"
    lines.append(f"{answer.requests_per_month:,.0f} requests a month; {as_of}; {bound}")
    return Section("How sure", tuple(lines))


def _estimated(rows: Sequence[Compared]) -> list[str]:
    names = [row.choice for row in rows if row.performance == "estimated"]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return [f"nobody measured hardware in the plans of {', '.join(names[:MOST_NAMED])}{more}"] if names else []
