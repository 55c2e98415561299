"""What is worked out of an object that never changes: once, and kept for as long as the object lives."""

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import ref

Owner = TypeVar("Owner")
Found = TypeVar("Found")


class OnceOf(Generic[Owner, Found]):
    """A function of such objects; two that are equal are two."""

    def __init__(self, work: Callable[[Owner], Found]) -> None:
        """Nothing is worked out yet."""
        self._work = work
        self._known: dict[int, tuple[ref[Owner], Found]] = {}

    def __call__(self, owner: Owner) -> Found:
        """What the work finds, or found before."""
        number = id(owner)
        known = self._known.get(number)
        if known is not None and known[0]() is owner:
            return known[1]
        found = self._work(owner)
        self._known[number] = ref(owner, lambda _: self._known.pop(number, None)), found
        return found
