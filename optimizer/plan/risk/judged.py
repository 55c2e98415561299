"""The plan as it stands in every draw: what it costs, what it sustains, and what is missing.

Requests are routed as in the plan: what a deployment sustains of each class is the share of that class in what it is
sent. Whatever is missing of a workload's worst class is missing of the workload.
"""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.plan.question.inquiry import Answer
from optimizer.plan.risk.draws import Drawn, States, kind_of
from optimizer.plan.risk.offered import Offered, Running
from optimizer.plan.risk.speeds import rates_by_deviation
from optimizer.program.risk.problem import shortfall


@dataclass(frozen=True, eq=False)
class PlanInDraws:
    """What a plan runs and pays for.

    Attributes:
        running: (D,) deployments, each with all of its replicas.
        class_share: (D, C) of each class of all workloads in what a deployment is sent.
        workload: (C,) position of a class's workload.
        asked_share: (C,) of each class in its workload's rate.
        paid: What is paid for.
        instances: How many of each.
    """

    running: Running
    class_share: Floats
    workload: Ints
    asked_share: Floats
    paid: Offered
    instances: Ints

    def bought_usd(self, drawn: Drawn, states: States) -> Floats:
        """(S,) a month of all that is paid for."""
        return np.asarray(self.instances @ self.paid.usd(drawn, states))

    def short_per_s(self, drawn: Drawn, states: States, demand_per_s: Floats) -> Floats:
        """(W, S) requests/s of each workload that are missing of the (W, S) that are asked."""
        # (C, S)
        served = self.class_share.T @ self.running.rate_per_s(drawn, states)
        asked = demand_per_s[self.workload] * self.asked_share[:, None]
        missing = shortfall(asked, served) / self.asked_share[:, None]
        short = np.zeros_like(demand_per_s)
        np.maximum.at(short, self.workload, missing)
        return short


def plan_in_draws(answer: Answer) -> PlanInDraws:
    """The plan of a solved question on steady demand."""
    inquiry, market = answer.inquiry, answer.inquiry.market
    policy, workloads = inquiry.scenario.policy, inquiry.scenario.workloads
    workload = np.array([w for w, each in enumerate(workloads) for _ in each.classes()], dtype=np.int64)
    rates, shares = list[Floats](), list[Floats]()
    for use, (service, *_) in zip(answer.used, answer.services, strict=True):
        choice, row = inquiry.options[use.column.workload], np.array([use.column.configuration])
        share = use.replicas[0] * policy.max_utilization * float(market.serving_share[use.column.offer])
        rates.append(rates_by_deviation(inquiry.catalogs, choice, row, service.mix)[0] * share)
        own = np.zeros(len(workload))
        own[np.flatnonzero(workload == choice.workload_index)[list(service.classes)]] = service.mix.share
        shares.append(own)
    configurations = [
        inquiry.options[use.column.workload].configurations[use.column.configuration] for use in answer.used
    ]
    counts = answer.solution.instances[0]
    return PlanInDraws(
        running=Running(
            offered=Offered.of(market, np.array([use.column.offer for use in answer.used], dtype=np.int64)),
            kinds=tuple(kind_of(configuration) for configuration in configurations),
            rates=np.array(rates),
        ),
        class_share=np.array(shares),
        workload=workload,
        asked_share=np.array([item.share for each in workloads for item in each.classes()]),
        paid=Offered.of(market, answer.formulation.offers[counts > 0]),
        instances=counts[counts > 0],
    )
