"""Functions of numbers alone that remember what they found: told the same, they find the same."""

import hashlib
import pickle
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from optimizer.base.latest import Latest

Found = TypeVar("Found")

MOST_TOLD_BYTES: Final = 8_000_000
"""Of all that a function was told whose findings are kept; these take about as much."""


class OnceByContents(Generic[Found]):
    """A function whose findings depend on nothing but the contents of what it is told, and that nobody changes.

    What was told and found last is kept. The key is all that the function is told, byte by byte, so that a number that
    differs in its last digit is another one.
    """

    def __init__(self, find: Callable[..., Found]) -> None:
        """Nothing was found yet."""
        self._find = find
        self._kept = Latest[Found](MOST_TOLD_BYTES)

    def __call__(self, *told: object) -> Found:
        """What the function finds, or found before."""
        written = pickle.dumps(told)
        key = hashlib.sha256(written).digest()
        known = self._kept.get(key)
        found = self._find(*told) if known is None else known
        self._kept.put(key, found, len(written))
        return found
