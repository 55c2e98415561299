"""Answers as Markdown for a design review."""

import re
from typing import Final

from optimizer.report.layout.elements import Section, Table, WrittenAnswer

CODE: Final = re.compile(r"(?<!`)(`[^`]+`)(?!`)")
"""What Markdown takes for code where all other backticks are escaped."""
SIGNS: Final = re.compile(r"([\\`*_|~]|\](?=[(\[:])|&(?=#?\w+;))")
"""Emphasis, code, columns of tables, ends of links and images, entities."""
ADDRESS: Final = re.compile(r"(?<=:)(?=//)|(?<=\bwww)(?=\.)", re.IGNORECASE)
"""Where an address becomes a link of itself."""
MENTION: Final = re.compile(
    r"((?<!\w)@(?=\w)|@(?=[\w\\-]+\.\w)|[#!](?=\d)|\b[Gg][Hh](?=-\d)"
    r"|\$(?=\Z|\$|[^$\d][^$]*\$)|:(?=(?!\d\d?:)[\w+\\-]+:))",
    re.ASCII,
)
"""Of people and addresses, of issues and pull requests; and where a formula or an emoji's code may begin."""
NO_WIDTH: Final = "&#8203;"
LINE_START: Final = re.compile(r"^((?:\d+(?=[.)]))?)([>\[]|(?:[-+.)]|#+)(?=\s|$))")
"""A heading, a quotation, a list, a box to tick, the address of a link."""


def answer_markdown(answer: WrittenAnswer) -> str:
    """A title, the answer in a sentence, then its sections."""
    head = [f"# {escaped(answer.title)}" if answer.title else "", escaped(answer.summary), escaped(answer.beside)]
    return "\n\n".join([*filter(None, head), *map(section_markdown, answer.sections)]) + "\n"


def section_markdown(section: Section) -> str:
    """One section: heading, bullet lines, table."""
    bullets = "\n".join(f"- {escaped(line)}" for line in section.lines if line)
    table = table_markdown(section.table) if section.table.rows else ""
    return "\n\n".join(filter(None, (f"## {escaped(section.title)}", bullets, table)))


def table_markdown(table: Table) -> str:
    """A pipe table; right-aligned where the heading asks for it."""
    headings, right = zip(*table.columns, strict=True)
    rule = ["---:" if on else "---" for on in right]
    cells = ([escaped(cell.strip(), in_table=True) for cell in row] for row in (headings, *table.rows))
    rows = [next(cells), rule, *cells]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def escaped(text: str, *, in_table: bool = False) -> str:
    """Text that Markdown shows as it is, on one line; what stands between two single backticks is code and kept.

    Names come from other people's files: HTML, links, images, emphasis, headings, mentions of people (`@name`) and of
    issues (`#1`) are shown, not acted upon. Mentions are told by the finished page, where a backslash is gone: only a
    sign without width between keeps them apart, as Renovate does it.

    Args:
        text: Ours, with what it quotes.
        in_table: Whether it is a cell, where a bar ends even code.
    """
    parts = CODE.split(" ".join(text.splitlines()))
    bar = "\\|" if in_table else "|"
    shown = "".join(part.replace("|", bar) if at % 2 else _shown(part) for at, part in enumerate(parts))
    return LINE_START.sub(r"\1\\\2", shown.strip())


def code(text: str) -> str:
    """Text as code on one line, whatever backticks it holds."""
    plain = " ".join(text.splitlines())
    fence = "`" * (1 + max(map(len, re.findall("`+", plain)), default=0))
    blank = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{blank}{plain}{blank}{fence}"


def _shown(text: str) -> str:
    quoted = ADDRESS.sub(r"\\", SIGNS.sub(r"\\\1", text))
    return MENTION.sub(rf"\1{NO_WIDTH}", quoted).replace("<", "&lt;")
