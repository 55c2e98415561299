"""What stands on the instances of an offer while they are paid for: groups of replicas, and layouts of an instance.

A *group* is one configuration on one offer: what its replicas are sent may change without loading anything. A *layout*
is what one instance holds: so many replicas of each group, which fit into it. An instance keeps its layout while it is
paid for (or, where the scenario allows, until it has served nobody for a period), so over the week

- paid all month, never changed: loaded[g] replicas of a group fit into the instances at once, and no period uses more
  of them. By the argument of `packing` they can then be put into whole instances, each with its layout for good.
- otherwise standing[t, l] instances of each layout run in a period. Where more of a layout run in u than in t before
  it, the rest of them were started, or rested in t:

    sum over l of max(0, standing[u,l] - standing[t,l])  <=  starts[o,t,u] + (instances[t,o] - sum of standing[t,l])

  the last term where instances may change. It is enough: what falls is stopped or rests in u, and the counts agree.

A layout that another one contains is of no use, for a replica that is loaded need not serve; so only those into which
nothing more fits are counted. Where an offer has one group, or there is one period, there is nothing to keep.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags, Ints
from optimizer.program.problem.indices import grouped, matches
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import label_numbers

MOST_LAYOUTS = 400
"""Layouts of an offer beyond which its instances are not counted by them."""


@dataclass(frozen=True, eq=False)
class LoadGroups:
    """Replicas of one configuration on one offer, G of them.

    Attributes:
        number: (C,) the group of each candidate.
        first: (G,) its first candidate.
        offer, gpus: (G,) where its replicas stand, and how many GPUs each takes.
    """

    number: Ints
    first: Ints
    offer: Ints
    gpus: Ints


def load_groups(problem: Problem) -> LoadGroups:
    """The groups of a problem."""
    candidates = problem.candidates
    groups = grouped(candidates.offer, label_numbers(candidates.configuration), candidates.gpus_per_replica)
    first = groups.first
    return LoadGroups(groups.number, first, candidates.offer[first], candidates.gpus_per_replica[first])


def binding_offers(problem: Problem) -> Flags:
    """(O,) offers whose instances the program holds to what is loaded, if several groups may be."""
    offers, terms = problem.offers, problem.layouts
    by_layout = terms.by_layout if len(terms.by_layout) else np.zeros(len(offers), dtype=np.bool_)
    bound: Flags = (offers.always_paid | by_layout) & (terms.kept and problem.traffic.periods > 1)
    return bound


def holds_layouts(problem: Problem) -> bool:
    """Whether some offer is held to what is loaded and may hold several groups."""
    return bool(binding_offers(problem).any() and _several(problem, load_groups(problem)).any())


def _several(problem: Problem, groups: LoadGroups) -> Flags:
    """(O,) the binding offers that may hold several groups."""
    there: Flags = np.bincount(groups.offer, minlength=len(problem.offers)) > 1
    return binding_offers(problem) & there


@dataclass(frozen=True, eq=False)
class Layouts:
    """What the program decides about what is loaded.

    Attributes:
        groups: All groups.
        fixed: (F,) those that are loaded once for the whole month.
        offer, contents: (L,), (L, G) the offer of each layout, and the replicas of each group in it.
        turns: (X, 3) offer, period before, period after of each change at which layouts may.
        rise_turn, rise_layout: (Y,) the change and the layout of each rise of a layout.
        unlisted: (O,) offers that have too many layouts to count.
        may_rest: Whether an instance that served nobody in a period may hold another layout in the next.
    """

    groups: LoadGroups
    fixed: Ints
    offer: Ints
    contents: Ints
    turns: Ints
    rise_turn: Ints
    rise_layout: Ints
    unlisted: Flags
    may_rest: bool


def layouts_of(problem: Problem) -> Layouts:
    """The layouts of every offer that is held to what is loaded and may hold several groups."""
    offers, may_change = len(problem.offers), bool(problem.layouts.followed.any())
    if not binding_offers(problem).any():
        return _no_layouts(offers, may_change)
    groups, always = load_groups(problem), problem.offers.always_paid
    several = _several(problem, groups)
    gpus = problem.offers.gpus_per_instance.tolist()
    listed = {
        offer: list_layouts(groups.gpus[groups.offer == offer], gpus[offer], MOST_LAYOUTS)
        for offer in np.flatnonzero(several & (~always | may_change)).tolist()
    }
    counted = {offer: layouts for offer, layouts in listed.items() if len(layouts) <= MOST_LAYOUTS}
    unlisted = np.zeros(offers, dtype=np.bool_)
    unlisted[[offer for offer in listed if offer not in counted]] = True
    # layouts of all offers under one another
    offer_of = np.repeat(list(counted), [len(layouts) for layouts in counted.values()]).astype(np.int64)
    contents = np.zeros((len(offer_of), len(groups.offer)), dtype=np.int64)
    for offer, layouts in counted.items():
        contents[np.ix_(offer_of == offer, groups.offer == offer)] = layouts
    fixed = several & always & ~np.isin(np.arange(offers), list(counted))
    turns = np.array(list(_turns(problem, list(counted))), dtype=np.int64).reshape(-1, 3)
    rise_turn, rise_layout = matches(turns[:, 0], offer_of)
    return Layouts(
        groups=groups,
        fixed=np.flatnonzero(fixed[groups.offer]),
        offer=offer_of,
        contents=contents,
        turns=turns,
        rise_turn=rise_turn,
        rise_layout=rise_layout,
        unlisted=unlisted,
        may_rest=may_change,
    )


def _no_layouts(offers: int, may_change: bool) -> Layouts:
    """What there is where no offer is held to what is loaded, as in a program of one period: no group is looked at."""
    none = np.zeros(0, dtype=np.int64)
    return Layouts(
        groups=LoadGroups(none, none, none, none),
        fixed=none,
        offer=none,
        contents=np.zeros((0, 0), dtype=np.int64),
        turns=np.zeros((0, 3), dtype=np.int64),
        rise_turn=none,
        rise_layout=none,
        unlisted=np.zeros(offers, dtype=np.bool_),
        may_rest=may_change,
    )


def _turns(problem: Problem, offers: list[int]) -> Iterator[tuple[int, int, int]]:
    """Each offer with each change at which a start is paid or, where always paid, one period follows another."""
    for offer in offers:
        links = problem.layouts.followed if problem.offers.always_paid[offer] else problem.traffic.start_share
        yield from ((offer, before, after) for before, after in np.argwhere(links).tolist() if before != after)


def list_layouts(sizes: Ints, gpus: int, most: float = np.inf) -> Ints:
    """(L, G) every way to fill an instance so that nothing more fits.

    Args:
        sizes: (G,) GPUs of a replica of each group, powers of two.
        gpus: Of the instance.
        most: Layouts beyond which no more are listed.
    """
    order = np.argsort(-sizes, kind="stable")
    found: list[list[int]] = []

    def fill(position: int, held: list[int]) -> None:
        """Go on with the groups from a position on; the last, of the smallest replicas, takes all that is left."""
        if len(found) > most:
            return
        size = int(sizes[order[position]])
        taken = sum(count * (int(sizes[g]) // size) for g, count in zip(order, held, strict=False))
        room = gpus // size - taken
        if position == len(order) - 1:
            found.append([*held, room])
            return
        for count in range(room, -1, -1):
            fill(position + 1, [*held, count])

    fill(0, [])
    layouts = np.zeros((len(found), len(sizes)), dtype=np.int64)
    layouts[:, order] = found
    return layouts
