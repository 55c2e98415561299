"""The busiest moment of a week: what has no plan for it has none for the week, and what serves it serves the week."""

from dataclasses import replace

import numpy as np

from optimizer.program.problem.data import Billing, LayoutTerms
from optimizer.program.problem.problem import NO_TOLLS, Problem


def at_peak(problem: Problem) -> Problem:
    """One period with the highest demand of every class, all month long, and no limit on what adds up over time."""
    traffic = problem.traffic
    steady = replace(
        traffic,
        demand_per_s=traffic.demand_per_s.max(axis=0)[None],
        share_of_month=np.ones(1),
        start_share=np.zeros((1, 1)),
        least_replicas=traffic.least_replicas.max(axis=0)[None],
        paid_share=np.zeros((0, 0)),
    )
    # what a week may spend less of than its busiest moment would, all month long
    limits = replace(
        problem.limits, max_monthly_usd=None, max_carbon_kg_per_month=None, max_changes=None, usd_per_change=0.0
    )
    # what the moment costs is of no matter: whether it can be served is, and by what
    untolled = replace(problem, tolls_usd_per_hour=NO_TOLLS)
    return replace(untolled, traffic=steady, limits=limits, billing=Billing(), layouts=LayoutTerms())


def peaks_at_once(problem: Problem) -> bool:
    """Whether everything is asked for most in one period, so that the busiest moment is one of the week."""
    traffic = problem.traffic
    asked = np.hstack([traffic.demand_per_s, traffic.least_replicas])
    return bool((asked == asked.max(axis=0)).all(axis=1).any())
