"""The fields of one run as a file holds them, read by name: whatever is no sound number or text is a finding."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.base.errors import Finding, InputError
from optimizer.base.figures import exactly, figure
from optimizer.base.signs import hidden_sign

MAX_NUMBER: Final = 1e15
"""No count and no latency of a real run reaches this, not even in nanoseconds."""

MAX_TEXT: Final = 300
"""Characters of a name or a label."""

SHOWN_CHARACTERS: Final = 40

MS_PER: Final[Mapping[str, float]] = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "sec": 1e3}
"""Milliseconds in a unit of time, by the names that result files use."""


@dataclass(frozen=True)
class RunFields:
    """RunFields of a run, and everything wrong with them so far.

    Attributes:
        file: The file as the user named it.
        run: Which run of it.
        line: Where the run stands; 0 where the file holds one.
        content: The fields by name.
        as_text: Whether numbers are written as text, as in CSV.
        path: Where these fields stand in the run, with a dot at the end; empty for the run itself.
        findings: Shared by all groups of a run.
    """

    file: str
    run: str
    line: int
    content: Mapping[str, Any]
    as_text: bool = False
    path: str = ""
    findings: list[Finding] = field(default_factory=list)

    def number(self, name: str, *, least: float = 0.0, required: bool = False) -> float | None:
        """A finite number from `least`; None where the field is missing or null."""
        value = self._given(name, required)
        if value is None:
            return None
        number = self._as_number(value)
        if not least <= number <= MAX_NUMBER:
            self.refuse(name, f"{_short(value)} is not a number from {figure(least)} to {figure(MAX_NUMBER)}")
            return None
        return number

    def count(self, name: str, *, least: int = 0, required: bool = False) -> int | None:
        """A whole number from `least`; None where the field is missing or null."""
        number = self.number(name, least=least, required=required)
        if number is not None and number % 1:
            self.refuse(name, f"{exactly(number)} is not a whole number")
            return None
        return None if number is None else int(number)

    def text(self, name: str, *, required: bool = False) -> str | None:
        """A text, without blanks around it; None where the field is missing, null or empty."""
        value = self._given(name, required)
        if value is None:
            return None
        if not isinstance(value, str) or len(value) > MAX_TEXT or hidden_sign(value):
            self.refuse(name, f"{_short(value)} is not a text of one line")
            return None
        return value.strip() or None

    def flag(self, name: str) -> bool | None:
        """Yes or no, also as text; None where the field is missing or null."""
        value = self._given(name, required=False)
        word = str(value).casefold()
        if value is not None and word not in ("true", "false"):
            self.refuse(name, f"{_short(value)} is not true or false")
            return None
        return None if value is None else word == "true"

    def numbers(self, name: str) -> Floats | None:
        """A list of numbers from zero, (n,); None where the field is missing or null."""
        value = self._given(name, required=False)
        if value is None:
            return None
        if not _all_numbers(value):
            self.refuse(name, "is not a list of numbers from zero")
            return None
        return np.array(value, dtype=np.float64)

    def sums(self, name: str) -> Floats | None:
        """The sum of each list in a list of lists of numbers, (n,); None where the field is missing or null."""
        value = self._given(name, required=False)
        if value is None:
            return None
        if not isinstance(value, list) or not all(map(_all_numbers, value)):
            self.refuse(name, "is not a list of lists of numbers from zero")
            return None
        return np.array([math.fsum(row) for row in value], dtype=np.float64)

    def group(self, name: str, *, required: bool = False) -> "RunFields":
        """The fields inside a field; none where it is missing or null. Their problems join these."""
        value = self._given(name, required)
        if value is not None and not isinstance(value, dict):
            self.refuse(name, "is not a group of fields")
        inside = value if isinstance(value, dict) else {}
        return replace(self, content=inside, path=f"{self.path}{name}.")

    def groups(self, name: str) -> Iterator["RunFields"]:
        """The groups of fields in a list; none where it is missing or null."""
        value = self._given(name, required=False)
        if value is not None and not isinstance(value, list):
            self.refuse(name, "is not a list")
        for position, item in enumerate(value if isinstance(value, list) else ()):
            place = f"{name}[{position}]"
            if not isinstance(item, dict):
                self.refuse(place, "is not a group of fields")
            yield replace(self, content=item if isinstance(item, dict) else {}, path=f"{self.path}{place}.")

    def statistics(self, names: Mapping[str, str], ms_per_unit: float = 1.0) -> dict[str, float]:
        """Statistics of a latency in milliseconds, those that are there; zero means that nothing was measured.

        Args:
            names: The field of each statistic by our name of it.
            ms_per_unit: Of the file's numbers.
        """
        found = {ours: self.number(theirs) for ours, theirs in names.items()}
        return {name: value * ms_per_unit for name, value in found.items() if value}

    def ms_per_unit(self, name: str) -> float:
        """Milliseconds in the unit that stands in this field; 1 where the group itself is not there."""
        if not self.content:
            return 1.0
        unit = self.text(name, required=True) or ""
        time = unit.partition("/")[0]
        if unit and time not in MS_PER:
            self.refuse(name, f"'{unit[:SHOWN_CHARACTERS]}' is no unit of time that is read: {', '.join(MS_PER)}")
        return MS_PER.get(time, 1.0)

    def labels(self, name: str) -> dict[str, str]:
        """A group of texts by name, such as the labels that a user gave a run."""
        given = self.group(name)
        return {
            key: text for key, value in given.content.items() if isinstance(value, str) and (text := given.text(key))
        }

    def refuse(self, name: str, problem: str, hint: str = "") -> None:
        """Adds a problem of a field."""
        inside = f"{self.run}." if self.run else ""
        self.findings.append(Finding(self.file, self.line, f"{inside}{self.path}{name}", problem, hint))

    def check(self) -> None:
        """Raises InputError with every problem so far."""
        if self.findings:
            raise InputError(self.findings)

    def _given(self, name: str, required: bool) -> Any:
        value = self.content.get(name)
        given = None if self.as_text and value == "" else value
        if given is None and required:
            self.refuse(name, "is missing")
        return given

    def _as_number(self, value: Any) -> float:
        """The number that a value is, NaN where it is none or cannot be held."""
        if self.as_text and isinstance(value, str):
            try:
                return float(value)
            except ValueError:
                return math.nan
        return float(value) if _is_number(value) and abs(value) <= MAX_NUMBER else math.nan


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _all_numbers(value: Any) -> bool:
    """Whether it is a list of numbers that a run can hold; millions of them are looked at without a step for each."""
    if not isinstance(value, list) or not set(map(type, value)) <= {int, float}:
        return False
    # a sum shows a NaN, which is neither the least nor the most
    return not value or (min(value) >= 0 and max(value) <= MAX_NUMBER and not math.isnan(math.fsum(value)))


def _short(value: Any) -> str:
    """A value as a message shows it."""
    if isinstance(value, dict):
        return "a group of fields"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "a list"
    if isinstance(value, int) and abs(value) > MAX_NUMBER:
        return "a huge number"
    return repr(value)[:SHOWN_CHARACTERS]
