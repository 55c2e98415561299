"""A gate's verdict as one line of a CSV file that remembers them all."""

import csv
import io
from typing import Final

from optimizer.answers.gate.types import GateReport
from optimizer.base.errors import Finding, InputError

COLUMNS: Final = (
    *("day", "verdict", "before_usd", "after_usd", "change_usd", "change_percent", "broken", "warned"),
    *("scenarios", "catalogs_as_of", "run_url"),
)


def check_history(history: str, file: str) -> None:
    """Whether a file remembers verdicts, or nothing yet.

    Raises:
        InputError: it has other columns.
    """
    heading = ",".join(COLUMNS)
    if history and history.splitlines()[0] != heading:
        problem = f"is no history of a gate: its first line is not {heading}"
        raise InputError([Finding(file, 1, "", problem, "name another file for --history")])


def appended(history: str, report: GateReport, *, day: str, run_url: str, file: str) -> str:
    """What was remembered, and this verdict behind it.

    Args:
        history: The file so far; empty before the first verdict.
        report: What the gate says.
        day: The day that ages are counted from; empty where nobody said.
        run_url: Where the run can be looked at; empty where nobody said.
        file: The history as messages name it.

    Raises:
        InputError: the file has other columns.
    """
    check_history(history, file)
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
