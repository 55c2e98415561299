"""Answers as self-contained HTML pages, all in one style."""

import re
from collections.abc import Iterable, Sequence
from html import escape

from optimizer.report.layout.elements import Section, Table

STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --soft: #444; --line: #ddd; }
:root { --yes: #009E73; --no: #D55E00; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
body { max-width: 62rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
.answer { font-size: 1.2rem; border-left: .3rem solid var(--yes); padding-left: .8rem; }
.none { border-color: var(--no); }
.rest { border-top: .2rem solid var(--line); margin-top: 3rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .95rem; }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
th, td { padding: .3rem .7rem .3rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
tbody th { font-weight: normal; min-width: 9rem; }
th.right, td.right { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0; break-inside: avoid; } figcaption { color: var(--soft); font-size: .95rem; }
img, figure svg { width: 100%; min-width: 42rem; max-width: 46rem; height: auto; }
a { color: inherit; }
ul { padding-left: 1.2rem; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --paper: #161616; --soft: #b5b5b5; --line: #444; --yes: #2FD6A3; --no: #FF8A3D; }
  img, figure svg { filter: invert(.91) hue-rotate(180deg); }
}
@media print {
  :root { color-scheme: light; --ink: #000; --paper: #fff; --soft: #444; --line: #ddd; }
  body { font-size: 11px; padding: 0; } h2 { break-after: avoid; } tr { break-inside: avoid; }
  .rest { break-before: page; } img, figure svg { min-width: 0; filter: none; }
}
"""
"""Ink on paper, or light on dark where the reader's system asks for that; charts scroll before they get small."""


WEB = re.compile(r"https?://\S+")


def answer_html(title: str, summary: str, found: bool, parts: Iterable[str], rest: Iterable[str] = ()) -> str:
    """One self-contained page, nothing is loaded.

    Args:
        title: Of the page.
        summary: The answer in a sentence.
        found: Whether there is one; where not, it is marked.
        parts: HTML for who decides: printed, they are pages of their own.
        rest: HTML for who wants to know more.
    """
    name = escape(title)
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name}</title><style>{STYLE}</style>"
    )
    answer = f'<p class="{"answer" if found else "answer none"}">{escape(summary)}</p>'
    more = [*rest]
    wrapped = ['<div class="rest">', *more, "</div>"] if more else []
    body = "\n".join(["<main>", f"<h1>{name}</h1>", answer, *parts, *wrapped, "</main>"])
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def section_html(section: Section) -> str:
    """One section: heading, list, table."""
    lines = "".join(f"<li>{escape(line)}</li>" for line in section.lines if line)
    items = f"<ul>{lines}</ul>" if lines else ""
    table = _table(section.title, section.table) if section.table.rows else ""
    return f"<h2>{escape(section.title)}</h2>{items}{table}"


def drawing_html(name: str, svg: str) -> str:
    """An SVG document within the page, its words found and read aloud like any other."""
    inside = svg[svg.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{escape(name)}"', 1)
    return f"<figure>{scrolling(name, inside)}</figure>"


def links_html(title: str, places: Iterable[tuple[str, str]]) -> str:
    """A list of names, each a link where there is an address of the web; nothing without names."""
    items = "".join(
        f'<li><a href="{escape(url)}">{escape(name)}</a></li>' if WEB.fullmatch(url) else f"<li>{escape(name)}</li>"
        for name, url in places
    )
    return f"<h2>{escape(title)}</h2><ul>{items}</ul>" if items else ""


def scrolling(name: str, content: str) -> str:
    """Content that scrolls sideways where the screen is narrow, by keys, too."""
    return f'<div class="wide" role="region" tabindex="0" aria-label="{escape(name)}">{content}</div>'


def _table(title: str, table: Table) -> str:
    """Headings name their column, the first cell of a row its row, and the section's title the whole."""
    columns = table.columns
    head = "".join(_cell("th", heading, right, 'scope="col"') for heading, right in columns)
    rows = "".join(f"<tr>{_row(row, columns)}</tr>" for row in table.rows)
    caption = f"<caption>{escape(title)}</caption>"
    return scrolling(title, f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")


def _row(cells: Iterable[str], columns: Sequence[tuple[str, bool]]) -> str:
    return "".join(
        _cell("td" if position else "th", cell, right, "" if position else 'scope="row"')
        for position, (cell, (_, right)) in enumerate(zip(cells, columns, strict=True))
    )


def _cell(tag: str, text: str, right: bool, scope: str) -> str:
    attributes = " ".join(filter(None, (tag, scope, 'class="right"' if right else "")))
    return f"<{attributes}>{escape(text.strip())}</{tag}>"
