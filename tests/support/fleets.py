"""Random purchase problems whose candidates serve several classes, small enough to be proven whole."""

from dataclasses import replace

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from optimizer.base.clock import Clock
from optimizer.program.problem.data import Limits, steady_traffic
from optimizer.program.problem.problem import Problem
from support.plain import plain_candidates, plain_offers

STEADY = settings(max_examples=15)
NO_LIMIT = Clock()


@st.composite
def fleets(draw: st.DrawFn) -> Problem:
    """A random problem whose candidates serve several classes, over one or two periods, some offers paid always."""
    periods, classes, offers = draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 3))
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    gpus = random.choice([1, 2, 3, 4, 6], offers)
    home = random.integers(0, offers, offers + 1)
    size = np.array([random.choice([g for g in (1, 2, 4) if g <= gpus[o]]) for o in home])
    rate = random.uniform(0.5, 3.0, (len(home), classes)) * (random.random((len(home), classes)) < 0.8)
    rate[0] = 1.0
    rate[rate.sum(axis=1) == 0] = 0.7
    demand = random.uniform(0.2, 4.0, (periods, classes))
    traffic = steady_traffic(tuple(f"w/{k}" for k in range(classes)), demand[0])
    traffic = replace(
        traffic,
        demand_per_s=demand,
        share_of_month=np.full(periods, 1 / periods),
        start_share=np.full((periods, periods), 0.01) * (1 - np.eye(periods)),
        least_replicas=np.zeros((periods, 1), dtype=np.int64),
    )
    return Problem(
        traffic=traffic,
        candidates=plain_candidates(home, rate, gpus_per_replica=size),
        offers=plain_offers(
            random.uniform(0.5, 4.0, offers).round(2),
            gpus_per_instance=gpus,
            always_paid=random.random(offers) < 0.3,
        ),
        limits=Limits(max_utilization=0.9, max_gpus=draw(st.sampled_from([None, 40]))),
    )
