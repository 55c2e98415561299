"""Sections as HTML, and the one style sheet of every page."""

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


def section_html(section: Section) -> str:
    """One section: heading, list, table."""
    lines = "".join(f"<li>{escape(line)}</li>" for line in section.lines if line)
    parts = [f"<h2>{escape(section.title)}</h2>", f"<ul>{lines}</ul>" if lines else ""]
    if section.table is not None and section.table.rows:
        parts.append(_table(section.table))
    return "".join(parts)


def _table(table: Table) -> str:
    right = [heading.startswith(">") for heading in table.headings]
    head = "".join(_cell("th", text.lstrip(">"), on) for text, on in zip(table.headings, right, strict=True))
    rows = "".join(
        f"<tr>{''.join(_cell('td', text.strip(), on) for text, on in zip(row, right, strict=True))}</tr>"
        for row in table.rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _cell(tag: str, text: str, right: bool) -> str:
    return f"<{tag}{' class=right' if right else ''}>{escape(text)}</{tag}>"
