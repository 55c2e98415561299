"""Sections as terminal text: the answer in the first line, aligned tables, readable without colour."""

from collections.abc import Iterable, Sequence
from io import StringIO
from textwrap import wrap

from rich.console import Console
from rich.table import Table as RichTable

from optimizer.report.layout.elements import Section, Table

DEFAULT_WIDTH = 120


def answer_text(summary: str, sections: Iterable[Section], width: int = DEFAULT_WIDTH) -> str:
    """The answer in a sentence, then its sections, ending in a newline."""
    parts = [_wrapped(summary, width, indent=""), *(section_text(section, width) for section in sections)]
    return "\n\n".join(parts) + "\n"


def section_text(section: Section, width: int = DEFAULT_WIDTH) -> str:
    """One section: title, lines, table."""
    lines = [section.title, *(_wrapped(line, width) for line in section.lines if line)]
    if section.table is not None and section.table.rows:
        lines.append(table_text(section.table, width))
    return "\n".join(lines)


def table_text(table: Table, width: int = DEFAULT_WIDTH) -> str:
    """An aligned table, indented by two, without trailing blanks."""
    grid = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for heading in table.headings:
        grid.add_column(heading.lstrip(">"), justify="right" if heading.startswith(">") else "left", overflow="fold")
    for row in table.rows:
        grid.add_row(*row)
    out = StringIO()
    Console(file=out, width=width - 2, color_system=None, markup=False, highlight=False, emoji=False).print(grid)
    return _indented(out.getvalue().splitlines())


def _indented(lines: Sequence[str]) -> str:
    return "\n".join(f"  {line}".rstrip() for line in lines)


def _wrapped(line: str, width: int, indent: str = "  ") -> str:
    hanging = indent + "  " if indent else ""
    return "\n".join(wrap(line, width, initial_indent=indent, subsequent_indent=hanging, break_on_hyphens=False))
