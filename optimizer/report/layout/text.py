"""Answers as terminal text: the answer in the first line, aligned tables, readable without colour."""

from io import StringIO
from textwrap import wrap

from rich.console import Console
from rich.table import Table as RichTable

from optimizer.report.layout.elements import Section, Table, WrittenAnswer

DEFAULT_WIDTH = 120
INDENT = "  "


def answer_text(answer: WrittenAnswer, width: int = DEFAULT_WIDTH) -> str:
    """The answer in a sentence, then its sections, ending in a newline."""
    lines = (wrap(line, width, break_on_hyphens=False) for line in (answer.summary, answer.beside))
    summary = "\n".join(part for line in lines for part in line)
    sections = (section_text(section, width) for section in answer.sections)
    return "\n\n".join([*filter(None, [summary]), *sections]) + "\n"


def section_text(section: Section, width: int = DEFAULT_WIDTH) -> str:
    """One section: title, lines, table; headings without a word are left out."""
    if section.run_in:
        joined = f"{section.title}: {'; '.join(filter(None, section.lines))}"
        lines = wrap(joined, width, subsequent_indent=INDENT, break_on_hyphens=False)
    else:
        lines = [section.title, *(_wrapped(line, width) for line in section.lines if line)]
    if section.table.rows:
        lines.append(table_text(section.table, width))
    return "\n".join(lines)


def table_text(table: Table, width: int = DEFAULT_WIDTH) -> str:
    """An aligned table, indented by two, without trailing blanks."""
    named = any(heading for heading, _ in table.columns)
    grid = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="", show_header=named)
    for heading, right in table.columns:
        grid.add_column(heading, justify="right" if right else "left", overflow="fold")
    for row in table.rows:
        grid.add_row(*row)
    out = StringIO()
    Console(file=out, width=width - 2, color_system=None, markup=False, highlight=False, emoji=False).print(grid)
    return "\n".join(f"{INDENT}{line}".rstrip() for line in out.getvalue().splitlines())


def _wrapped(line: str, width: int) -> str:
    hanging = 2 * INDENT
    return "\n".join(wrap(line, width, initial_indent=INDENT, subsequent_indent=hanging, break_on_hyphens=False))
