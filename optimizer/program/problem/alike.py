"""Offers that are like a cheaper one in all that matters: left out before any column is made of them.

Most offers of a market hold the same replicas as others and differ in price alone. `proof.dominance` leaves them out of
every search, by its rule for offers: here is the part of it that needs no candidate to be looked at, since offers that
hold the same kinds of replicas at the same share of the time have the same candidates. So a search ends where it ends
with them; it is the time to write their candidates down that is saved, most of that of a small program.
"""

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.traits import no_worse_where, variety


def cheapest_alike(problem: Problem, held: Flags, serving_share: Floats) -> Flags:
    """(O,) the offers of which no cheaper one is the same in all that matters; of equal prices the first by id.

    Args:
        problem: Whose candidates are not looked at.
        held: (kinds, O) what fits into an instance of an offer.
        serving_share: (O,) of the time in which a replica on it serves.
    """
    offers, (places, named) = problem.offers, variety(problem)
    if places.least > 1:
        return np.ones(len(offers), dtype=np.bool_)
    traits = no_worse_where(problem, named, places)
    alike = [row.tobytes() for row in np.column_stack([traits, serving_share, np.packbits(held, axis=0).T])]
    # one that only so many can be had of replaces no other, and is not the same as another
    scarce = np.isfinite(offers.available)
    first: dict[bytes, int] = {}
    for offer in sorted(np.flatnonzero(~scarce).tolist(), key=offers.ids.__getitem__):
        price = offers.price_usd_per_hour[offer]
        known = first.setdefault(alike[offer], offer)
        if price < offers.price_usd_per_hour[known]:
            first[alike[offer]] = offer
    keep: Flags = scarce.copy()
    keep[list(first.values())] = True
    return keep
