"""A gate's verdicts as lines of a CSV file that remembers them all, and what the month came to at each."""

import csv
import io
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Final, NamedTuple

from optimizer.answers.gate.types import GateReport
from optimizer.base.errors import Finding, InputError
from optimizer.report.layout.bars import bar
from optimizer.report.layout.columns import table_of
from optimizer.report.layout.elements import Table

COLUMNS: Final = (
    *("day", "verdict", "before_usd", "after_usd", "change_usd", "change_percent", "broken", "warned"),
    *("scenarios", "catalogs_as_of", "run_url"),
)

MOST_SHOWN: Final = 12
"""Verdicts, the last of them."""
MOST_DIGITS: Final = 15
"""Of an amount in US dollars, before its point: more is a slip."""


class Remembered(NamedTuple):
    """A verdict as a history tells it: what the month came to, where it had a plan, and how that had moved."""

    day: str
    verdict: str
    after_usd: Decimal | None
    change_usd: Decimal | None


def verdicts_in(history: str, file: str) -> list[Remembered]:
    """The verdicts of a history, none where it is empty.

    Raises:
        InputError: the file has other columns, a line of other length, or an amount that is none.
    """
    heading, *lines = list(csv.reader(io.StringIO(history))) or [[*COLUMNS]]
    if tuple(heading) != COLUMNS:
        problem = f"is no history of a gate: its first line is not {','.join(COLUMNS)}"
        raise InputError([Finding(file, 1, "", problem, "name another file for --history")])
    found = []
    for number, cells in enumerate(lines, start=2):
        if len(cells) != len(COLUMNS):
            raise InputError([Finding(file, number, "", f"{len(cells)} cells, not {len(COLUMNS)}", "mend the line")])
        said = dict(zip(COLUMNS, cells, strict=True))
        after, change_usd = (_amount(said[field], field, file, number) for field in ("after_usd", "change_usd"))
        found.append(Remembered(said["day"], said["verdict"], after, change_usd))
    return found


def _amount(text: str, field: str, file: str, line: int) -> Decimal | None:
    """US dollars; None where there was nothing to say."""
    try:
        amount = Decimal(text) if text else None
    except InvalidOperation:
        amount = Decimal("NaN")
    if amount is not None and not (amount.is_finite() and amount.adjusted() < MOST_DIGITS):
        raise InputError([Finding(file, line, field, f"{text!r} is no amount", "mend the line")])
    return amount


def appended(history: str, report: GateReport, *, day: str, run_url: str, file: str) -> str:
    """What was remembered, and this verdict behind it.

    Args:
        history: The file so far; empty before the first verdict.
        report: What the gate says.
        day: The day that ages are counted from; empty where nobody said.
        run_url: Where the run can be looked at; empty where nobody said.
        file: The history as messages name it.

    Raises:
        InputError: the file is no history.
    """
    verdicts_in(history, file)
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    if not history:
        rows.writerow(COLUMNS)
    broken = dict.fromkeys(reason.guardrail or reason.rule for reason in report.reasons)
    warned = dict.fromkeys(each.guardrail or each.rule for each in report.warnings if each.rule)
    amounts = report.model_dump(mode="json", include={"before_usd", "after_usd", "change_usd", "change_percent"})
    rows.writerow(
        (
            day,
            report.verdict,
            *(amounts[name] for name in ("before_usd", "after_usd", "change_usd", "change_percent")),
            " ".join(broken),
            " ".join(map(str, warned)),
            len(report.scenarios),
            report.catalogs_as_of,
            run_url,
        )
    )
    return "".join(f"{line}\n" for line in history.splitlines()) + written.getvalue()


def course_of(verdicts: Sequence[Remembered]) -> Table:
    """What the month came to at each of the last verdicts, as bars."""
    shown = verdicts[-MOST_SHOWN:]
    highest = max((each.after_usd for each in shown if each.after_usd is not None), default=Decimal(0))
    return table_of(
        shown,
        {
            "day": "{day}",
            "verdict": lambda each: each.verdict.replace("_", " "),
            ">a month": "{after_usd:money}",
            "": lambda each: bar(each.after_usd, highest),
            ">change": "{change_usd:change}",
        },
    )
