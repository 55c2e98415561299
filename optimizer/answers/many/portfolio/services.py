"""The services of a portfolio at work in one process: each planned alone, then asked at prices, its plans kept."""

from dataclasses import dataclass, field, replace
from decimal import Decimal

import numpy as np

from optimizer.answers.many.portfolio.types import PortfolioInputs, ServiceAlone
from optimizer.answers.planning.optimize import verified
from optimizer.answers.planning.tried import SimulatedPlan, confirmed_plan
from optimizer.base.arrays import Floats, Ints
from optimizer.base.clock import Clock
from optimizer.base.units import HOURS_PER_WEEK
from optimizer.inputs.catalog.kinds import ALWAYS_PAID
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.portfolio.limits import shared_limits
from optimizer.plan.portfolio.pools import offers_of, pooled_offer, with_pools
from optimizer.plan.portfolio.service import OfferedPlan, PricedService
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.fields import Outcome
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.report import Verification
from optimizer.plan.simulate.simulated import confirmed
from optimizer.program.portfolio.together import Block


@dataclass(frozen=True)
class Allowance:
    """What one question may take: seconds and simplex iterations; None for no such limit."""

    seconds: float | None = None
    work: int | None = None

    def clock(self) -> Clock:
        """One that starts now."""
        return Clock(self.seconds, self.work)


@dataclass(frozen=True)
class Reply:
    """What a service answers to prices.

    Attributes:
        outcome: Of the search.
        bound_usd: No plan of its own undercuts this, tolls included, a month.
        plan: The number by which the service knows the plan; -1 without one.
        usd: The bill of the plan without tolls.
        use: (L, 168) units of each shared limit.
        pooled: (Q, 168) instances of each pool.
    """

    outcome: Outcome
    bound_usd: float
    plan: int
    usd: Decimal
    use: Ints
    pooled: Ints


@dataclass(frozen=True)
class ShownPlan:
    """A plan that was chosen, verified on its own, and whether simulated requests keep its promises."""

    fleet: PlannedFleet
    verification: Verification
    holds: bool | None


@dataclass
class _Service:
    """What is kept of a service while prices move; of a plan what it takes, and the whole is read once it is chosen.

    Groups of services begin at the same prices, and often come to the same: what is proven there is asked once.
    """

    priced: PricedService
    plans: list[Answer] = field(default_factory=list)
    proven_at: dict[bytes, Reply] = field(default_factory=dict)
    """What was answered to tolls, as far as a search for it came to its end."""


class Services:
    """Some of the services, by their numbers."""

    def __init__(self, known: PortfolioInputs) -> None:
        """Nothing is planned yet."""
        self._known = known
        self._pooled: Catalogs = with_pools(known.catalogs, known.portfolio)
        self._limits = shared_limits(known.portfolio, known.catalogs)
        pools = [(pool, offers_of(pool, known.catalogs)[0]) for pool in known.portfolio.pools]
        self._pools = tuple(pooled_offer(*pair).id for pair in pools)
        self._services: dict[int, _Service] = {}

    def alone(self, number: int, allowance: Allowance) -> ServiceAlone:
        """The cheapest plan of a scenario for itself, which simulated requests were put to."""
        catalogs, scenario = self._known.catalogs, self._known.scenarios[number].scenario
        asked = replace(Inquiry.of(scenario, catalogs, allowance.clock()), simplifies=False)
        found = confirmed_plan(asked)
        answer, fleet = (found.answer, found.bought) if isinstance(found, SimulatedPlan) else (found, None)
        hours = answer.inquiry.week.hour_to_period
        if fleet is None:
            return ServiceAlone(answer.solution.outcome, None, tuple(hours.tolist()), ())
        use = self._use_of(fleet, catalogs)
        taken = use.max(axis=1).tolist()
        self._services[number] = _Service(PricedService.of(answer, taken, self._pooled, self._limits, self._pools))
        by_hour = tuple(tuple(row) for row in use.tolist())
        plan = self._kept(number, answer)
        return ServiceAlone(answer.solution.outcome, fleet.monthly_cost_usd, tuple(hours.tolist()), by_hour, plan)

    def _kept(self, number: int, answer: Answer) -> int:
        """The plan alone is one of those to choose from, where all that it buys can still be bought beside pools."""
        for_sale = {offer.id for offer in self._pooled.offers}
        if any(each.offer not in for_sale for each in read_back(answer).purchases):
            return -1
        self._services[number].plans.append(answer)
        return 0

    def at(self, number: int, unit_usd: Floats, instance_usd: Floats, allowance: Allowance) -> Reply:
        """The cheapest plan at tolls for an hour of a unit of each limit (L, 168) and an instance of each pool."""
        service, tolls = self._services[number], unit_usd.tobytes() + instance_usd.tobytes()
        if (known := service.proven_at.get(tolls)) is not None:
            return known
        reply = self._reply(service, service.priced.at(unit_usd, instance_usd, allowance.clock()))
        if reply.outcome in ("optimal", "infeasible"):
            service.proven_at[tolls] = reply
        return reply

    def block(self, number: int, joint_hours: Ints) -> Block | None:
        """Its part of a program of all services; None where one program does not say all of it."""
        priced = self._services[number].priced
        return priced.block(joint_hours) if priced.is_plain else None

    def decided(self, number: int, values: Floats) -> Reply:
        """Its plan in a program of all services."""
        service = self._services[number]
        return self._reply(service, service.priced.decided(values))

    def _reply(self, service: "_Service", offered: OfferedPlan) -> Reply:
        """A plan is kept under a number."""
        bound = 0.0 if offered.bound_usd is None else offered.bound_usd
        if offered.answer is None:
            return Reply(offered.outcome, bound, -1, Decimal(0), offered.use, offered.pooled)
        service.plans.append(offered.answer)
        plan = len(service.plans) - 1
        return Reply(offered.outcome, bound, plan, offered.usd, offered.use, offered.pooled)

    def shown(self, number: int, plan: int) -> ShownPlan:
        """A plan with what independent arithmetic and simulated requests say of it.

        Raises:
            VerificationFailed: it breaks a promise.
        """
        service = self._services[number]
        fleet, inquiry = read_back(service.plans[plan]), service.priced.inquiry
        return ShownPlan(fleet, verified(inquiry, fleet), confirmed(inquiry.scenario, self._pooled, fleet).holds)

    def _use_of(self, fleet: PlannedFleet, catalogs: Catalogs) -> Ints:
        """(L, 168) units of each limit that a plan takes in every hour."""
        offers = {offer.id: offer for offer in catalogs.offers}
        use = np.zeros((len(self._limits), HOURS_PER_WEEK), dtype=np.int64)
        for purchase in fleet.purchases:
            offer, by_period = offers[purchase.offer], {each.period: each.instances for each in purchase.schedule}
            for period in fleet.periods:
                most = purchase.instances if offer.pricing_term in ALWAYS_PAID else by_period[period.period]
                taken = most * np.array([limit.taken_by(offer) for limit in self._limits], dtype=np.int64)
                for first, last in period.hours_of_week:
                    use[:, first : last + 1] += taken[:, None]
        return use
