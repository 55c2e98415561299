"""What a replica sustains of the mixes that meet on it: each no more than the promises to all their classes allow."""

from collections.abc import Sequence

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.performance.candidates.options import SAME, WorkloadOptions
from optimizer.performance.candidates.pools import shares_of
from optimizer.performance.candidates.triangulation import Simplex


def rates_between(options: WorkloadOptions, simplex: Simplex) -> Floats:
    """(P, corners) requests/s that one replica sustains of each mix of a simplex where it serves the others, too.

    The limits of a class bind as soon as a replica serves any of it. A mix that a configuration does not serve at all
    has none of its classes there.
    """
    pools = [options.pools[p] for p in simplex]
    passed = [known.passed & (known.rate_per_s > 0) for known in pools]
    rates = []
    for known, serves in zip(pools, passed, strict=True):
        rate = known.rate_per_s * serves
        for other, meets in zip(pools, passed, strict=True):
            least = known.beside_per_s[:, list(other.pool.classes)].min(axis=1)
            rate = np.where(meets, np.minimum(rate, least), rate)
        rates.append(rate)
    return np.stack(rates, axis=1)


def rates_around(options: WorkloadOptions, star: Simplex) -> Floats:
    """(P, corners) the same between the whole mix and the corners around it, where one way to run stands for all
    simplices around the whole mix; 0 where it does not.

    A mix lies in one of these, and may be made of the corners alone as well. Where a replica sustains no less of the
    whole mix than shares of its corners add up to, that takes no less of it, so who may do either does the former.
    """
    rates = rates_between(options, star)
    share = shares_of([options.pools[p].pool for p in star], len(options.workload.classes()))
    # corner -> its share of the whole mix
    parts = np.linalg.lstsq(share[1:].T, share[0], rcond=None)[0]
    with np.errstate(divide="ignore"):
        added_up = 1 / (parts / rates[:, 1:]).sum(axis=1)
    stands = (rates > 0).all(axis=1) & (rates[:, 0] >= added_up * (1 - SAME)) & bool((parts > 0).all())
    return np.where(stands[:, None], rates, 0.0)


def told_apart(simplices: Sequence[Simplex], rates: Sequence[Floats], wanted: Flags) -> Flags:
    """(R, simplices) the wanted ones in which a configuration serves what it does in no other one at the same rates.

    Args:
        simplices: What may meet.
        rates: Of each (R, corners), 0 where a configuration does not serve a corner.
        wanted: (R, simplices) which of them a configuration may stand for.
    """
    corners = np.stack([(rate > 0).sum(axis=1) for rate in rates], axis=1)
    found = wanted & (corners > 0)
    for number, simplex in enumerate(simplices):
        for other, wider in enumerate(simplices):
            if other != number:
                within = wanted[:, other] & _served_in(simplex, rates[number], wider, rates[other])
                # of those that serve the same the first stays
                found[:, number] &= ~(within & ((corners[:, other] > corners[:, number]) | (other < number)))
    return found


def _served_in(simplex: Simplex, rate: Floats, wider: Simplex, rate_there: Floats) -> Flags:
    """(R,) whether all that is served in one simplex is in another one, at the same rates."""
    same = np.ones(len(rate), dtype=np.bool_)
    for corner, pool in enumerate(simplex):
        there = rate_there[:, wider.index(pool)] if pool in wider else 0.0
        same &= rate[:, corner] <= there * (1 + SAME)
    return same
