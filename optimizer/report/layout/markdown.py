"""Answers as Markdown for a design review."""

from optimizer.report.layout.elements import Section, Table, WrittenAnswer


def answer_markdown(answer: WrittenAnswer) -> str:
    """A title, the answer in a sentence, then its sections."""
    head = [f"# {answer.title}" if answer.title else "", escaped(answer.summary), escaped(answer.beside)]
    return "\n\n".join([*filter(None, head), *map(section_markdown, answer.sections)]) + "\n"


def section_markdown(section: Section) -> str:
    """One section: heading, bullet lines, table."""
    bullets = "\n".join(f"- {escaped(line)}" for line in section.lines if line)
    table = table_markdown(section.table) if section.table.rows else ""
    return "\n\n".join(filter(None, (f"## {section.title}", bullets, table)))


def table_markdown(table: Table) -> str:
    """A pipe table; right-aligned where the heading asks for it."""
    headings, right = zip(*table.columns, strict=True)
    rule = ["---:" if on else "---" for on in right]
    rows = [headings, rule, *([escaped(cell.strip()) for cell in row] for row in table.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def escaped(text: str) -> str:
    """Text that Markdown shows as it is; what stands between backticks is code, where only a table's line counts."""
    plain, *rest = text.replace("|", "\\|").split("`")
    parts = [_shown(plain), *(each if number % 2 == 0 else _shown(each) for number, each in enumerate(rest))]
    return "`".join(parts)


def _shown(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
