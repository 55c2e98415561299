"""Instances that stay on the bill for a least time once started: hours of the week in cells, and runs that are paid.

paid[h] instances are on the bill in hour h of the week, at least those that run. With begun[h] of them put on it at h,
each for at least m hours, what was begun in the last m hours is still on it:

    paid[h] - paid[h-1] <= begun[h],   sum of begun over the hours h-m+1 .. h <= paid[h]

Whole numbers that obey this are runs of at least m hours each: let what was begun first leave first. Of the paid[h-1]
before h at most those that were not begun within m hours leave, and those came first. An instance on the bill may serve
at any time, so which of them runs when does not matter.

Cells. Whole hours of the week are joined where nothing can change: nobody needs to begin but where a period follows
another, for the bill falls within a period; and what is begun at h may leave at h + m at the earliest. So the week is
cut where a period begins and m hours later. Within a cell the sum over the last m hours only falls, so its first hour
says it all.
"""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Ints
from optimizer.program.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Cells:
    """Hours of the week, joined where the bill of an offer can't change; Q of them over all offers.

    Attributes:
        offer: (Q,).
        first_hour, hours: (Q,) where in the week a cell begins and how long it is.
        period: (Q,) that all its hours belong to.
        previous: (Q,) the cell of the offer before it, around the week.
    """

    offer: Ints
    first_hour: Ints
    hours: Ints
    period: Ints
    previous: Ints

    def __len__(self) -> int:
        return len(self.offer)

    def recently_started(self, week: int, minimum_hours: Ints) -> tuple[Ints, Ints]:
        """Pairs (cell, cell of the same offer that begins in the `minimum_hours` (Q,) up to the first one's beginning).

        Args:
            week: Hours of the week.
            minimum_hours: (Q,) of the offer of each cell.
        """
        pairs = [np.zeros((2, 0), dtype=np.int64)]
        for offer in np.unique(self.offer).tolist():
            cells = np.flatnonzero(self.offer == offer)
            # (cell, other cell of the offer) -> hours since the other one began
            ago = (self.first_hour[cells, None] - self.first_hour[cells]) % week
            pairs.append(cells[np.stack(np.nonzero(ago < minimum_hours[cells, None]))])
        cell, started = np.concatenate(pairs, axis=1)
        return cell, started


NO_CELLS = Cells(*(np.zeros(0, dtype=np.int64) for _ in range(5)))


def billing_cells(problem: Problem) -> Cells:
    """The cells of every offer that is paid by the hour and longer than it may run."""
    if not problem.has_minimum_billing:
        return NO_CELLS
    least, parts, start = problem.billing.minimum_hours, [], 0
    for offer in np.flatnonzero((least > 1) & ~problem.offers.always_paid).tolist():
        cells = cells_of_week(problem.billing.hour_to_period, int(least[offer]))
        own = np.full(len(cells), offer, dtype=np.int64)
        parts.append((own, cells.first_hour, cells.hours, cells.period, cells.previous + start))
        start += len(cells)
    return Cells(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def cells_of_week(hour_to_period: Ints, minimum_hours: int) -> Cells:
    week = len(hour_to_period)
    changes = np.flatnonzero(hour_to_period != np.roll(hour_to_period, 1))
    first = np.unique(np.concatenate([[0], changes, (changes + minimum_hours) % week]))
    hours, number = np.diff(np.append(first, week)), np.arange(len(first))
    return Cells(np.zeros_like(first), first, hours, hour_to_period[first], np.roll(number, 1))
