"""A sample of draws as numbers: what may be bought in it, what is rented beside, and what the plan comes to."""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.errors import Finding, InputError
from optimizer.base.units import HOURS_PER_MONTH, SECONDS_PER_HOUR
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.risk.draws import Drawn, States, states
from optimizer.plan.risk.judged import PlanInDraws
from optimizer.plan.risk.purchases import WaysToBuy, rented_machines
from optimizer.plan.risk.spreads import Spreads, Uncertainty, spreads_of
from optimizer.program.risk.problem import CostInDraws, RiskProblem, TopUp, topped_up

MILLION = 1e6


@dataclass(frozen=True, eq=False)
class Sample:
    """Draws, and the problem in them.

    Attributes:
        states: What was drawn.
        problem: What may be bought before, and what is rented in each.
        machine: (W, S) the purchase that more is rented of; -1 where none sustains anything.
        plan: What the plan comes to, topped up.
    """

    states: States
    problem: RiskProblem
    machine: Ints
    plan: CostInDraws


@dataclass(frozen=True, eq=False)
class Sampled:
    """A scenario ready to be drawn.

    Attributes:
        rates_per_s: (W,) what the scenario asks of each workload.
        drawn: What has numbers of its own.
    """

    rates_per_s: Floats
    spreads: Spreads
    drawn: Drawn
    purchases: WaysToBuy
    plan: PlanInDraws

    @classmethod
    def of(cls, scenario: Scenario, catalogs: Catalogs, purchases: WaysToBuy, plan: PlanInDraws) -> "Sampled":
        """What is drawn is what may be bought and what the plan runs."""
        offers = [*purchases.running.offered.offers, *plan.paid.offers]
        spreads = spreads_of(scenario, catalogs, offers)
        regions = {f"{offer.provider}/{offer.region}" for offer in offers if offer.pricing_term == "spot"}
        drawn = Drawn(
            workloads=tuple(workload.name for workload in scenario.workloads),
            prices=tuple(sorted(spreads.prices)),
            regions=tuple(sorted(regions)),
            kinds=tuple(sorted({*purchases.running.kinds, *plan.running.kinds})),
        )
        rates = np.array([workload.peak_requests_per_second() for workload in scenario.workloads])
        return cls(rates, spreads, drawn, purchases, plan)

    def sample(self, seed: int, stream: int, count: int) -> Sample:
        """So many draws; those of different streams are independent."""
        return self.with_normals(self.drawn.normals(seed, stream, count))

    def with_normals(self, normals: dict[Uncertainty, Floats]) -> Sample:
        """The draws that numbers stand for.

        Raises:
            InputError: in some of them missing demand cannot be met, and nobody said what that costs.
        """
        drawn = states(self.drawn, self.spreads, normals)
        demand = self.rates_per_s[:, None] * drawn.demand_factor
        usd = self.purchases.running.offered.usd(self.drawn, drawn)
        rate = self.purchases.running.rate_per_s(self.drawn, drawn)
        machine = rented_machines(self.purchases, usd, rate, demand)
        problem = RiskProblem(
            workload=self.purchases.workload,
            usd=usd,
            rate_per_s=rate,
            most=self.purchases.running.offered.most,
            demand_per_s=demand,
            top_up=self._top_up(machine, usd, rate),
        )
        top_up = problem.top_up
        if (~(top_up.rate_per_s > 0) & np.isinf(top_up.unserved_usd)[:, None]).any():
            trouble = "in some draws no machine on demand keeps the promises, so that missing demand cannot be met"
            hint = "say what requests cost that are not served, or admit on_demand and more machines"
            raise InputError([Finding("scenario", 0, "risk.unserved_usd_per_million_requests", trouble, hint)])
        short = self.plan.short_per_s(self.drawn, drawn, demand)
        plan = topped_up(top_up, short, self.plan.bought_usd(self.drawn, drawn))
        return Sample(drawn, problem, machine, plan)

    def _top_up(self, machine: Ints, usd: Floats, rate: Floats) -> TopUp:
        """What more is rented of in each draw, at the premium, and what requests cost that are not served."""
        draw, there = np.arange(machine.shape[1]), machine >= 0
        risk = self.spreads.risk
        lost = risk.unserved_usd_per_million_requests
        seconds = HOURS_PER_MONTH * SECONDS_PER_HOUR
        each = np.inf if lost is None else lost / MILLION * seconds
        return TopUp(
            usd=np.where(there, usd[machine, draw], 0.0) * (1 + risk.top_up_premium_percent / 100),
            rate_per_s=np.where(there, rate[machine, draw], 0.0),
            unserved_usd=np.full(len(machine), each),
        )
