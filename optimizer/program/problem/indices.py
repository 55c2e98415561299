"""Index arithmetic: entries grouped by their keys, and where numbers stand in a list."""

from typing import NamedTuple

import numpy as np

from optimizer.base.arrays import Ints


class Groups(NamedTuple):
    """Entries that are the same in some keys: (N,) the number of each one's group, (G,) the first entry of each."""

    number: Ints
    first: Ints


def grouped(*keys: Ints) -> Groups:
    """Groups of entries with the same keys (N,) each, in the order of the keys."""
    # stable, so that the first of a group's entries leads it; np.unique over rows takes five times as long
    order = np.lexsort(keys[::-1])
    leads = np.zeros(len(order), dtype=np.bool_)
    leads[:1] = True
    for key in keys:
        sorted_key = key[order]
        leads[1:] |= sorted_key[1:] != sorted_key[:-1]
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(leads) - 1
    return Groups(number, order[leads])


def positions(listed: Ints, count: int) -> Ints:
    """(count,) where each number stands in a list of some; -1 where it does not."""
    position = np.full(count, -1, dtype=np.int64)
    position[listed] = np.arange(len(listed))
    return position


def matches(keys: Ints, rising: Ints) -> tuple[Ints, Ints]:
    """Pairs (i, j) with keys[i] = rising[j], by i."""
    first = np.searchsorted(rising, keys, side="left")
    count = np.searchsorted(rising, keys, side="right") - first
    i = np.repeat(np.arange(len(keys)), count)
    j = np.repeat(first - np.cumsum(count) + count, count) + np.arange(len(i))
    return i, j
