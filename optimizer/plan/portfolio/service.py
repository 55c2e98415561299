"""A service of a portfolio: planned alone once, then asked for its cheapest plan at prices on what it shares.

What a scenario avoids, what replicas were found to hold in simulated requests and when batches are worked on is decided
by the plan alone and kept. So are the hours that a service tells apart: a service runs the same in hours of the week
that its plan alone has in one period.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.clock import Clock
from optimizer.base.errors import SolverFailure
from optimizer.base.units import HOURS_PER_WEEK
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.portfolio.limits import SharedLimit, with_shared_quotas
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.narrowing import narrowed
from optimizer.plan.question.solving import solved_for_least_cost
from optimizer.plan.readback.outline import outlined
from optimizer.program.portfolio.together import Block, essential, solution_of
from optimizer.program.solve import Outcome

NODES = 200
"""Of branch and bound for one plan of a week; what is proven by then counts."""


@dataclass(frozen=True)
class OfferedPlan:
    """The cheapest plan of a service at some prices.

    Attributes:
        outcome: Of the search.
        bound_usd: No plan of its own undercuts this, tolls included, a month; None where nothing is known.
        answer: What has the plan; None where none was found.
        usd: The bill of the plan, without tolls.
        use: (L, 168) units of each shared limit in every hour of the week.
        pooled: (Q, 168) instances of each pool.
    """

    outcome: Outcome
    bound_usd: float | None
    answer: Answer | None
    usd: Decimal
    use: Ints
    pooled: Ints


@dataclass(frozen=True)
class PricedService:
    """A decided question with what its offers take of what is shared.

    Attributes:
        inquiry: On the catalogs with pools.
        weights: (L, O) units of each limit that an instance of an offer takes.
        in_pool: (Q, O) whether an offer is the pool's.
    """

    inquiry: Inquiry
    weights: Floats
    in_pool: Floats

    @classmethod
    def of(
        cls,
        alone: Answer,
        taken: Sequence[int],
        catalogs: Catalogs,
        limits: Sequence[SharedLimit],
        pools: Sequence[str],
    ) -> "PricedService":
        """The question that a plan alone has decided, with pools among its offers.

        Args:
            alone: The plan.
            taken: (L,) the most that it takes of each limit.
            catalogs: With pools.
            limits: What is shared and counts units.
            pools: The Q offers of pools, by their ids.
        """
        known = alone.inquiry
        quotas = with_shared_quotas(known.scenario.policy.quotas, limits, taken)
        policy = known.scenario.policy.model_copy(update={"quotas": quotas})
        scenario = known.scenario.model_copy(update={"policy": policy})
        fresh = Inquiry.of(scenario, catalogs, known.clock).keeping_to(known.avoided).with_lowered(known.lowered)
        hours = known.week.hour_to_period
        small = narrowed(replace(fresh, hour_to_period=hours, any_of_equals=True, looks_ahead=False, simplifies=False))
        offers = small.market.offers
        weights = np.array([limit.weights(offers) for limit in limits]).reshape(len(limits), len(offers))
        in_pool = np.array([[float(offer.id == pool) for offer in offers] for pool in pools])
        return cls(small, weights, in_pool.reshape(len(pools), len(offers)))

    def at(self, unit_usd: Floats, instance_usd: Floats, clock: Clock) -> OfferedPlan:
        """The cheapest plan at some tolls.

        Args:
            unit_usd: (L, 168) USD for an hour of a unit of each limit.
            instance_usd: (Q, 168) the same for an instance of a pool.
            clock: Of this question.
        """
        tolls = unit_usd.T @ self.weights + instance_usd.T @ self.in_pool
        nodes = NODES if self.inquiry.over_time else None
        asked = replace(self.inquiry, tolls_usd_per_hour=tolls, clock=clock, node_limit=nodes)
        return self._offered(solved_for_least_cost(asked))

    @property
    def is_plain(self) -> bool:
        """Whether one program says all of it: no mixes of which capacity is added up, nothing paid by the second."""
        return not self.inquiry.mixes_between() and "per_second" not in self.inquiry.scenario.policy.hosting

    def block(self, joint_hours: Ints) -> Block:
        """Its part of a program of all services.

        Args:
            joint_hours: (J,) the first hour of each joint period.
        """
        formulation = self.inquiry.formulated()
        part = essential(formulation.problem)
        # (O of the part,) positions in the market
        offers = formulation.offers[np.argsort(formulation.problem.offers.ids)][part.offers]
        period = formulation.periods.hour_to_period[joint_hours]
        return Block(part.problem, self.weights[:, offers], self.in_pool[:, offers], period)

    def decided(self, values: Floats) -> OfferedPlan:
        """The plan that a program of all services has for it, by the values of its block's columns."""
        formulation = self.inquiry.formulated()
        solution = solution_of(formulation.problem, values)
        if solution is None:
            raise SolverFailure("a program of all services has no values for one of them")
        return self._offered(Answer(self.inquiry, formulation, solution))

    def _offered(self, answer: Answer) -> OfferedPlan:
        """What an answer takes of what is shared."""
        solution = answer.solution
        if solution.cost_usd_per_month is None:
            nothing = np.zeros((0, HOURS_PER_WEEK), dtype=np.int64)
            return OfferedPlan(solution.outcome, solution.bound_usd_per_month, None, Decimal(0), nothing, nothing)
        # (168, O) instances of every offer of the market: what is paid all month takes its place in every hour
        held = np.zeros((HOURS_PER_WEEK, len(self.inquiry.market.offers)))
        counts = solution.instances[answer.formulation.periods.hour_to_period]
        always = answer.formulation.problem.offers.always_paid
        held[:, answer.formulation.offers] = np.where(always, counts.max(axis=0), counts)
        use, pooled = (np.rint(part @ held.T).astype(np.int64) for part in (self.weights, self.in_pool))
        bound, usd = solution.bound_usd_per_month, outlined(answer).monthly_cost_usd
        return OfferedPlan(solution.outcome, bound, answer, usd, use, pooled)
