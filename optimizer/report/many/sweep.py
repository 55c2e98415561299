"""The runs of a sweep as a table: what was set, how it ended, what it costs, what is bought."""

import io
import json
import re
from collections.abc import Sequence
from typing import Any, Final

from optimizer.answers.many.sweep.types import SweepReport, SweepRow
from optimizer.base.extras import optional
from optimizer.base.figures import exactly
from optimizer.report.layout.amounts import money
from optimizer.report.layout.elements import Section, Table, WrittenAnswer, with_content

MOST_SHOWN: Final = 100
"""Runs in a table that people read."""
AMOUNTS: Final = ("monthly_cost_usd", "cheapest_usd")
PARQUET_EXTRA: Final = "parquet"
OF_WHOM: Final = re.compile(r"^(policy|workloads\[[^\]]*\])\.")
OUTCOME_WORDS: Final = {
    "optimal": "optimal",
    "infeasible": "no plan",
    "feasible": "not proven",
    "unproven": "not found in time",
    "failed": "failed",
}


def sweep_answer(found: SweepReport, kept: str = "") -> WrittenAnswer:
    """A row a run in the order of the sweep, the cheapest marked, then why runs failed.

    Args:
        found: The runs.
        kept: Where all of them are written, if anywhere.
    """
    shown = found.rows[:MOST_SHOWN]
    names = _names(found.varied)
    rows = tuple(_row(row, found, cheapest=at in found.cheapest) for at, row in enumerate(shown))
    table = Table((*names, "outcome", ">a month", "", "plan"), rows)
    more = len(found.rows) - len(shown)
    lines = (f"the first {len(shown)}, and {more:,} more: {kept or '--output DIR keeps all'}",) if more else ()
    reasons = tuple(dict.fromkeys(row.reason for row in found.rows if row.reason))
    beside = f"All of it: {kept}" if kept else ""
    sections = (Section("Runs", lines, table), Section("What failed", reasons[:MOST_SHOWN]))
    return WrittenAnswer(with_content(sections), found.summary, f"Sweep of {found.scenario}", beside)


def _names(paths: Sequence[str]) -> tuple[str, ...]:
    """The paths without what goes without saying, where that keeps them apart."""
    short = tuple(OF_WHOM.sub("", path) for path in paths)
    return short if len(set(short)) == len(short) else tuple(paths)


def _row(row: SweepRow, found: SweepReport, *, cheapest: bool) -> tuple[str, ...]:
    values = (_value(row.inputs[path]) if path in row.inputs else "" for path in found.varied)
    bought = row.plan if row.holds is not False else f"{row.plan}; breaks a promise when simulated"
    mark = "cheapest" if cheapest else ""
    return (*values, OUTCOME_WORDS[row.outcome], money(row.monthly_cost_usd), mark, bought or row.reason)


def _value(value: object) -> str:
    """A value of a run as people write it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return exactly(value)
    if isinstance(value, list):
        return ", ".join(_value(item) for item in value) or "any"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_value(item)}" for name, item in value.items())
    return str(value)


def sweep_parquet(found: SweepReport) -> bytes:
    """The rows as a Parquet file: columns named as in the JSON, `inputs.PATH` for each path that is set.

    Values of a path that have not one simple type are JSON text.

    Raises:
        InputError: the library that writes such files is not installed; says how to install it.
    """
    library: Any = optional("pyarrow", extra=PARQUET_EXTRA)
    optional("pyarrow.parquet", extra=PARQUET_EXTRA)
    rows = [row.model_dump() for row in found.rows]
    columns = {name: [row[name] for row in rows] for name in SweepRow.model_fields if name != "inputs"}
    costs = {name: [None if usd is None else float(usd) for usd in columns[name]] for name in AMOUNTS}
    inputs = {f"inputs.{path}": _alike([row.inputs.get(path) for row in found.rows]) for path in found.varied}
    content = io.BytesIO()
    library.parquet.write_table(library.table({**columns, **costs, **inputs}), content)
    return content.getvalue()


def _alike(values: list[Any]) -> list[Any]:
    """Values of one simple type, or else as text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        return [None if value is None else float(value) for value in values]
    return values if len(kinds) == 1 and kinds <= {str, bool} else [json.dumps(value) for value in values]
