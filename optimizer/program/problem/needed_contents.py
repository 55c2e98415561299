"""Contents that a plan needs where a search has said how much of each demand the fullest instance carries.

Replicas that run are counted beside what instances have room for, so of two contents of which one is part of the other
the larger will do, as long as it is within what the fullest instance carries.

A content p of one offer is replaced by q, of the same or another one, where q costs no more, carries no less of any
demand, at full rate as well as in use, and is no worse in whatever a limit looks at: the traits of the offer, the
labels of what stands there, its GPUs; and where q can be had without end or is of the same offer.

Proof, by exchange. Turn every instance with p into one with q, each with what q has room for. Cost does not rise, there
are as many instances and no more GPUs, at places that are no worse. What p's replicas were sent q's serve, within the
same utilization; all that run carry no less of any demand, and the fullest instance no more than `most`, as all that
are listed do: what must be carried is still. Where a program weighs itself what is lost, that is no less either: with q
in place of p it loses more by the difference at most, and what all carry grows by that once or more. So no limit is
broken that looks at no more than that (`_LOOKED_AT`); where another one is in force nothing is replaced.
"""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.problem.losses import rates_per_demand, shares_at_full_rate
from optimizer.program.problem.problem import Problem
from optimizer.program.problem.quantities import stands_in_force
from optimizer.program.problem.traits import CANDIDATE_TRAITS, OFFER_TRAITS, candidate_traits, offer_traits

SAME_SHARE = 1e-9
"""How far two shares of a demand may be apart and be the same."""

DECIMALS = 12
"""To which what two contents carry is compared."""

_LOOKED_AT = frozenset(
    (
        *("survive", "max_gpus", "quotas", "max_monthly_usd", "max_power_kw", "max_carbon_kg_per_month"),
        *("max_spot_share", "max_provider_share", "min_providers", "min_regions"),
        *("max_distinct_configurations", "max_engines"),
    )
)


@dataclass(frozen=True, eq=False)
class OfferContents:
    """What may stand on one instance of an offer.

    Attributes:
        offer: Its number.
        candidates: (C',) those on it.
        counts: (P, C') replicas of each.
    """

    offer: int
    candidates: Ints
    counts: Ints


def largest_within(problem: Problem, listed: OfferContents, most_held: Ints) -> OfferContents:
    """Of all contents of an offer those that carry no more than the fullest instance may, and are part of no other.

    Args:
        problem: With `fullest` known.
        listed: Every content.
        most_held: (C,) replicas of a candidate that are of use on one instance.
    """
    share, at_most = shares_at_full_rate(problem)[:, listed.candidates], problem.fullest.most + SAME_SHARE
    size, most = problem.candidates.gpus_per_replica[listed.candidates], most_held[listed.candidates]
    carried = listed.counts @ share.T
    within = (carried <= at_most).all(axis=1)
    counts, carried = listed.counts[within], carried[within]
    room = problem.offers.gpus_per_instance[listed.offer] - counts @ size
    largest = np.ones(len(counts), dtype=np.bool_)
    for number, more in enumerate(share.T):
        fits = (room >= size[number]) & (counts[:, number] < most[number])
        largest &= ~(fits & (carried + more <= at_most).all(axis=1))
    return OfferContents(listed.offer, listed.candidates, counts[largest])


def may_be_exchanged(problem: Problem) -> bool:
    """Whether nothing that the problem asks is harder to keep with a content that carries more in place of another."""
    limits, traffic = problem.limits, problem.traffic
    more = traffic.least_replicas.any() or problem.egress.charged or problem.tolls_usd_per_hour.size
    return not more and limits.names_in_force <= _LOOKED_AT and not stands_in_force(problem).any()


def not_replaced(problem: Problem, listed: list[OfferContents]) -> list[OfferContents]:
    """Contents of all offers but those that another one replaces."""
    if not listed or not may_be_exchanged(problem):
        return listed
    of = np.repeat(np.arange(len(listed)), [len(each.counts) for each in listed])
    replicas = np.zeros((len(of), len(problem.candidates)))
    for number, each in enumerate(listed):
        replicas[np.ix_(of == number, each.candidates)] = each.counts
    offer = np.array([each.offer for each in listed])[of]
    # an offer of which only so many can be had replaces none but its own
    of_offer = np.where(np.isfinite(problem.offers.available), np.arange(len(problem.offers)), -1)[offer]
    kept = _undominated(*_columns(problem, offer, replicas), offer, of_offer)
    return [
        OfferContents(each.offer, each.candidates, each.counts[kept[of == number]])
        for number, each in enumerate(listed)
        if kept[of == number].any()
    ]


def _columns(problem: Problem, offer: Ints, replicas: Floats) -> tuple[Floats, Floats]:
    """(P, X) what a replacement has no more of, the price first, and (P, Y) no less.

    Args:
        problem: The problem.
        offer: (P,) of each content.
        replicas: (P, C) that stand there.
    """
    offers = problem.offers
    traits = (column for name in offer_traits(problem) for column in OFFER_TRAITS[name](problem))
    no_more = [offers.price_usd_per_hour, offers.gpus_per_instance, *traits]
    columns = [np.asarray(column, dtype=np.float64)[offer] for column in no_more]
    for name in candidate_traits(problem.limits):
        label = CANDIDATE_TRAITS[name](problem)
        columns += [np.asarray((replicas[:, label == each] > 0).any(axis=1), float) for each in np.unique(label)]
    carried = np.hstack([replicas @ shares_at_full_rate(problem).T, replicas @ rates_per_demand(problem).T])
    return np.stack(columns, axis=1), np.round(carried, DECIMALS)


def _undominated(no_more: Floats, no_less: Floats, offer: Ints, only: Ints) -> Flags:
    """(P,) which rows no other one replaces; of equal ones the first stays.

    Args:
        no_more: (P, X) what a replacement has no more of.
        no_less: (P, Y) and no less.
        offer: (P,) of each row.
        only: (P,) the offer whose rows alone it may replace; -1 where it may any.
    """
    order = np.lexsort((-no_less.sum(axis=1), no_more[:, 0]))
    no_more, no_less, offer, only = no_more[order], no_less[order], offer[order], only[order]
    alive = np.ones(len(order), dtype=np.bool_)
    for number in range(len(order)):
        if alive[number]:
            worse = (no_more >= no_more[number]).all(axis=1) & (no_less <= no_less[number]).all(axis=1)
            worse &= (only[number] < 0) | (offer == only[number])
            worse[: number + 1] = False
            alive &= ~worse
    kept = np.zeros(len(order), dtype=np.bool_)
    kept[order[alive]] = True
    return kept
