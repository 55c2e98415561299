"""The largest number at which something that grows is still within a limit, for many rows at once.

Numbers lie on a grid, so that what is found is the same however it was searched for.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats

_STEPS: Final = 2.0**26
"""Of the grid between 0 and the largest number that is asked for, even in the cube root of the number: a small one is
found as exactly as a large one."""
_INTO_NEXT: Final = 0.7
"""Of a step of the grid, by which a guess stays away from what is known, so that the other side of a root is tried."""


def beyond(value: Floats, limit: Floats | float) -> Floats:
    """How far a positive value is beyond a limit, relative to both: at most 0 within it, nearly 1 far beyond it."""
    distance: Floats = (value - limit) / (value + np.abs(limit))
    return distance


def largest(excess: Callable[[Floats], Floats], high: Floats) -> Floats:
    """The largest number of each row in [0, high], (n,), whose excess is at most 0; 0 where none is.

    Excesses grow with the number. Guesses by inverse quadratic interpolation where the last three points allow it, else
    in the middle.
    Source: Chandrupatla (1997), A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear function
    without using derivatives, Advances in Engineering Software 28(3).

    Args:
        excess: Of numbers (n,), how far each row is beyond its limit; none at all is beyond it.
        high: What is asked for at most, (n,).
    """

    def at(step: Floats) -> Floats:
        return excess(high * (step / _STEPS) ** 3)

    newest, opposite = np.full_like(high, _STEPS), np.zeros_like(high)
    of_newest, of_opposite = at(newest), at(opposite)
    some = of_opposite <= 0
    # a row whose ends are on one side is settled
    opposite = np.where(of_newest <= 0, newest, opposite)
    newest = np.where(some, newest, opposite)
    before, of_before, share = newest, of_newest, np.full_like(high, 0.5)
    while np.any(open_rows := np.abs(newest - opposite) > 1):
        lowest, highest = np.minimum(newest, opposite) + 1, np.maximum(newest, opposite) - 1
        guess = np.clip(np.rint(newest + share * (opposite - newest)), lowest, highest)
        guess = np.where(open_rows, guess, newest)
        found = at(guess)
        same_side = (found <= 0) == (of_newest <= 0)
        moved = open_rows & ~same_side
        # the point that is left behind, the one across the root, the newest
        before, of_before = np.where(moved, opposite, newest), np.where(moved, of_opposite, of_newest)
        opposite, of_opposite = np.where(moved, newest, opposite), np.where(moved, of_newest, of_opposite)
        newest, of_newest = guess, found
        share = _share_of_bracket((newest, opposite, before), (of_newest, of_opposite, of_before))
    number: Floats = high * (np.minimum(newest, opposite) / _STEPS) ** 3
    return number


def _share_of_bracket(point: tuple[Floats, Floats, Floats], value: tuple[Floats, Floats, Floats]) -> Floats:
    """How far from the newest point to the opposite one the next guess lies, (n,).

    Args:
        point: The newest, the one across the root, and the one before.
        value: Of each.
    """
    (a, b, c), (of_a, of_b, of_c) = point, value
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        place, height = (a - b) / (c - b), (of_a - of_b) / (of_c - of_b)
        curved = of_a / (of_b - of_a) * of_c / (of_b - of_c)
        curved += (c - a) / (b - a) * of_a / (of_c - of_a) * of_b / (of_c - of_b)
        monotone = (height**2 < place) & ((1 - height) ** 2 < 1 - place) & np.isfinite(curved)
        least = np.minimum(_INTO_NEXT / np.abs(b - a), 0.5)
    return np.clip(np.where(monotone, curved, 0.5), least, 1 - least)
