"""The plan as it stands in every draw: what it costs, what it sustains, and what is missing.

Requests are routed as in the plan: what a deployment sustains of each class is the share of that class in what it is
sent. Whatever is missing of a workload's worst class is missing of the workload.
"""

from dataclasses import dataclass

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.plan.question.inquiry import Answer
from optimizer.plan.question.service import Service, Use
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
    market, workloads = answer.inquiry.market, answer.inquiry.scenario.workloads
    workload = np.array([w for w, each in enumerate(workloads) for _ in each.classes()], dtype=np.int64)
    pairs = [(use, services[0]) for use, services in zip(answer.used, answer.services, strict=True)]
    bought = answer.solution.instances[0]
    return PlanInDraws(
        running=Running(
            offered=Offered.of(market, np.array([use.column.offer for use in answer.used], dtype=np.int64)),
            kinds=tuple(kind_of(_choice(answer, use).configurations[use.column.configuration]) for use in answer.used),
            rates=np.array([_rates(answer, use, service) for use, service in pairs]),
        ),
        class_share=np.array([_class_share(answer, use, service, workload) for use, service in pairs]),
        workload=workload,
        asked_share=np.array([item.share for each in workloads for item in each.classes()]),
        paid=Offered.of(market, answer.formulation.offers[bought > 0]),
        instances=bought[bought > 0],
    )


def _choice(answer: Answer, use: Use) -> WorkloadOptions:
    return answer.inquiry.options[use.column.workload]


def _rates(answer: Answer, use: Use, service: Service) -> Floats:
    """(deviations,) requests/s of all replicas at the mix that they are sent, within the policy's utilization."""
    rows, inquiry = np.array([use.column.configuration]), answer.inquiry
    share = inquiry.scenario.policy.max_utilization * float(inquiry.market.serving_share[use.column.offer])
    one = rates_by_deviation(inquiry.catalogs, _choice(answer, use), rows, service.mix)[0]
    return np.asarray(one * use.replicas[0] * share)


def _class_share(answer: Answer, use: Use, service: Service, workload: Ints) -> Floats:
    """(C,) of each class of all workloads in what a deployment is sent."""
    share = np.zeros(len(workload))
    own = np.flatnonzero(workload == _choice(answer, use).workload_index)
    share[own[list(service.classes)]] = service.mix.share
    return share
