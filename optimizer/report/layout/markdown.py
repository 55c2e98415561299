"""Sections as Markdown for a design review."""

from collections.abc import Iterable

from optimizer.report.layout.elements import Section, Table


def answer_markdown(title: str, summary: str, sections: Iterable[Section]) -> str:
    """A title, the answer in a sentence, then its sections."""
    parts = [f"# {title}", escaped(summary), *(section_markdown(section) for section in sections)]
    return "\n\n".join(parts) + "\n"


def section_markdown(section: Section) -> str:
    """One section: heading, bullet lines, table."""
    parts = [f"## {section.title}"]
    if any(section.lines):
        parts.append("\n".join(f"- {escaped(line)}" for line in section.lines if line))
    if section.table is not None and section.table.rows:
        parts.append(table_markdown(section.table))
    return "\n\n".join(parts)


def table_markdown(table: Table) -> str:
    """A pipe table; right-aligned where the heading asks for it."""
    headings = [heading.lstrip(">") for heading in table.headings]
    rule = ["---:" if heading.startswith(">") else "---" for heading in table.headings]
    rows = [headings, rule, *([escaped(cell.strip()) for cell in row] for row in table.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
