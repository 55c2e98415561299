"""One clock for a whole question: when to stop, by seconds, work or memory. What to answer it never decides."""

import math
import time
from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias, TypeVar

from optimizer.base.memory import Memory

Limit: TypeAlias = Literal["time limit", "work limit", "memory limit"]
Number = TypeVar("Number", int, float)
Item = TypeVar("Item")

NEVER_S, NEVER_WORK = 1e9, 10**15
"""Limits from which on nothing reaches them, thirty years: they are none. Solvers take no number of any size."""


class LimitReached(Exception):
    """An answer that nobody insists on was not worked out, because a limit of the clock was reached first."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        super().__init__(f"the {limit} was reached")


def until_limit(items: Iterator[Item]) -> tuple[list[Item], Limit | None]:
    """What was worked out before a limit was reached, and the limit; None where that is all."""
    found = []
    try:
        for item in items:
            found.append(item)
    except LimitReached as reached:
        return found, reached.limit
    return found, None


class Clock:
    """What is left of a command's time and work, or of a part of them.

    Work is counted in simplex iterations, which are the same on every machine where seconds are not. What is spent on
    a part's clock is spent on the whole's, too, so one clock runs through rounds, solves and comparisons.
    """

    def __init__(
        self,
        time_limit_s: float | None = None,
        work_limit: int | None = None,
        *,
        memory: Memory | None = None,
        now: Callable[[], float] = time.monotonic,
        whole: "Clock | None" = None,
    ) -> None:
        """Starts at once.

        Args:
            time_limit_s: Seconds until it has run out; None for no such limit, as is infinity.
            work_limit: Simplex iterations until it has run out; None for no such limit.
            memory: What the process may hold; None for no such limit.
            now: Seconds of some clock that never goes back.
            whole: The clock that this one is a part of.
        """
        self.time_limit_s = None if time_limit_s is not None and time_limit_s >= NEVER_S else time_limit_s
        self.work_limit = None if work_limit is not None and work_limit >= NEVER_WORK else work_limit
        self.memory = memory
        self._now, self._whole, self._start_s, self.spent_work = now, whole, now(), 0
        self._run_out: Limit | None = None

    @property
    def question(self) -> "Clock":
        """The one of the whole command, or question, that this is a part of."""
        return self if self._whole is None else self._whole.question

    @property
    def spent_s(self) -> float:
        """Seconds since it started."""
        return self._now() - self._start_s

    def spend(self, work: int) -> None:
        """Count simplex iterations, here and on the whole."""
        self.spent_work += work
        if self._whole is not None:
            self._whole.spend(work)

    def run_out(self, limit: Limit) -> None:
        """Say that a solver was stopped by a limit, short of which it stops so as not to overrun it."""
        self._run_out = limit
        own = {"time limit": self.time_limit_s, "work limit": self.work_limit, "memory limit": self.memory}
        if self._whole is not None and own[limit] is None:
            self._whole.run_out(limit)

    def left_s(self) -> float | None:
        """Seconds left, or None without a limit."""
        own = None if self.time_limit_s is None else max(self.time_limit_s - self.spent_s, 0.0)
        return _least(own, None if self._whole is None else self._whole.left_s())

    def left_work(self) -> int | None:
        """Simplex iterations left, or None without a limit."""
        own = None if self.work_limit is None else max(self.work_limit - self.spent_work, 0)
        return _least(own, None if self._whole is None else self._whole.left_work())

    @property
    def reached(self) -> Limit | None:
        """The limit that is used up, if one is; of two the one that is the same on every machine."""
        if self._run_out is not None:
            return self._run_out
        if self.left_work() == 0:
            return "work limit"
        if self.out_of_memory:
            self.run_out("memory limit")
            return "memory limit"
        return "time limit" if self.left_s() == 0 else None

    @property
    def out_of_memory(self) -> bool:
        """Whether the process holds all that it may."""
        own = self.memory is not None and self.memory.used_up
        return own or (self._whole is not None and self._whole.out_of_memory)

    @property
    def expired(self) -> bool:
        """Whether a limit is used up."""
        return self.reached is not None

    def part(self, time_limit_s: float | None = None, work_limit: int | None = None) -> "Clock":
        """A clock for a part of the work: it ends at limits of its own, and where the whole ends at the latest."""
        return Clock(time_limit_s, work_limit, now=self._now, whole=self)

    def share(self, share: float) -> "Clock":
        """A clock for that share of what is left."""
        seconds, work = self.left_s(), self.left_work()
        return self.part(
            None if seconds is None else seconds * share, None if work is None else math.ceil(work * share)
        )


def _least(one: Number | None, other: Number | None) -> Number | None:
    known = [number for number in (one, other) if number is not None]
    return min(known, default=None)
