"""Candidates and offers that another one replaces at no more cost: removed before anything is solved.

Candidate rule. On one offer, c' replaces c when it serves every mix that c serves at no lower rate, has no more GPUs
per replica (as many, where the loss of an instance must be survived) and, under a limit on distinct configurations or
engines, the same label. A candidate whose configuration has replicas in force on its offer is never replaced, since
changes are counted against them.

Offer rule. o' replaces o when it costs no more, is paid the same way, holds as many GPUs, is no worse in whatever an
active family looks at (same provider or region where places are counted, limited or lost, not spot unless o is, no
more power or carbon under a limit on it, in no quota that o is not in, not scarce), sends answers out at no higher
price, is paid for no longer once started, and every candidate of o has a replacement by the candidate rule on o'. An
offer with replicas in force is never replaced, nor is any where the loss of an instance must be survived: instances of
two offers are not lost together, and what one takes along is counted by what it could hold, so two offers may do with
fewer.

Proof, by exchange. Take a plan that uses what is replaced; turn every instance of o into one of o' (nothing to do for
the candidate rule) and every replica of c, with its flows, into one of c'. Several may turn into the same c'.
- cost does not rise, nor do starts: every flow keeps its mix, and a GB sent from the new offer costs no more (on one
  offer as much), so sending costs no more; the number of GPUs, replicas and instances stays: max_gpus, max_monthly_usd,
  least_replicas, max_replicas and the first two tie-breaks hold;
- minimum_billing: the runs that paid for o and o' pay for o' now: they cover what runs there, and each is long enough;
- demand: same mixes, same flows; capacity: rates' >= rates, so the added flows are within the added replicas' rates;
- packing: the old replicas fitted; each becomes no larger, in an instance of the same size, so the new ones fit;
- spare_replicas: flow <= rate (r - s used) summed over those that turn into c' is at most rate' (sum r - s), since at
  least one of them was used or no flow is added; replicas >= (s + 1) used holds likewise;
- survive: what is lost with a place is the same share of flows and replicas, for the place is the same; on one offer
  an instance takes as many replicas along, so several that turn into one have, together, no fewer left;
- changes: who replaces is started as often as who is replaced no longer is, or is in force and stopped less;
- max_distinct_configurations, max_engines: labels stay the same; quotas, availability, max_power_kw, max_carbon,
  max_spot_share, max_provider_share, min_providers, min_regions: o' was required to be no worse, and a candidate that
  counted as present still does.
So a plan of no more cost avoids what is replaced. Ties are broken by the order of ids, so no two replace each other.
"""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import stands_in_force
from optimizer.program.problem.traits import (
    CANDIDATE_TRAITS,
    OFFER_TRAITS,
    Column,
    candidate_traits,
    offer_traits,
    same,
)

MOST_COMPARISONS = 5_000_000
"""Pairs of offers that are looked at; where there are more, the dearest offers stay, as any offer may."""

MANY_RATES, PICKED, RARELY = 200_000, 100, 50
"""With more rates than that, this many offers are looked at first; where one in fifty is replaced, no more are."""


def undominated(problem: Problem) -> Flags:
    """(C,) which candidates of a sorted problem survive both rules."""
    kind = _replacement_kind(problem)
    home, fixed = problem.candidates.offer, stands_in_force(problem)
    keep: Flags = _best_on_offer(problem, kind) | fixed
    if "instance" in problem.limits.survive or not len(home):
        return keep
    offers = _best_offers(problem, np.flatnonzero(keep), kind)
    offers[home[fixed]] = True
    return keep & offers[home]


def _replacement_kind(problem: Problem) -> Ints:
    """(C,) only candidates with the same number may replace each other: same mixes and, where it counts, labels."""
    candidates = problem.candidates
    keys = [np.packbits(candidates.rate_per_s > 0, axis=1).astype(np.int64)]
    keys += [CANDIDATE_TRAITS[trait](problem)[:, None] for trait in candidate_traits(problem.limits)]
    if not len(candidates):
        return np.zeros(0, dtype=np.int64)
    return np.unique(np.hstack(keys), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _best_on_offer(problem: Problem, kind: Ints) -> Flags:
    """(C,) the candidate rule: walk each offer and kind by rising size, keep what no kept one replaces.

    A candidate alone on its offer in its kind is kept without a look.
    """
    candidates, rate = problem.candidates, problem.candidates.rate_per_s
    fastest = rate.max(axis=1, initial=0.0)
    order = np.lexsort((np.arange(len(rate)), -fastest, candidates.gpus_per_replica, kind, candidates.offer))
    one_mix = ((rate > 0).sum(axis=1) == 1).tolist()
    _, number, count = np.unique(np.stack([candidates.offer, kind]), axis=1, return_inverse=True, return_counts=True)
    keep: Flags = count[number.reshape(-1)] == 1
    order = order[~keep[order]]
    offer, kinds, speed = candidates.offer.tolist(), kind.tolist(), fastest.tolist()
    place, best, kept = (-1, -1), 0.0, list[int]()
    for candidate in order.tolist():
        if (offer[candidate], kinds[candidate]) != place:
            place, best, kept = (offer[candidate], kinds[candidate]), 0.0, []
        if one_mix[candidate]:
            keep[candidate] = speed[candidate] > best
        else:
            keep[candidate] = not (rate[kept] >= rate[candidate]).all(axis=1).any()
        if keep[candidate]:
            best = speed[candidate]
            kept.append(candidate)
    return keep


@dataclass(frozen=True, eq=False)
class _Tables:
    """(O, columns) by kind, size and mix: rates that one candidate of an offer has, and rates to be matched."""

    have: Floats
    need: Floats


def _best_offers(problem: Problem, kept: Ints, kind: Ints) -> Flags:
    """(O,) the offer rule: walk the offers by rising price, keep what no kept one replaces.

    Most offers are alike but for their price, so the cheapest of those that hold the same candidates is found first.
    """
    tables, traits, same = _rates(problem, kept, kind), _traits(problem), _contents(problem, kept, kind)
    price = problem.offers.price_usd_per_hour
    by_price = np.lexsort((np.arange(len(price)), price))
    by_price = by_price[tables.need[by_price].any(axis=1)]
    if tables.need.size > MANY_RATES and _rarely_replaced(problem, tables, traits, same, by_price):
        keep = np.zeros(len(price), dtype=np.bool_)
        keep[by_price] = True
        return keep
    # by column, since a column is what is compared at a time
    have = np.ascontiguousarray(tables.have.T)
    order = np.argsort(have, axis=1, kind="stable")
    may_replace, keep = ~np.isfinite(problem.offers.available), np.zeros(len(price), dtype=np.bool_)
    rarest, having = _rarest(tables)
    standing, count, compared = np.zeros(len(price), dtype=np.int64), 0, 0
    kept_alike: dict[int, list[int]] = {}
    for offer in _cheapest(problem, np.column_stack([traits, same]), by_price):
        alike = kept_alike.setdefault(int(same[offer]), [])
        twins = [twin for twin in alike if may_replace[twin]]
        if twins and (traits[twins] <= traits[offer]).all(axis=1).any():
            continue
        rivals = standing[:count] if count <= having[offer] else order[rarest[offer], len(price) - having[offer] :]
        compared += len(rivals)
        if compared <= MOST_COMPARISONS:
            rivals = rivals[keep[rivals] & may_replace[rivals]]
            rivals = rivals[(traits[rivals] <= traits[offer]).all(axis=1)]
            keep[offer] = not _any_has(have, rivals, tables.need[offer])
        else:
            keep[offer] = True
        if keep[offer]:
            standing[count] = offer
            count += 1
            alike.append(offer)
    return keep


def _cheapest(problem: Problem, what: Floats, by_price: Ints) -> list[int]:
    """The first offer of those that are what (O, columns) another one is, and every scarce one."""
    cheapest: dict[bytes, int] = {}
    for offer, row in zip(by_price.tolist(), what[by_price], strict=True):
        scarce = np.isfinite(problem.offers.available[offer])
        cheapest.setdefault(row.tobytes() + (b"%d" % offer if scarce else b""), offer)
    return list(cheapest.values())


def _rarely_replaced(problem: Problem, tables: _Tables, traits: Floats, same: Ints, by_price: Ints) -> bool:
    """Whether hardly any of some offers, evenly picked from all, is replaced by a cheaper one."""
    have = np.ascontiguousarray(tables.have[by_price].T)
    places, replaced = np.linspace(0, len(by_price) - 1, PICKED).astype(np.int64), 0
    may_replace = ~np.isfinite(problem.offers.available[by_price])
    for place in places.tolist():
        worse = traits[by_price[:place]] > traits[by_price[place]]
        rivals = np.flatnonzero(may_replace[:place] & ~worse.any(axis=1))
        offer = by_price[place]
        replaced += bool((same[by_price[rivals]] == same[offer]).any()) or _any_has(have, rivals, tables.need[offer])
    return replaced * RARELY <= PICKED


def _any_has(have: Floats, offers: Ints, need: Floats) -> bool:
    """Whether one of the offers has all that is needed; `have` is (columns, O)."""
    for column in np.flatnonzero(need).tolist() if len(offers) else []:
        offers = offers[have[column][offers] >= need[column]]
        if not len(offers):
            return False
    return bool(len(offers))


def _contents(problem: Problem, kept: Ints, kind: Ints) -> Ints:
    """(O,) the same number for offers whose candidates are alike in kind, size and rates: each replaces the other's."""
    candidates = problem.candidates
    held: list[list[bytes]] = [[] for _ in range(len(problem.offers))]
    key = np.stack([kind[kept], candidates.gpus_per_replica[kept]], axis=1)
    for offer, alike, rate in zip(candidates.offer[kept].tolist(), key, candidates.rate_per_s[kept], strict=True):
        held[offer].append(alike.tobytes() + rate.tobytes())
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(b"".join(sorted(each)), len(numbers)) for each in held], dtype=np.int64)


def _rarest(tables: _Tables) -> tuple[Ints, Ints]:
    """(O,) the column in which the fewest offers have what this one needs, and how many: few rivals to look at."""
    offers = len(tables.need)
    having = np.full(tables.need.shape, offers + 1)
    for column, (have, need) in enumerate(zip(np.sort(tables.have, axis=0).T, tables.need.T, strict=True)):
        having[:, column] = np.where(need > 0, offers - np.searchsorted(have, need), offers + 1)
    rarest: Ints = having.argmin(axis=1)
    return rarest, np.minimum(having[np.arange(offers), rarest], offers)


def _rates(problem: Problem, kept: Ints, kind: Ints) -> _Tables:
    """What every offer can replace and what would have to be replaced.

    A kind of one mix is replaced by the fastest candidate of at most the size; one of several mixes only by a single
    candidate of the same size, so the first one stands for what the offer has, and several of a size need too much.
    """
    candidates = problem.candidates
    rate = candidates.rate_per_s[kept]
    sizes, size = np.unique(candidates.gpus_per_replica[kept], return_inverse=True)
    pairs, mixes = np.nonzero(rate)
    keys, column = np.unique(kind[kept][pairs] * rate.shape[1] + mixes, return_inverse=True)
    served = np.stack(np.divmod(keys, max(rate.shape[1], 1)), axis=1)
    shape = (len(problem.offers), len(served), len(sizes))
    where = (candidates.offer[kept][pairs], column.reshape(-1), size.reshape(-1)[pairs])
    need, have = np.zeros(shape), np.zeros(shape)
    np.maximum.at(need, where, rate[pairs, mixes])
    cells, first = np.unique(np.ravel_multi_index(where, shape), return_index=True)
    have.ravel()[cells] = rate[pairs, mixes][first]
    alone = np.bincount(served[:, 0], minlength=1)[served[:, 0]] == 1 if len(served) else np.zeros(0, dtype=np.bool_)
    several = np.zeros(shape, dtype=np.int64)
    np.add.at(several, where, 1)
    need[(several > 1) & ~alone[:, None]] = np.inf
    have[:, alone] = np.maximum.accumulate(need[:, alone], axis=2)
    return _Tables(have.reshape(shape[0], -1), need.reshape(shape[0], -1))


def _traits(problem: Problem) -> Floats:
    """(O, traits) such that an offer is no worse where all its traits are at most the other's."""
    offers = problem.offers
    columns: list[Column] = [*same(offers.gpus_per_instance)]
    if problem.traffic.periods > 1:
        columns += same(offers.always_paid.astype(np.int64))
    if problem.sending.charged:
        columns.append(problem.sending.usd_per_gb)
    if problem.has_minimum_billing:
        columns.append(problem.billing.minimum_hours)
    for trait in offer_traits(problem.limits):
        columns += OFFER_TRAITS[trait](problem)
    return np.stack([np.asarray(column, dtype=float) for column in columns], axis=1)
