"""The text in which servers expose their metrics to Prometheus, read strictly: every sample with its labels."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from optimizer.base.errors import Finding, InputError

SAMPLE: Final = re.compile(
    r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\s*\{(?P<labels>.*)\})?\s+(?P<value>\S+)(?:\s+(?P<at_ms>\d{1,15}))?"
)
LABEL: Final = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(,|$)')
ESCAPED: Final = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}
LARGEST_COUNT: Final = 2.0**53
"""Beyond it a number counts no more; what is no number compares with nothing."""
MOST_FINDINGS: Final = 5
"""Of a file that is something else: a page of HTML is wrong in every line."""
HINT: Final = "save what the server's /metrics says, unchanged"

Labels = tuple[tuple[str, str], ...]
"""Name and value of each label, by name."""


@dataclass(frozen=True)
class Scrape:
    """What one server, or a file of several, said at one moment.

    Attributes:
        file: Where it was read.
        samples: Metric → labels → value; values that are no number, or too large to count, are left out.
        at_s: When, by the samples' own time stamps; None where they have none.
    """

    file: str
    samples: Mapping[str, Mapping[Labels, float]]
    at_s: float | None = None


def read_exposition(text: str, file: str) -> Scrape:
    """Every sample of a text.

    Args:
        text: In version 0.0.4 of the text format.
        file: What to call it.

    Raises:
        InputError: lines that are no samples, one series twice, or no sample at all.
    """
    samples: dict[str, dict[Labels, float]] = {}
    findings: list[Finding] = []
    times_ms: list[int] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            name, labels, value, at_ms = _sample(line.strip())
        except ValueError as error:
            findings.append(Finding(file, number, "", str(error), HINT))
            continue
        series = samples.setdefault(name, {})
        if labels in series:
            problem = f"{name} a second time with the same labels"
            findings.append(Finding(file, number, "", problem, "a file for each replica, all in one folder"))
        if abs(value) <= LARGEST_COUNT:
            series[labels] = value
        times_ms += [at_ms] if at_ms is not None else []
    if not samples and not findings:
        findings.append(Finding(file, 0, "", "no metrics in it", HINT))
    if findings:
        raise InputError(findings[:MOST_FINDINGS])
    return Scrape(file, samples, max(times_ms) / 1000 if times_ms else None)


def _sample(line: str) -> tuple[str, Labels, float, int | None]:
    """Name, labels, value and time stamp.

    Raises:
        ValueError: the line is no sample.
    """
    found = SAMPLE.fullmatch(line)
    if found is None:
        raise ValueError('not a sample: NAME{LABEL="VALUE"} NUMBER')
    labels = tuple(sorted(_labels(found["labels"] or "")))
    return found["name"], labels, number(found["value"]), int(found["at_ms"]) if found["at_ms"] else None


def number(text: str) -> float:
    """As the format writes it: Python also reads digits of other scripts, and parted by underscores.

    Raises:
        ValueError: it is none.
    """
    try:
        if not text.isascii() or "_" in text:
            raise ValueError
        return float(text)
    except ValueError:
        raise ValueError(f"'{text}' is no number") from None


def _labels(text: str) -> Iterator[tuple[str, str]]:
    """Name and value of each label between the braces."""
    place = 0
    while text[place:].strip():
        found = LABEL.match(text, place)
        if found is None:
            raise ValueError('labels are not NAME="VALUE", parted by commas')
        yield found[1], re.sub(r"\\.", lambda each: ESCAPED.get(each[0], each[0]), found[2])
        place = found.end()
