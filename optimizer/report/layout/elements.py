"""What every report is made of: titled sections of lines and a table."""

from collections.abc import Container, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Rows under headings; headings that start with '>' are right-aligned."""

    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()

    @property
    def columns(self) -> list[tuple[str, bool]]:
        """Every heading, and whether what stands under it is right-aligned."""
        return [(heading.lstrip(">"), heading.startswith(">")) for heading in self.headings]

    def without(self, headings: Container[str]) -> "Table":
        """The same without some columns."""
        kept = [number for number, heading in enumerate(self.headings) if heading not in headings]
        rows = (tuple(row[number] for number in kept) for row in self.rows)
        return Table(tuple(self.headings[number] for number in kept), tuple(rows))


@dataclass(frozen=True)
class Section:
    """A titled part of a report: lines, of which empty ones are left out, then a table if it has rows.

    Attributes:
        title: What it is about.
        lines: A thought each.
        table: Below them.
        run_in: Whether a text prints the lines as one behind the title.
    """

    title: str
    lines: tuple[str, ...] = ()
    table: Table = Table()
    run_in: bool = False


@dataclass(frozen=True)
class WrittenAnswer:
    """A whole report: sections, under the answer in a sentence and a title; a listing has neither of the two.

    What stands beside the answer is a line of its own, right below it.
    """

    sections: tuple[Section, ...]
    summary: str = ""
    title: str = ""
    beside: str = ""


def with_content(sections: Iterable[Section]) -> tuple[Section, ...]:
    """The sections that have something to say."""
    return tuple(section for section in sections if section.lines or section.table.rows)
