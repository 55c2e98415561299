"""What each group of services would cost by itself under what is shared: the costs that a fair split is made of.

The plans found for all together are those that are cheap beside all the others: a group that has more of a pool or a
limit may do better with others. So its cheapest plans are found by one program, as those of all are, where its services
are small and there are few groups; every plan found so joins those that all groups choose from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, TypeAlias

import numpy as np

from optimizer.answers.many.portfolio.desk import Desk
from optimizer.answers.many.portfolio.rounds import ChosenPlans, NumberedPlan, Search, chosen
from optimizer.answers.many.portfolio.whole import proven_together
from optimizer.base.arrays import Ints
from optimizer.base.clock import Clock

Group: TypeAlias = tuple[int, ...]
"""Services in rising order."""

MOST_SOLVED: Final = 14
"""Groups up to which each is solved to its end: those of four services that differ, without none and all of them."""

NODES: Final = 500
"""Of branch and bound for one group, the same on every machine."""


@dataclass(frozen=True)
class GroupCosts:
    """What every group costs a month.

    Attributes:
        usd: By group, with nobody and with everybody.
        open_share: By how much at most one of them, all together aside, may be above its least, as a share of that;
            infinite where nobody knows.
    """

    usd: Mapping[Group, float]
    open_share: float


def group_costs(
    search: Search, together: ChosenPlans, alone: Sequence[NumberedPlan], desk: Desk, clock: Clock
) -> GroupCosts:
    """The cost of every group of services, each with the cheapest plans that are known or can be found.

    Args:
        search: For all services, ended.
        together: What was found for all of them.
        alone: Each kind's plan for itself.
        desk: Whom services are asked through.
        clock: For all groups.
    """
    kind_of: list[int] = np.repeat(np.arange(len(search.counts)), search.counts).tolist()
    everybody = tuple(range(len(kind_of)))
    groups = [group for size in everybody[1:] for group in combinations(everybody, size)]
    # services of the same kinds are as dear, whichever they are
    kinds = {group: tuple(kind_of[one] for one in group) for group in groups}
    known = [*search.found, *alone]
    some = {each: search.of_some(_counts(each, len(search.counts)), known) for each in dict.fromkeys(kinds.values())}
    if len(some) <= MOST_SOLVED:
        for number, each in enumerate(some.values()):
            own = clock.share(1 / (len(some) - number))
            proven_together(each, chosen(each, own), desk, own, NODES)
    # what was found for one group serves the others, too
    usd = {each: _least_usd(search) for each, search in some.items()}
    above = [
        usd[each] / search.bound_usd - 1 if search.bound_usd else np.inf for each, search in some.items() if usd[each]
    ]
    signed_usd = float(search.shared.pool_least @ search.shared.pool_usd)
    costs = {(): signed_usd} | {group: usd[each] for group, each in kinds.items()} | {everybody: together.usd}
    return GroupCosts(costs, max(float(max(above, default=0.0)), 0.0))


def _counts(kinds: Sequence[int], count: int) -> Ints:
    """(K,) how many services of each kind are in a group."""
    return np.bincount(np.array(kinds, dtype=np.int64), minlength=count).astype(np.int64)


def _least_usd(search: Search) -> float:
    """A month of the cheapest choice among all that was found that keeps what is shared."""
    found = search.master(()).chosen(Clock())
    if found is None:
        raise ValueError("what all keep together a part of them keeps")
    return found.usd
