"""Prices that move until the plans of all services go together: rounds of asking, bounding and mixing.

In each round every kind of service is asked for its cheapest plan at the prices of what is shared. Its own bounds give
the bound of all (`program.portfolio.shared`); its plans join those to mix, and the mixture gives the next prices,
pulled towards the best ones so far to keep them from swinging. In the end whole plans are chosen among those found.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

import numpy as np

from optimizer.answers.many.portfolio.desk import Desk
from optimizer.answers.many.portfolio.services import Allowance, Reply
from optimizer.base.arrays import Floats, Ints
from optimizer.base.clock import Clock
from optimizer.plan.record.fields import cents, usd
from optimizer.program.portfolio.master import PlanMixture, PortfolioMaster
from optimizer.program.portfolio.shared import ServicePlan, Shared, SharedPrices, bound_usd

MOST_ROUNDS: Final = 60
CLOSE: Final = 0.1
"""Share of the wanted gap within which mixture and bound need not be brought any nearer."""

FIRST_PULL, LEAST_PULL = 0.7, 0.1
"""Weight of the best prices so far beside the mixture's."""

FIRST_PENALTY, DEARER, TOO_DEAR = 1.0, 10.0, 1000.0
"""A unit beyond a limit costs so many times a service alone, then ten times as much, until no plans together cost less
than a thousand times what all cost alone. Alone they may have what is cheap and scarce, so less is no reason to end."""

BUDGET_PENALTY: Final = 10.0
"""A dollar beyond the budget costs so many times what a unit beyond another limit does beside a service alone."""

NODES: Final = 2000
"""Of branch and bound for the choice of whole plans, the same on every machine."""

SHARE_OF_ROUNDS: Final = 0.85
"""Of a time limit; the rest is for choosing and verifying."""


@dataclass(frozen=True)
class NumberedPlan:
    """A plan found, and the number that its service knows it by."""

    plan: ServicePlan
    number: int
    usd: Decimal


@dataclass(eq=False)
class Search:
    """What a search for plans together has to its name.

    Attributes:
        shared: What the services share.
        counts: (K,) services of each kind.
        hour: (J,) the first hour of each joint period.
        period: (168,) the joint period of each hour.
        alone_usd: Of all services.
        found: Every plan, each once.
        bound_usd: What no plans together undercut.
        prices: Those of the best bound.
        rounds: How many there were.
        mixture: The last one.
        excluded: Whether a program of all services has no plans that go together.
        penalty: What a unit beyond a limit costs, see `FIRST_PENALTY`.
    """

    shared: Shared
    counts: Ints
    hour: Ints
    period: Ints
    alone_usd: float
    found: list[NumberedPlan] = field(default_factory=list)
    bound_usd: float = 0.0
    prices: SharedPrices | None = None
    rounds: int = 0
    mixture: PlanMixture | None = None
    excluded: bool = False
    penalty: float = FIRST_PENALTY

    @property
    def too_dear(self) -> bool:
        """Whether no plans together cost less than many times what they cost alone."""
        return self.bound_usd > TOO_DEAR * self.alone_usd

    @property
    def over_budget(self) -> bool:
        """Whether it is proven that no plans together keep the budget."""
        return self.bound_usd > self.shared.budget_usd * (1 + 1e-9)

    def by_period(self, by_hour: Ints) -> Ints:
        """(…, J) of what is taken in each hour (…, 168) the most in any hour of a joint period."""
        most = np.zeros((len(by_hour), len(self.hour)), dtype=np.int64)
        np.maximum.at(most.T, self.period, by_hour.T)
        return most

    def add(self, kind: int, reply: Reply) -> None:
        """A plan that was not known joins those to mix."""
        if reply.plan < 0:
            return
        use, pooled = self.by_period(reply.use), self.by_period(reply.pooled)
        plan = ServicePlan(kind, float(reply.usd), use, pooled)
        if _content(plan) not in {_content(each.plan) for each in self.found}:
            self.found.append(NumberedPlan(plan, reply.plan, reply.usd))

    def master(self, exceedable: Sequence[int] | None = None) -> PortfolioMaster:
        """The master over all that was found; by default every limit may be exceeded at a penalty, the budget too.

        Args:
            exceedable: The only ones that may be: limits, then pools, then the budget.
        """
        everything = len(self.shared.most) + len(self.shared.pool_usd) + 1
        listed = list(range(everything) if exceedable is None else exceedable)
        penalty = np.full(everything, np.inf)
        # of a unit: a service's mean cost, and times ten from there
        penalty[listed] = self.penalty * self.alone_usd / int(self.counts.sum())
        if np.isfinite(penalty[-1]):
            penalty[-1] = self.penalty * BUDGET_PENALTY
        return PortfolioMaster(self.shared, self.counts, [each.plan for each in self.found], penalty)

    def under(self, shared: Shared) -> "Search":
        """The same plans under other limits, of which nothing is proven yet."""
        search = Search(shared, self.counts, self.hour, self.period, self.alone_usd)
        search.found = list(self.found)
        return search

    def of_some(self, counts: Ints, known: list[NumberedPlan]) -> "Search":
        """The same limits for other numbers of services (K,), whose plans come from and join a list of known ones."""
        return Search(self.shared, counts, self.hour, self.period, self.alone_usd, known)


def searched(search: Search, desk: Desk, clock: Clock, wanted_gap: float, most_rounds: int = MOST_ROUNDS) -> Search:
    """Rounds until the mixture costs no more than the bound, nearly; the search itself, with all that was found."""
    prices, pull, own = SharedPrices.first(search.shared), FIRST_PULL, clock.share(SHARE_OF_ROUNDS)
    for _ in range(most_rounds):
        if search.rounds and own.expired:
            break
        bound = _asked(search, desk, prices, own)
        if bound > search.bound_usd or search.prices is None:
            search.bound_usd, search.prices = max(bound, search.bound_usd), prices
            pull = max(pull * 0.7, LEAST_PULL)
        else:
            pull = 1 - (1 - pull) * 0.8
        mixture = search.master().mixed(Clock())
        if mixture is None or mixture.prices is None:
            break
        search.mixture = mixture
        if mixture.usd - search.bound_usd <= CLOSE * wanted_gap * mixture.usd:
            if mixture.keeps_all or search.too_dear or search.over_budget:
                break
            search.penalty *= DEARER
        if search.too_dear:
            break
        prices = search.prices.between(mixture.prices, pull)
    return search


def _asked(search: Search, desk: Desk, prices: SharedPrices, clock: Clock) -> float:
    """One round: the bound at these prices; new plans join those found."""
    shared, kinds = search.shared, len(search.counts)
    charged = prices.never_free(shared)
    unit, instance = (toll[:, search.period] for toll in charged.tolls(shared))
    left = clock.left_s()
    allowance = Allowance(None if left is None else max(left / kinds * 2, 0.05), clock.left_work())
    replies: list[Reply] = desk.answers([(kind, "at", (unit, instance, allowance)) for kind in range(kinds)])
    search.rounds += 1
    for kind, reply in enumerate(replies):
        search.add(kind, reply)
    return bound_usd(shared, charged, search.counts, [reply.bound_usd for reply in replies])


def _content(plan: ServicePlan) -> tuple[int, float, bytes, bytes]:
    """What tells two plans apart."""
    return plan.service, round(plan.usd, 4), plan.use.tobytes(), plan.pooled.tobytes()


@dataclass(frozen=True)
class ChosenPlans:
    """Whole plans for all services.

    Attributes:
        usd: A month of all together, pools included.
        plans: The plan of each service of a kind, kinds in their order.
        pools: (Q,) instances that are signed for.
    """

    usd: float
    plans: tuple[tuple[NumberedPlan, ...], ...]
    pools: Floats

    def in_bills(self, pool_usd: Floats) -> Decimal:
        """A month of all together as bills are written, those of services and of pools (Q,) each to the cent."""
        bills = [cents(each.usd) for plans in self.plans for each in plans]
        return sum(bills + [cents(usd(each)) for each in (self.pools * pool_usd).tolist()], Decimal(0))


def chosen(search: Search, clock: Clock) -> ChosenPlans | None:
    """The cheapest choice among all that was found that keeps everything; None where there is none."""
    mixture = search.master(()).chosen(clock, NODES)
    if mixture is None:
        return None
    return _read(search, mixture)


def _read(search: Search, mixture: PlanMixture) -> ChosenPlans:
    plans: list[list[NumberedPlan]] = [[] for _ in search.counts]
    for each, weight in zip(search.found, mixture.weights.tolist(), strict=True):
        plans[each.plan.service] += [each] * round(weight)
    return ChosenPlans(mixture.usd, tuple(tuple(each) for each in plans), mixture.pools)
