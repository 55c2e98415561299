"""Answers as self-contained HTML pages, all in one style."""

from collections.abc import Iterable
from html import escape

from optimizer.report.layout.elements import Section, Table

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 62rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.answer { font-size: 1.15rem; border-left: .3rem solid #009E73; padding-left: .8rem; }
.none { border-color: #D55E00; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; }
th, td { padding: .2rem .7rem .2rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid #ddd; }
th.right, td.right { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0; break-inside: avoid; } figcaption { color: #444; font-size: .9rem; }
img { width: 100%; max-width: 46rem; height: auto; } ul { padding-left: 1.2rem; overflow-wrap: anywhere; }
@media print { body { font-size: 11px; padding: 0; } h2 { break-after: avoid; } tr { break-inside: avoid; } }
"""


def answer_html(title: str, summary: str, found: bool, parts: Iterable[str]) -> str:
    """One self-contained page, nothing is loaded: the answer, marked where there is none, then parts that are HTML."""
    name = escape(title)
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name}</title><style>{STYLE}</style>"
    )
    answer = f'<p class="{"answer" if found else "answer none"}">{escape(summary)}</p>'
    body = "\n".join([f"<h1>{name}</h1>", answer, *parts])
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def section_html(section: Section) -> str:
    """One section: heading, list, table."""
    lines = "".join(f"<li>{escape(line)}</li>" for line in section.lines if line)
    items = f"<ul>{lines}</ul>" if lines else ""
    return f"<h2>{escape(section.title)}</h2>{items}{_table(section.table) if section.table.rows else ''}"


def _table(table: Table) -> str:
    head = _row("th", (heading for heading, _ in table.columns), table)
    rows = "".join(_row("td", row, table) for row in table.rows)
    return f'<div class="wide"><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>'


def _row(tag: str, cells: Iterable[str], table: Table) -> str:
    return "<tr>{}</tr>".format(
        "".join(
            f"<{tag}{' class=right' if right else ''}>{escape(cell.strip())}</{tag}>"
            for cell, (_, right) in zip(cells, table.columns, strict=True)
        )
    )
