"""What whole instances cost that are worth what is asked of each period: a bound that rounds up every hour.

At any prices of demand y >= 0 what all instances of a plan serve in a period is worth what serving every class whole
is, and one instance serves no more than its worth V(1) (see `knapsack`). So with n whole instances of each offer, and
what hosted APIs serve at no less than r USD for a USD of worth,

    sum over offers of V(1) n + worth served by APIs >= all,    cost >= sum of price n + r x worth served by APIs.

The least cost of that is a knapsack in one row, solved for every part of what is asked at once: worth is counted in
steps, what an instance serves rounded up and what is asked rounded down. The bound by patterns at the same prices mixes
counts of an hour, a third of a machine among them, and this one does not: with few instances an hour it is well above.
Prices of another problem will do, and of several the highest bound counts.

Machines paid all month serve their worth in every period. For each number of them that is what is left to be served by
the hour, so the bound of a week with them is that of the number for which it is lowest.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.program.formulation.objective import api_cost_usd_per_hour
from optimizer.program.large.knapsack import Worth, units_of, worth_of_one
from optimizer.program.problem.problem import Problem

STEPS: Final = 2_000
"""Into which what is asked of a period is divided; half a step is lost of an instance, and one of what is asked."""

ALLOWED: Final = 1e-6
"""Share of what is asked by which a solver's plan may fall short of it."""

MOST_SCARCE: Final = 300
"""Instances of scarce offers, all together, beyond which these are taken to be had without end."""

MOST_LISTED: Final = 50_000
"""Numbers of machines paid all month that are looked at."""


class Cover:
    """What each period of a problem costs at least, by what machines paid all month leave of it.

    Attributes:
        share: (T, O) of what is asked that one instance serves at most.
    """

    def __init__(self, problem: Problem, worth: Worth, price_usd_per_hour: Floats) -> None:
        """Solve the knapsacks.

        Args:
            problem: Whose periods are looked at one by one.
            worth: Of requests, at some prices of demand.
            price_usd_per_hour: (T, O) of an instance by the hour in a period, in USD/h over the month, with charges.
        """
        always, offers = problem.offers.always_paid, problem.offers
        self._price = price_usd_per_hour
        # sending answers costs more, which is left out
        units = replace(units_of(problem), egress_usd_per_hour=np.zeros((1, 1, 1)))
        held = worth_of_one(units, worth)
        asked = worth.of_all[:, None]
        self.share: Floats = np.divide(held, asked, out=np.zeros_like(held), where=asked > 0)
        self._asked: Flags = worth.of_all > 0
        steps = np.ceil(self.share * STEPS).astype(np.int64)
        endless = np.flatnonzero(~always & ~_is_scarce(offers.available, always))
        endless = np.setdiff1d(endless, list(_stand_ins(self.share, price_usd_per_hour, endless)))
        step_usd = np.where(self._asked, _least_rate(problem, worth), np.inf) * np.where(self._asked, worth.of_all, 1.0)
        self._cost = _filled(steps[:, endless], price_usd_per_hour[:, endless], step_usd / STEPS)
        for offer in np.flatnonzero(~always & _is_scarce(offers.available, always)).tolist():
            self._cost = _with_scarce(
                self._cost, steps[:, offer], price_usd_per_hour[:, offer], int(offers.available[offer])
            )

    def by_period(self, counts: Ints) -> Floats:
        """(..., T) USD/h over the month that each period costs at least beside so many (..., O) machines paid all
        month."""
        left = np.clip(np.floor((1 - ALLOWED - counts @ self.share.T) * STEPS), 0, STEPS).astype(np.int64)
        cost: Floats = self._cost[np.arange(len(self._cost)), np.where(self._asked, left, 0)]
        return cost

    def with_one(self, period: int) -> Floats:
        """(O,) USD/h over the month that a period costs at least where it runs an instance of an offer by the hour."""
        left = np.clip(np.floor((1 - ALLOWED - self.share[period]) * STEPS), 0, STEPS).astype(np.int64)
        return np.asarray(self._price[period] + (self._cost[period, left] if self._asked[period] else 0.0))

    def beside(self, counts: Ints, price_usd_per_hour: Floats) -> Floats:
        """(N,) USD/h that no plan with so many (N, O) machines paid all month, at a price (O,), undercuts."""
        return np.asarray(counts @ price_usd_per_hour + self.by_period(counts).sum(axis=-1))


class Covers:
    """The same at several prices of demand: of each period that counts which says most of it.

    Attributes:
        share: (P x T, O) of what is asked that one instance serves at most, at each of the prices.
    """

    def __init__(self, covers: Sequence[Cover]) -> None:
        """Of the same periods and offers, at least one."""
        self._covers = covers
        self.share: Floats = np.concatenate([cover.share for cover in covers])

    def by_period(self, counts: Ints) -> Floats:
        """See `Cover`."""
        return np.asarray(np.max([cover.by_period(counts) for cover in self._covers], axis=0))


def least_counts(cover: Cover, problem: Problem, price_usd_per_hour: Floats) -> tuple[float, Ints]:
    """USD/h that no plan undercuts, and the (O,) machines paid all month of which it is told.

    Where these may be too many to be looked at nothing is known: 0, and none of them.

    Args:
        cover: Of the problem.
        problem: Whose machines may be paid all month.
        price_usd_per_hour: (O,) of these, with charges.
    """
    offers, none = problem.offers, np.zeros(len(problem.offers), dtype=np.int64)
    alone = float(cover.beside(none[None], price_usd_per_hour)[0])
    always = np.flatnonzero(offers.always_paid)
    endless = always[np.isinf(offers.available[always])]
    there = offers.always_paid.copy()
    there[list(_stand_ins(cover.share, price_usd_per_hour, endless))] = False
    counts = None
    if np.isfinite(alone):
        counts = listed_counts(np.where(there, price_usd_per_hour, np.inf), offers.available, alone)
    if counts is None:
        return 0.0, none
    total = cover.beside(counts, price_usd_per_hour)
    return float(total.min()), counts[total.argmin()]


def listed_counts(price_usd_per_hour: Floats, available: Floats, most_usd_per_hour: float) -> Ints | None:
    """(N, O) every number of instances of some offers that costs no more; None where they are too many to look at.

    Args:
        price_usd_per_hour: (O,) of an instance; infinite for none of an offer.
        available: (O,) how many can be had.
        most_usd_per_hour: What all may cost together.
    """
    found = np.zeros((1, len(available)), dtype=np.int64)
    there = (price_usd_per_hour <= most_usd_per_hour) & (available >= 1)
    price = np.where(there, price_usd_per_hour, 0.0)
    for offer in np.flatnonzero(there).tolist():
        if price[offer] * MOST_LISTED < most_usd_per_hour and available[offer] > MOST_LISTED:
            return None
        more, rounds = found, [found]
        while len(more) and sum(len(each) for each in rounds) <= MOST_LISTED:
            more = more.copy()
            more[:, offer] += 1
            more = more[(more[:, offer] <= available[offer]) & (more @ price <= most_usd_per_hour)]
            rounds.append(more)
        found = np.concatenate(rounds)
        if len(found) > MOST_LISTED:
            return None
    return found


def listed_beside(
    covers: Covers, price_usd_per_hour: Floats, available: Floats, hours: Floats, most_usd_per_hour: float
) -> tuple[Ints, Floats] | None:
    """(N, O) every number of machines paid all month beside which a plan may cost no more, and (N,) the USD/h that it
    costs at least; None where they are too many to look at.

    Where so many of another offer cost no more and serve no less, a plan costs at least what it would with these. So
    numbers without such offers are listed, and of those that may be in a plan the ones for which they stand.

    Args:
        covers: Of the levels of a week.
        price_usd_per_hour: (O,) of an instance; infinite for none of an offer.
        available: (O,) how many can be had.
        hours: (T,) share of the month of each level.
        most_usd_per_hour: What a plan may cost.
    """
    there = np.isfinite(price_usd_per_hour)
    stand_ins = _stand_ins(covers.share, price_usd_per_hour, np.flatnonzero(there & np.isinf(available)))
    left = there.copy()
    left[list(stand_ins)] = False
    counts = listed_counts(np.where(left, price_usd_per_hour, np.inf), available, most_usd_per_hour)
    price = np.where(there, price_usd_per_hour, 0.0)

    def in_a_plan(counts: Ints) -> tuple[Ints, Floats]:
        usd_per_hour = counts @ price + covers.by_period(counts) @ hours
        return counts[usd_per_hour <= most_usd_per_hour], usd_per_hour[usd_per_hour <= most_usd_per_hour]

    found = None if counts is None else in_a_plan(counts)
    # what stands in for one offer may itself be stood in for, and was then left out later
    for offer, (other, often) in reversed(stand_ins.items()):
        counts = None if found is None else _with_instead(found[0], offer, other, int(often))
        found = None if counts is None else in_a_plan(counts)
    return found


def _with_instead(counts: Ints, offer: int, other: int, often: int) -> Ints | None:
    """The same numbers (N, O), each also with any number of an offer in place of so many times as many of another one;
    None where these are too many to look at."""
    found, more = [counts], counts
    while len(more := more[more[:, other] >= often]) and sum(len(each) for each in found) <= MOST_LISTED:
        more = more.copy()
        more[:, other] -= often
        more[:, offer] += 1
        found.append(more)
    together = np.concatenate(found)
    return None if len(together) > MOST_LISTED else together


def _is_scarce(available: Floats, always: Flags) -> Flags:
    """(O,) offers of which only so many can be had, where these are few enough to be counted."""
    scarce: Flags = np.isfinite(available) & ~always
    return scarce & bool(available[scarce].sum() <= MOST_SCARCE)


def _stand_ins(share: Floats, price: Floats, offers: Ints) -> dict[int, tuple[int, float]]:
    """For those of some offers of which so many of another one cost no more and serve no less, in every period: which
    one, and how many. Of equals one is left.

    Args:
        share: (T, O) of what is asked that one instance serves at most.
        price: (O,) of an instance, or (T, O) in each period.
        offers: Positions of those to be held against each other.
    """
    share, price = share[:, offers], np.broadcast_to(price, share.shape)[:, offers]
    keep, found = np.ones(len(offers), dtype=np.bool_), dict[int, tuple[int, float]]()
    for own in np.argsort(-price.max(axis=0, initial=0.0), kind="stable").tolist():
        with np.errstate(divide="ignore", invalid="ignore"):
            often = np.floor(price[:, own, None] / price).min(axis=0)
        able = keep & (often >= 1) & (share[:, own, None] <= np.where(often >= 1, often, 0) * share).all(axis=0)
        able[own] = False
        if able.any():
            keep[own], other = False, int(able.argmax())
            found[int(offers[own])] = int(offers[other]), float(often[other])
    return found


def _least_rate(problem: Problem, worth: Worth) -> Floats:
    """(T,) USD that hosted APIs cost at least for a USD of worth; infinite where there is none."""
    streams = problem.api_streams
    rate = np.full(problem.traffic.periods, np.inf)
    reach = worth.of_reach[streams.period, streams.mix]
    cost = api_cost_usd_per_hour(problem)
    np.minimum.at(rate, streams.period[reach > 0], cost[reach > 0] / reach[reach > 0])
    return rate


def _filled(steps: Ints, price: Floats, step_usd: Floats) -> Floats:
    """(T, S + 1) the least that serves so many steps, by any number of instances (T, O) and APIs at so much a step."""
    cost = np.zeros((len(steps), STEPS + 1))
    steps, price = _worth_buying(steps, price)
    each = np.where(steps > 0, price, np.inf)
    rows, steps = np.arange(len(steps))[:, None], np.maximum(steps, 1)
    for step in range(1, STEPS + 1):
        by_instances = (cost[rows, np.maximum(step - steps, 0)] + each).min(axis=1, initial=np.inf)
        cost[:, step] = np.minimum(by_instances, cost[:, step - 1] + step_usd)
    return cost


def _worth_buying(steps: Ints, price: Floats) -> tuple[Ints, Floats]:
    """(T, W) what instances serve and cost in each period of which so many of another offer serve less there.

    Of equals the first is left; where fewer than W are, the rest serve nothing.
    """
    keep = np.array([_worth_it(own, usd) for own, usd in zip(steps, price, strict=True)])
    first = np.argsort(~keep, axis=1, kind="stable")[:, : keep.sum(axis=1).max(initial=0)]
    left = np.take_along_axis(keep, first, axis=1)
    return np.where(left, np.take_along_axis(steps, first, axis=1), 0), np.take_along_axis(price, first, axis=1)


def _worth_it(steps: Ints, price: Floats) -> Flags:
    """(O,) the same in one period, its offers all held against each other at once."""
    with np.errstate(divide="ignore", invalid="ignore"):
        often = np.floor(price[:, None] / price)
        replaces = (often >= 1) & (steps[:, None] <= often * steps)
    # of equals, which replace each other, the first is left
    replaces &= ~(replaces.T & np.triu(np.ones_like(replaces)))
    return np.asarray(~replaces.any(axis=1))


def _with_scarce(cost: Floats, steps: Ints, price: Floats, available: int) -> Floats:
    """The same with one more offer (T,), of which so many can be had."""
    best, step = cost, np.arange(STEPS + 1)
    for count in range(1, available + 1):
        taken = np.maximum(step - count * steps[:, None], 0)
        best = np.minimum(best, np.take_along_axis(cost, taken, axis=1) + count * price[:, None])
        if (count * steps >= STEPS).all():
            break
    return best
