"""Results kept by key, as many as there is room for: the last that were put in or found stay."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Latest(Generic[Value]):
    """The results put or found last, by key, up to a total size; the very last whatever its size."""

    def __init__(self, most: int) -> None:
        """Nothing is kept yet; no more than `most` are, by their sizes together."""
        self._most = most
        self._kept: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()

    def forget(self) -> None:
        """Keep nothing of what was kept."""
        self._kept.clear()

    def get(self, key: Hashable) -> Value | None:
        """What is kept of that key, None where nothing is; it is now the last."""
        if key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key][0]

    def put(self, key: Hashable, found: Value, size: int = 1) -> None:
        """Keeps a result, for which the oldest ones make room."""
        self._kept.pop(key, None)
        self._kept[key] = found, size
        while len(self._kept) > 1 and sum(each for _, each in self._kept.values()) > self._most:
            self._kept.popitem(last=False)
