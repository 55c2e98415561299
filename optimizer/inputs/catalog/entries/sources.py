"""Where figures come from: the source that states them, and the row of the catalogs that a price is read from."""

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

from optimizer.base.model import Strict

PRIVATE_SOURCE: Final = "a private source"


class Source(Strict):
    """Where figures come from; every row of every catalog names one by id."""

    id: str
    title: str
    licence: str
    """`private` where its name and details are nobody else's business."""
    as_of: date

    @property
    def private(self) -> bool:
        """Whether reports say no more than that there is one."""
        return self.licence.strip().casefold() == "private"

    @property
    def cited(self) -> str:
        """What plans and reports call it."""
        return PRIVATE_SOURCE if self.private else self.title

    @property
    def url(self) -> str:
        """Where to read it, as far as its title says; empty for private ones and for those that name no place."""
        if self.private:
            return ""
        if (web := re.search(r"https?://[^\s)]+", self.title)) is not None:
            return web[0]
        if (repository := re.search(r"github\.com/([\w.-]+/[\w.-]+)@(\w+)", self.title)) is not None:
            return f"https://github.com/{repository[1]}/tree/{repository[2]}"
        if (package := re.match(r"PyPI ([\w.-]+) ([\w.]+)", self.title)) is not None:
            return f"https://pypi.org/project/{package[1]}/{package[2]}/"
        return ""


@dataclass(frozen=True)
class PricePlace:
    """Where the row stands that a price is read from.

    Attributes:
        own: Whether that is a file laid over the shipped ones, which its owner can open at that line.
    """

    file: str
    line: int
    own: bool

    def __str__(self) -> str:
        return f"{'' if self.own else 'shipped '}{self.file}:{self.line}"
