"""What a name in somebody's table was read as."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ReadName:
    """A name led back to the catalogs.

    Attributes:
        known: The name that the catalogs know, empty where this one was not understood.
        problem: Why it was not.
        note: How it was read, where it is not the catalogs' own.
        version: Of an engine, where the name states a release.
        count: How many GPUs the name speaks of, 0 where it does not.
        precision: Of a model's weights, where its name says it and the known one does not.
        precision_missing: Whether a model's weights are in some precision that neither says.
    """

    known: str = ""
    problem: str = ""
    note: str = ""
    version: str = ""
    count: int = 0
    precision: str = ""
    precision_missing: bool = False
