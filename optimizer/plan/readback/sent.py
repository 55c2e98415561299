"""What replicas of a solution are sent in each period, without how fast that is: all that simulated requests need."""

import numpy as np

from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.plan.question.inquiry import Answer
from optimizer.plan.question.service import Service, Use
from optimizer.plan.readback.bill import hours_per_month
from optimizer.plan.readback.hours import ranges
from optimizer.plan.readback.outline import outlined, uses_by_offer
from optimizer.plan.record.fleet import Deployment, Period, PeriodReplicas, PlannedFleet


def as_sent(answer: Answer) -> PlannedFleet:
    """As `read_back`, for a simulation alone: a deployment has no figure of how fast it is predicted to be, nor of what
    its requests cost, which take most of the time to read a plan back."""
    outline = outlined(answer)
    deployments = [
        Deployment.model_construct(**dict(placement), schedule=schedule_of(answer, use))
        for use, placement in zip(uses_by_offer(answer), outline.deployments, strict=True)
    ]
    return PlannedFleet(
        deployments=tuple(deployments),
        purchases=outline.purchases,
        hosted=outline.hosted,
        monthly_cost_usd=outline.monthly_cost_usd,
        periods=periods_of(answer),
    )


def services_of_use(answer: Answer, use: Use) -> tuple[Service, ...]:
    """By period what replicas of one kind are sent and sustain."""
    return answer.services[answer.used.index(use)]


def schedule_of(answer: Answer, use: Use) -> list[PeriodReplicas]:
    """By period how many replicas of one kind run, and what they are sent."""
    choice, services = answer.inquiry.options[use.column.workload], services_of_use(answer, use)
    return [
        replicas_of_period(choice, period, replicas, service)
        for period, (replicas, service) in enumerate(zip(use.replicas, services, strict=True))
    ]


def replicas_of_period(choice: WorkloadOptions, period: int, replicas: int, service: Service) -> PeriodReplicas:
    """Replicas of one kind in a period, and what they are sent together."""
    by_class = zip(choice.workload.classes(), service.flow_per_class_per_s, strict=True)
    full = replicas * service.rate_per_s
    return PeriodReplicas(
        period=period,
        replicas=replicas,
        requests_per_second=service.flow_per_s,
        requests_per_second_by_class={item.name: flow for item, flow in by_class if flow},
        max_requests_per_second=full,
        utilization=service.flow_per_s / full if replicas else 0.0,
    )


def periods_of(answer: Answer) -> tuple[Period, ...]:
    """The periods and what each workload asks in them."""
    week, workloads = answer.formulation.periods, answer.inquiry.scenario.workloads
    demand_per_s = week.demand_requests_per_second.tolist()
    return tuple(
        Period(
            period=t,
            hours_of_week=ranges(np.flatnonzero(week.hour_to_period == t).tolist()),
            hours_per_month=float(hours),
            requests_per_second={w.name: rate for w, rate in zip(workloads, demand_per_s[t], strict=True)},
        )
        for t, hours in enumerate(hours_per_month(answer))
    )
