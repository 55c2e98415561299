"""One kind of row read from strict CSV files: every problem is a finding with its file, line and field."""

import csv
import io
import os
from codecs import BOM_UTF8
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from optimizer.base.errors import Finding, InputError, did_you_mean
from optimizer.base.files import read_bytes
from optimizer.base.signs import PROSE, unseen

Row = TypeVar("Row", bound=BaseModel)

SHOWN_CHARACTERS: Final = 60
"""Of a bad cell in a message."""

SEEN: Final = bytes(code for code in range(128) if chr(code).isprintable())
"""The signs of ASCII that show something, and the blank."""


@dataclass(frozen=True)
class LocatedRow(Generic[Row]):
    """A row and where it stands."""

    row: Row
    file: str
    line: int

    def finding(self, field: str, problem: str, hint: str = "") -> Finding:
        """A problem of this row."""
        return Finding(self.file, self.line, field, problem, hint)


Rows = Mapping[Hashable, LocatedRow[Any]]
"""The rows of one table by key."""
AllRows = Mapping[str, Rows]
"""The rows of all tables by the table's name."""


@dataclass(frozen=True)
class CsvTable(Generic[Row]):
    """A kind of row: the files that hold it, its type and what makes a row the same row.

    Attributes:
        files: Names of the CSV files; rows of all of them form one table.
        row: The type of a row; its fields are the columns, a blank cell means the field's default.
        key_fields: The columns that a row is known by; rows of an overlay replace shipped rows with the same key.
        own_key: The key where it is not the columns' values.
        private: Whether such rows are the user's own and none are shipped.
    """

    files: tuple[str, ...]
    row: type[Row]
    key_fields: str
    own_key: Callable[[Row], Hashable] | None = None
    private: bool = False

    @cached_property
    def key(self) -> Callable[[Row], Hashable]:
        """What a row is known by."""
        return self.own_key or attrgetter(*self.key_fields.split(", "))

    def read(self, folder: Path, label: str, findings: list[Finding]) -> dict[Hashable, LocatedRow[Row]]:
        """The rows of the table's files in a folder, by key; files that aren't there are skipped.

        Args:
            folder: Where the files are.
            label: The folder as messages name it.
            findings: Every problem is added here, and its row left out.
        """
        placed: dict[Hashable, LocatedRow[Row]] = {}
        for name in self.files:
            path = folder / name
            if not os.path.lexists(path):
                continue
            for item in self._rows(path, f"{label}/{name}", findings):
                first = placed.setdefault(self.key(item.row), item)
                if first is not item:
                    problem = f"the same key as {first.file}:{first.line}"
                    findings.append(item.finding(self.key_fields, problem, "keep one row"))
        return placed

    def _rows(self, path: Path, file: str, findings: list[Finding]) -> Iterator[LocatedRow[Row]]:
        lists = frozenset(
            name for name, field in self.row.model_fields.items() if get_origin(field.annotation) is tuple
        )
        raw, lines = _cells(path, file, self.row, findings)
        _split_lists(raw, lists)
        # the row's own validator: one of lists of it would be built for every file that is read
        validated = self.row.__pydantic_validator__.validate_python
        try:
            rows = [validated(cells) for cells in raw]
        except ValidationError:
            rows, lines = self._sound(raw, lines, file, findings)
        return (LocatedRow(row, file, line) for row, line in zip(rows, lines, strict=True))

    def _sound(
        self, raw: list[dict[str, Any]], lines: list[int], file: str, findings: list[Finding]
    ) -> tuple[list[Row], list[int]]:
        """The rows without a problem and their lines; each problem is added to the findings."""
        try:
            return TypeAdapter(list[self.row]).validate_python(raw), lines  # type: ignore[name-defined]
        except ValidationError as error:
            broken = {int(details["loc"][0]) for details in error.errors()}
            findings.extend(_bad_value(details, file, lines) for details in error.errors())
            sound = [
                (cell, line) for index, (cell, line) in enumerate(zip(raw, lines, strict=True)) if index not in broken
            ]
            return [self.row.model_validate(cell) for cell, _ in sound], [line for _, line in sound]


def _split_lists(rows: list[dict[str, Any]], lists: frozenset[str]) -> None:
    """Cells of columns that hold several names, separated by spaces, become lists of them."""
    for row in rows:
        for name in lists & row.keys():
            row[name] = row[name].split()


def _bad_value(details: Any, file: str, lines: list[int]) -> Finding:
    """Pydantic's complaint about one cell, in our words where they are plainer."""
    line, field = lines[int(details["loc"][0])], ".".join(str(step) for step in details["loc"][1:])
    if details["type"] == "missing":
        return Finding(file, line, field, "is blank", "this column has no default")
    shown, problem = str(details["input"])[:SHOWN_CHARACTERS], details["msg"].removeprefix("Value error, ")
    return Finding(file, line, field, f"'{shown}': {problem}")


def _cells(path: Path, file: str, row: type[BaseModel], found: list[Finding]) -> tuple[list[dict[str, Any]], list[int]]:
    """The cells of a file that are not blank, by column, and the line on which each row starts."""
    cells: list[dict[str, Any]] = []
    lines: list[int] = []
    try:
        content = read_bytes(path)
        stream = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
    except InputError as error:
        found.extend(replace(finding, file=file) for finding in error.findings)
        return [], []
    reader = csv.reader(stream, strict=True)
    try:
        header = next(reader, [])
        problems = list(_header_problems(header, file, row))
        found.extend(problems)
        if problems:
            return [], []
        end, hides = reader.line_num, _may_hide(content)
        for values in reader:
            start, end = end + 1, reader.line_num
            if hides:
                found.extend(hidden_signs(header, values, file, start))
            if len(values) == len(header):
                stripped = zip(header, map(str.strip, values), strict=True)
                cells.append({name: text for name, text in stripped if text})
                lines.append(start)
            elif values:
                found.append(Finding(file, start, "", f"{len(values)} cells under {len(header)} columns"))
    except csv.Error as error:
        found.append(Finding(file, reader.line_num, "", f"broken CSV: {error}"))
    except UnicodeDecodeError as error:
        found.append(Finding(file, reader.line_num + 1, "", f"not UTF-8: {error.reason}", "save it as UTF-8"))
    return cells, lines


def _may_hide(content: bytes) -> bool:
    """Whether a file holds a sign that nobody sees anywhere; a look at all of it, before one at each row.

    Nearly all of a file are signs of ASCII that everybody sees, which no byte of another sign in UTF-8 is.
    """
    others = content.removeprefix(BOM_UTF8).translate(None, SEEN)
    return bool(unseen(others.decode("utf-8", errors="replace"), lines=True))


def hidden_signs(header: Sequence[str], values: Sequence[str], file: str, line: int) -> Iterator[Finding]:
    """Cells of a row that hold what nobody sees, each by its column."""
    if unseen("".join(values), lines=True):
        for name, value in zip(header, values, strict=False):
            if problem := unseen(value, lines=True, prose=name in PROSE):
                yield Finding(file, line, name, problem, "write it without")


def _header_problems(header: list[str], file: str, row: type[BaseModel]) -> Iterator[Finding]:
    """Empty file, repeated, unknown and missing columns."""
    if not header:
        yield Finding(file, 1, "", "the file is empty", f"columns: {', '.join(row.model_fields)}")
        return
    for name in sorted(set(header)):
        if header.count(name) > 1:
            yield Finding(file, 1, name, "this column stands twice", "keep one")
        if name not in row.model_fields:
            hint = did_you_mean(name, row.model_fields) or f"columns: {', '.join(row.model_fields)}"
            yield Finding(file, 1, name, f"unknown column '{name}'", hint)
    for name, field in row.model_fields.items():
        if field.is_required() and name not in header:
            yield Finding(file, 1, name, "this column is missing")
