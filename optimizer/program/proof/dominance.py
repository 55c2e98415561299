"""Candidates and offers that another one replaces at no more cost: removed before anything is solved.

Candidate rule. On one offer, c' replaces c when it serves every mix that c serves at no lower rate, has no more GPUs
per replica and, under a limit on distinct configurations or engines, the same label. A candidate whose configuration
has replicas in force on its offer is never replaced, since changes are counted against them.

Where instances are held to what is loaded (see `problem.layouts`) a candidate is replaced with its whole group only: by
those of one other group of no more GPUs, each by one of them, so that what was loaded on an instance turns into what
fits there; and offers are compared by groups of the same configuration.

Offer rule. o' replaces o when it costs no more, is paid the same way, holds as many GPUs, is no worse in whatever an
active family looks at (same provider or region where places are counted, limited or lost, not spot unless o is, no
more power or carbon under a limit on it, in no quota that o is not in, not scarce), sends answers out at no higher
price, is paid for no longer once started, is tolled no more in any period, and every candidate of o has a replacement
by the candidate rule on o'. An offer with replicas in force is never replaced.

Region rule, where a plan may have only so many places and nothing else is asked of them. A region goes where each of
its offers is replaced by the offer rule at some other region, the same one for all of them, of its own provider or, for
a provider of no other region, of any. What ran in the region runs in that one then: one region and, if not the same,
one provider for another. Regions that are not one provider's alone stay, as do providers while hosted APIs may add to
what they are used for.

Variety. Where all that is asked of places is that a plan runs at n of them, o' may be at another place than o if n such
offers at n places each serve all that o does. For a plan that runs without o at n - 1 places only, one of the n is
elsewhere: o turns into that one, in each period by itself. So nothing may join the hours, and what is paid all month is
replaced at its own place alone.

Proof, by exchange. Take a plan that uses what is replaced; turn every instance of o into one of o' (nothing to do for
the candidate rule) and every replica of c, with its flows, into one of c'. Several may turn into the same c'.
- cost does not rise, nor do starts: every flow keeps its mix, and a GB sent from the new offer costs no more (on one
  offer as much), so sending costs no more; the number of GPUs, replicas and instances stays: max_gpus, max_monthly_usd,
  least_replicas, max_replicas and the first two tie-breaks hold;
- minimum_billing: the runs that paid for o and o' pay for o' now: they cover what runs there, and each is long enough;
- demand: same mixes, same flows; capacity: rates' >= rates, so the added flows are within the added replicas' rates;
- packing: the old replicas fitted; each becomes no larger, in an instance of the same size, so the new ones fit;
- layouts: what each instance holds turns into what the new groups need, group by group, so no more of a layout rises at
  any change;
- spare_replicas: flow <= rate (r - s used) summed over those that turn into c' is at most rate' (sum r - s), since at
  least one of them was used or no flow is added; replicas >= (s + 1) used holds likewise;
- survive: what is left after the loss of a place is what was left, each replica no slower, for the place is the same;
  so after the loss of an instance, for what stood on the others stands there still;
- placement: each instance holds what it held, no larger;
- changes: who replaces is started as often as who is replaced no longer is, or is in force and stopped less;
- places, instance_count: the same places where they are counted, and as many instances;
- max_distinct_configurations, max_engines: labels stay the same; quotas, availability, max_power_kw, max_carbon,
  max_spot_share, max_provider_share, min_providers, min_regions: o' was required to be no worse, and a candidate that
  counted as present still does.
So a plan of no more cost avoids what is replaced. Ties are broken by the order of ids, so no two replace each other.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Ints
from optimizer.base.once_of import OnceOf
from optimizer.program.problem.data import Ceiling
from optimizer.program.problem.indices import grouped
from optimizer.program.problem.layouts import LoadGroups, binding_offers, load_groups
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import label_numbers, stands_in_force
from optimizer.program.problem.traits import (
    CANDIDATE_TRAITS,
    candidate_traits,
    offer_traits,
)
from optimizer.program.proof.offer_rule import OfferRule

MOST_COMPARISONS = 5_000_000
"""Pairs of offers that are looked at; where there are more, the dearest offers stay, as any offer may."""

PLACES: Final = ("provider", "region")
"""Traits of an offer that say where it is."""

MANY_RATES, SAMPLED, RARELY = 200_000, 100, 50
"""With more rates than that, this many offers are looked at first; where one in fifty is replaced, no more are."""


def undominated(problem: Problem) -> Flags:
    """(C,) which candidates of a sorted problem survive both rules; worked out once of each problem."""
    return _UNDOMINATED(problem)


def _undominated(problem: Problem) -> Flags:
    keep = _surviving(problem)
    keep.setflags(write=False)
    return keep


def _surviving(problem: Problem) -> Flags:
    groups, bound = load_groups(problem), binding_offers(problem)[problem.candidates.offer]
    kind = _replacement_kind(problem)
    offer, fixed = problem.candidates.offer, stands_in_force(problem)
    keep: Flags = _best_on_offer(problem, grouped(kind, np.where(bound, groups.number + 1, 0)).number)
    keep &= ~bound | _in_best_groups(problem, groups, kind, np.flatnonzero(keep & bound))
    keep |= fixed
    # offers that are held to what is loaded replace each other group by group
    label = np.where(bound, 1 + label_numbers(problem.candidates.configuration), 0)
    kind = grouped(kind, label).number
    if not len(offer):
        return keep
    offers = _best_offers(OfferRule.of(problem, np.flatnonzero(keep), kind))
    offers[offer[fixed]] = True
    keep &= offers[offer]
    if _only_counts_places(problem):
        keep &= _in_best_regions(problem, OfferRule.of(problem, np.flatnonzero(keep), kind, but=PLACES), fixed)[offer]
    return keep


_UNDOMINATED: Final = OnceOf[Problem, Flags](_undominated)


def _only_counts_places(problem: Problem) -> bool:
    """Whether a plan may have so many places, and no limit asks anything else of them."""
    others = offer_traits(replace(problem, ceiling=Ceiling(instances=problem.ceiling.instances)))
    return problem.ceiling.places is not None and not set(PLACES) & set(others)


def _in_best_regions(problem: Problem, rule: OfferRule, fixed: Flags) -> Flags:
    """(O,) the region rule: walk the regions from the last to the first until none goes any more."""
    region, provider = label_numbers(problem.offers.region), label_numbers(problem.offers.provider)
    if len(rule.by_price) ** 2 > MOST_COMPARISONS:
        return np.ones(len(region), dtype=np.bool_)
    regions_of: dict[int, set[int]] = {}
    owners: dict[int, set[int]] = {}
    for at, owner in zip(region[rule.by_price].tolist(), provider[rule.by_price].tolist(), strict=True):
        regions_of.setdefault(owner, set()).add(at)
        owners.setdefault(at, set()).add(owner)
    owner_of = {at: min(those) for at, those in owners.items() if len(those) == 1}
    held = set(region[problem.candidates.offer[fixed]].tolist())
    # region -> those at each of which every offer of it is replaced
    better = {at: set(owner_of) - {at} for at in owner_of.keys() - held}
    for offer in rule.by_price[np.isin(region[rule.by_price], list(better))].tolist():
        better[int(region[offer])] &= set(region[rule.replacing(rule.no_dearer(offer), offer)].tolist())
    standing, before = set(owners), 0
    while len(standing) != before:
        before = len(standing)
        for at in sorted(better.keys() & standing, reverse=True):
            own = regions_of[owner_of[at]]
            alone = not len(problem.apis) and own & standing == {at}
            if better[at] & standing & (standing if alone else own):
                standing.remove(at)
    return np.isin(region, list(standing))


def _replacement_kind(problem: Problem) -> Ints:
    """(C,) only candidates with the same number may replace each other: same mixes and, where it counts, labels."""
    candidates = problem.candidates
    keys = [np.packbits(candidates.rate_per_s > 0, axis=1).astype(np.int64)]
    keys += [CANDIDATE_TRAITS[trait](problem)[:, None] for trait in candidate_traits(problem.limits)]
    if not len(candidates):
        return np.zeros(0, dtype=np.int64)
    return np.unique(np.hstack(keys), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _in_best_groups(problem: Problem, groups: LoadGroups, kind: Ints, listed: Ints) -> Flags:
    """(C,) the candidate rule for whole groups, walked by rising size; false for candidates that are not listed."""
    keep: Flags = np.zeros(len(problem.candidates), dtype=np.bool_)
    rate, offer, mixes = problem.candidates.rate_per_s, problem.candidates.offer, len(problem.traffic.mixes)
    listed = listed[np.argsort(offer[listed], kind="stable")]
    for members in np.split(listed, np.flatnonzero(np.diff(offer[listed])) + 1) if len(listed) else []:
        own, number = np.unique(groups.number[members], return_inverse=True)
        kinds, column = np.unique(kind[members], return_inverse=True)
        have, need = np.zeros((2, len(own), len(kinds), mixes))
        # what a group must be matched in by one candidate for each kind, and what its first of the kind has
        np.maximum.at(need, (number, column), rate[members])
        have[number[::-1], column[::-1]] = rate[members][::-1]
        size, kept = groups.gpus[own], np.zeros(len(own), dtype=np.bool_)
        for group in np.lexsort((own, -need.max(axis=(1, 2)), size)).tolist():
            kept[group] = not (have[kept] >= need[group]).all(axis=(1, 2)).any()
        keep[members] = kept[number]
    return keep


def _best_on_offer(problem: Problem, kind: Ints) -> Flags:
    """(C,) the candidate rule: walk each offer and kind by rising size, keep what no kept one replaces.

    A candidate alone on its offer in its kind is kept without a look.
    """
    candidates, rate = problem.candidates, problem.candidates.rate_per_s
    fastest = rate.max(axis=1, initial=0.0)
    order = np.lexsort((np.arange(len(rate)), -fastest, candidates.gpus_per_replica, kind, candidates.offer))
    one_mix = ((rate > 0).sum(axis=1) == 1).tolist()
    # candidate -> the group of its kind on its offer
    group = grouped(candidates.offer, kind).number
    keep: Flags = np.bincount(group)[group] == 1
    groups, speed = group.tolist(), fastest.tolist()
    kept: dict[int, list[int]] = {}
    for candidate in order[~keep[order]].tolist():
        better = kept.setdefault(groups[candidate], [])
        if one_mix[candidate]:
            # of one mix the last that was kept is the fastest
            keep[candidate] = not better or speed[candidate] > speed[better[-1]]
        else:
            keep[candidate] = not (rate[better] >= rate[candidate]).all(axis=1).any()
        if keep[candidate]:
            better.append(candidate)
    return keep


def _best_offers(rule: OfferRule) -> Flags:
    """(O,) the offer rule: walk the offers by rising price, keep what no kept one replaces.

    Most offers are alike but for their price, so the cheapest of those that hold the same candidates is found first.
    """
    offers = len(rule.need)
    keep = np.zeros(offers, dtype=np.bool_)
    if rule.need.size > MANY_RATES and _rarely_replaced(rule):
        keep[rule.by_price] = True
        return keep
    order = np.argsort(rule.have, axis=1, kind="stable")
    rarest, having = _rarest(rule)
    standing, count, compared = np.zeros(offers, dtype=np.int64), 0, 0
    kept_of_content: dict[int, list[int]] = {}
    for offer in _cheapest(rule):
        twins = kept_of_content.setdefault(int(rule.content[offer]), [])
        if twins and rule.enough(rule.no_worse(np.array(twins), offer)):
            continue
        # the fewer of those kept and of those that have what is rarest
        rivals = standing[:count] if count <= having[offer] else order[rarest[offer], offers - having[offer] :]
        compared += len(rivals)
        keep[offer] = compared > MOST_COMPARISONS or not rule.replaced(
            rule.no_worse(rivals[keep[rivals]], offer), offer
        )
        if keep[offer]:
            standing[count] = offer
            count += 1
            twins.append(offer)
    return keep


def _cheapest(rule: OfferRule) -> list[int]:
    """The first offer of those that are the same in content and traits, and every scarce one."""
    cheapest: dict[bytes, int] = {}
    same = np.column_stack([rule.traits, rule.content, rule.variety.place])
    for offer in rule.by_price.tolist():
        cheapest.setdefault(same[offer].tobytes() + (b"%d" % offer if rule.scarce[offer] else b""), offer)
    return list(cheapest.values())


def _rarely_replaced(rule: OfferRule) -> bool:
    """Whether hardly any of some offers, evenly picked from all, is replaced by a cheaper one."""
    replaced = 0
    for place in np.linspace(0, len(rule.by_price) - 1, SAMPLED).astype(np.int64).tolist():
        offer = rule.by_price[place]
        rivals = rule.no_worse(rule.by_price[:place], offer)
        twins = rivals[rule.content[rivals] == rule.content[offer]]
        replaced += rule.enough(twins) or rule.replaced(rivals, offer)
    return replaced * RARELY <= SAMPLED


def _rarest(rule: OfferRule) -> tuple[Ints, Ints]:
    """(O,) the column in which the fewest offers have what this one needs, and how many: few rivals to look at."""
    offers = len(rule.need)
    having = np.full(rule.need.shape, offers + 1)
    for column, (have, need) in enumerate(zip(np.sort(rule.have, axis=1), rule.need.T, strict=True)):
        having[:, column] = np.where(need > 0, offers - np.searchsorted(have, need), offers + 1)
    rarest: Ints = having.argmin(axis=1)
    return rarest, np.minimum(having[np.arange(offers), rarest], offers)
