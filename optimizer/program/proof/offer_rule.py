"""What an offer must have before it replaces another one, and which have it: see `dominance`, where it is proven."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.problem.data import Candidates
from optimizer.program.problem.indices import grouped
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.traits import Variety, no_worse_where, variety


@dataclass(frozen=True, eq=False)
class OfferRule:
    """What the offer rule compares; columns are kinds of candidates by size and mix.

    Attributes:
        have: (columns, O) rates that one candidate of an offer has; by column, since one is compared at a time.
        need: (O, columns) rates to be matched.
        traits: (O, traits) that must be at most the other's.
        variety: At how many places others must be that replace an offer.
        content: (O,) the same number for offers whose candidates are the same in kind, size and rates.
        scarce: (O,) whether only so many can be had, so that it replaces no other.
        price: (O,).
        by_price: Offers with candidates, the cheapest first.
    """

    have: Floats
    need: Floats
    traits: Floats
    variety: Variety
    content: Ints
    scarce: Flags
    price: Floats
    by_price: Ints

    @classmethod
    def of(cls, problem: Problem, kept: Ints, kind: Ints, but: Collection[str] = ()) -> "OfferRule":
        """The rule for the candidates that the first rule kept, but for some traits."""
        candidates, kind, price = problem.candidates.select(kept), kind[kept], problem.offers.price_usd_per_hour
        have, need = _rates(candidates, kind, len(price))
        by_price = np.lexsort((np.arange(len(price)), price))
        places, named = variety(problem)
        return cls(
            have=np.ascontiguousarray(have.T),
            need=need,
            traits=no_worse_where(problem, (name for name in named if name not in but), places),
            variety=places,
            content=_contents(candidates, kind, len(price)),
            scarce=np.isfinite(problem.offers.available),
            price=price,
            by_price=by_price[need[by_price].any(axis=1)],
        )

    def no_dearer(self, offer: int) -> Ints:
        """Those that cost no more than one and may replace it as far as its traits go."""
        last = np.searchsorted(self.price[self.by_price], self.price[offer], side="right")
        return self.no_worse(self.by_price[:last], offer)

    def no_worse(self, rivals: Ints, offer: int) -> Ints:
        """Those of some offers that may replace one as far as its traits go."""
        rivals = rivals[~self.scarce[rivals]]
        return np.asarray(rivals[(self.traits[rivals] <= self.traits[offer]).all(axis=1)])

    def replaced(self, rivals: Ints, offer: int) -> bool:
        """Whether some offers have all that another one needs, at as many places as are wanted."""
        return self.enough(rivals) and self.enough(self.replacing(rivals, offer))

    def replacing(self, rivals: Ints, offer: int) -> Ints:
        """Those of some offers that have all that another one needs; more where these are at too few places already."""
        need = self.need[offer]
        for column in np.flatnonzero(need).tolist():
            if not self.enough(rivals):
                break
            rivals = rivals[self.have[column][rivals] >= need[column]]
        return rivals

    def enough(self, rivals: Ints) -> bool:
        """Whether some offers are at as many places as are wanted."""
        least = self.variety.least
        return len(rivals) >= least and (least == 1 or len(np.unique(self.variety.place[rivals])) >= least)


def _contents(candidates: Candidates, kind: Ints, offers: int) -> Ints:
    """(O,) the same number for offers whose candidates are alike in kind, size and rates: each replaces the other's."""
    held: list[list[bytes]] = [[] for _ in range(offers)]
    keys = np.stack([kind, candidates.gpus_per_replica], axis=1)
    for offer, key, rate in zip(candidates.offer.tolist(), keys, candidates.rate_per_s, strict=True):
        held[offer].append(key.tobytes() + rate.tobytes())
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(b"".join(sorted(parts)), len(numbers)) for parts in held], dtype=np.int64)


def _rates(candidates: Candidates, kind: Ints, offers: int) -> tuple[Floats, Floats]:
    """(O, columns) what every offer can replace, and what would have to be replaced.

    A kind of one mix is replaced by the fastest candidate of at most the size; one of several mixes only by a single
    candidate of the same size, so the first one stands for what the offer has, and several of a size need too much.
    """
    rate = candidates.rate_per_s
    candidate, mix = np.nonzero(rate)
    sizes, size = np.unique(candidates.gpus_per_replica, return_inverse=True)
    served = grouped(kind[candidate], mix)
    # (candidate, mix) -> (offer, kind and mix, size)
    shape = (offers, len(served.first), len(sizes))
    cell = (candidates.offer[candidate], served.number, size.reshape(-1)[candidate])
    need, have, several = np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.int64)
    np.maximum.at(need, cell, rate[candidate, mix])
    np.add.at(several, cell, 1)
    cells, first = np.unique(np.ravel_multi_index(cell, shape), return_index=True)
    have.ravel()[cells] = rate[candidate, mix][first]
    kind_served = kind[candidate[served.first]]
    one_mix = np.bincount(kind_served)[kind_served] == 1
    need[(several > 1) & ~one_mix[:, None]] = np.inf
    have[:, one_mix] = np.maximum.accumulate(need[:, one_mix], axis=2)
    return have.reshape(offers, -1), need.reshape(offers, -1)
