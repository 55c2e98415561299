"""The results of own_measurements.py as docs/confirm.md shows them."""

from typing import Any

ASKED = {
    "configuration": "its other points",
    "model": "its model in another precision or layout",
    "gpu": "another model on its GPU",
}


def table(found: list[dict[str, Any]]) -> str:
    """The results as docs/confirm.md shows them: medians, 90th percentiles in brackets, and what intervals held."""
    lines = [
        "| known | asked | load | TPOT | TTFT | output tokens/s | held by 90 % intervals |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    cases = dict.fromkeys((row["level"], row["known"], row["same_load"]) for row in found)
    for case in cases:
        rows = [row for row in found if (row["level"], row["known"], row["same_load"]) == case]
        level, known, same_load = case
        cells = [_cell(row) for row in rows]
        held = [f"{row['held_before_percent']} → {row['held_after_percent']}" for row in rows]
        points, load = "1 point" if known == 1 else f"{known} points", "of the same kind" if same_load else "any"
        lines.append(f"| {' | '.join([points, ASKED[level], load, *cells, ', '.join(held)])} |")
    return "\n".join(lines) + "\n"


def _cell(row: dict[str, Any]) -> str:
    before, after = (f"{row[f'{each}_percent']} ({row[f'{each}_p90_percent']:.0f})" for each in ("before", "after"))
    return f"{before} → {after}"
