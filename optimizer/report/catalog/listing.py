"""What a catalog is to be listed: its rows, the columns of its table, and what a filter looks at."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from optimizer.base.model import Strict
from optimizer.inputs.catalog.records import Catalogs
from optimizer.report.layout.columns import Cell


@dataclass(frozen=True)
class Listing:
    """One catalog as it is listed.

    Attributes:
        about: What a row is.
        rows: Where the rows are.
        columns: What a table of them shows.
        names: The fields that a filter looks at.
    """

    about: str
    rows: Callable[[Catalogs], Sequence[Strict]]
    columns: Mapping[str, Cell]
    names: tuple[str, ...]
