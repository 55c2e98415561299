"""The master problem over plans of single periods: the cheapest mixture in each, what joins them, and its prices."""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.clock import Clock
from optimizer.program.formulation.model import Columns, assemble
from optimizer.program.formulation.rows import Rows, Term, at_least, between, numbered, stacked
from optimizer.program.large.column_generation import IN_MIXTURE
from optimizer.program.problem.indices import matches
from optimizer.program.problem.problem import Problem
from optimizer.program.solver import solve_linear


@dataclass(frozen=True, eq=False)
class PeriodPlan:
    """A plan of one period: what it costs but for instances paid all month and starts, and its instances (O,)."""

    period: int
    usd_per_hour: float
    instances: Floats


@dataclass(frozen=True, eq=False)
class PeriodMixture:
    """The master's optimum.

    Attributes:
        value: Its cost; no prices give a higher bound from plans that are all in the master.
        always: (T, O) price in each period of what is paid all month.
        moved: (O, X) price of a start at each change.
        runs: (O,) offers of which some plan in the mixture runs an instance.
    """

    value: float
    always: Floats
    moved: Floats
    runs: Flags


def mixture_of(problem: Problem, plans: list[PeriodPlan], clock: Clock) -> PeriodMixture | None:
    """The cheapest mixture of plans in each period, joined; None where a period has no plan or time ran out.

    Minimize cost of plans by weight + price x count + start cost x starts, where the weights of each period's plans sum
    to 1, a count is at least what each period's mixture runs, and starts at least what it rises by.
    """
    if len({plan.period for plan in plans}) < problem.traffic.periods:
        return None
    master = _Master.of(problem, plans)
    rows = stacked({"one": master.one_mixture(), "count": master.counted(), "starts": master.started()})
    cost = np.concatenate([master.cost_usd_per_hour, master.price_usd_per_hour, master.start_usd_per_hour.ravel()])
    columns = Columns.fractions(np.full(len(cost), np.inf))
    result = solve_linear(assemble(columns, cost, rows), clock)
    if result.status != "optimal" or not len(result.duals):
        return None
    in_mixture = result.values[: len(plans)] > IN_MIXTURE
    return PeriodMixture(
        value=float(cost @ result.values),
        always=master.price_by_period(result.duals[rows.blocks["count"]]),
        moved=master.price_by_change(result.duals[rows.blocks["starts"]]),
        runs=np.asarray((master.instances[in_mixture] > 0).any(axis=0)),
    )


@dataclass(frozen=True, eq=False)
class _Master:
    """The rows of the master; its columns are P plans, A counts of what is paid all month, then E x X starts.

    Attributes:
        before, after: (X,) periods of each change.
        periods: How many.
        period, cost_usd_per_hour, instances: (P,), (P,), (P, O) of the plans.
        always, elastic: (A,), (E,) offers paid all month and by the hour.
        price_usd_per_hour: (A,) of what is paid all month.
        start_usd_per_hour: (E, X) of a start at each change.
    """

    before: Ints
    after: Ints
    periods: int
    period: Ints
    cost_usd_per_hour: Floats
    instances: Floats
    always: Ints
    elastic: Ints
    price_usd_per_hour: Floats
    start_usd_per_hour: Floats

    @classmethod
    def of(cls, problem: Problem, plans: list[PeriodPlan]) -> "_Master":
        """The master of some plans, at least one for each period."""
        traffic, offers = problem.traffic, problem.offers
        before, after = traffic.changes
        always, elastic = np.flatnonzero(offers.always_paid), np.flatnonzero(~offers.always_paid)
        return cls(
            before=before,
            after=after,
            periods=traffic.periods,
            period=np.array([plan.period for plan in plans]),
            cost_usd_per_hour=np.array([plan.usd_per_hour for plan in plans]),
            instances=np.array([plan.instances for plan in plans]),
            always=always,
            elastic=elastic,
            price_usd_per_hour=offers.price_usd_per_hour[always],
            start_usd_per_hour=offers.price_usd_per_hour[elastic, None] * traffic.start_share[before, after],
        )

    def one_mixture(self) -> Rows:
        """The weights of each period's plans sum to 1."""
        return between(numbered("one", self.periods), 1.0, 1.0, (self.period, np.arange(len(self.period)), 1.0))

    def counted(self) -> Rows:
        """(T x A) no period's mixture runs more of what is paid all month than its count."""
        width, runs = len(self.always), self.instances[:, self.always]
        row, column = np.arange(self.periods * width), len(self.period) + np.tile(np.arange(width), self.periods)
        plan, offer = np.nonzero(runs)
        used = (self.period[plan] * width + offer, plan, -runs[plan, offer])
        return at_least(numbered("count", len(row)), 0.0, (row, column, 1.0), used)

    def started(self) -> Rows:
        """(E x X) starts are at least what the mixtures rise by at a change."""
        row = np.arange(self.start_usd_per_hour.size)
        column = len(self.period) + len(self.always) + row
        rises, falls = self._at_changes(self.after, -1.0), self._at_changes(self.before, 1.0)
        return at_least(numbered("starts", len(row)), 0.0, (row, column, 1.0), rises, falls)

    def _at_changes(self, joined: Ints, sign: float) -> Term:
        """What each plan runs by the hour, in the row of its offer and of every change that joins (X,) its period."""
        runs, order = self.instances[:, self.elastic], np.argsort(joined, kind="stable")
        plan, offer = np.nonzero(runs)
        # entry of a plan's instances -> each change that its period is one side of
        entry, place = matches(self.period[plan], joined[order])
        plan, offer = plan[entry], offer[entry]
        return offer * len(joined) + order[place], plan, sign * runs[plan, offer]

    def price_by_period(self, duals: Floats) -> Floats:
        """(T, O) the price in each period of what is paid all month, from the duals of `counted`."""
        price = np.zeros((self.periods, self.instances.shape[1]))
        price[:, self.always] = np.maximum(duals, 0.0).reshape(self.periods, len(self.always))
        return price

    def price_by_change(self, duals: Floats) -> Floats:
        """(O, X) the price of a start at each change, from the duals of `started`."""
        moved = np.zeros((self.instances.shape[1], len(self.before)))
        moved[self.elastic] = np.maximum(duals, 0.0).reshape(self.start_usd_per_hour.shape)
        return moved
