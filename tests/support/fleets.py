"""Random purchase problems whose candidates serve several classes, small enough to be proven whole."""

from dataclasses import replace

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from optimizer.program.problem.data import Candidates, Limits, Offers, steady_traffic
from optimizer.program.problem.problem import Problem
from optimizer.program.solver import Clock

STEADY = settings(deadline=None, derandomize=True, max_examples=15, database=None)
NO_LIMIT = Clock(None)


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
    names = tuple(f"o{o}" for o in range(offers))
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
        candidates=Candidates(
            ids=tuple(f"c{c}" for c in range(len(home))),
            offer=home,
            configuration=("x",) * len(home),
            engine=("e",) * len(home),
            gpus_per_replica=size,
            rate_per_s=rate,
            replicas_in_force=np.zeros(len(home), dtype=np.int64),
        ),
        offers=Offers(
            ids=names,
            price_usd_per_hour=random.uniform(0.5, 4.0, offers).round(2),
            gpus_per_instance=gpus,
            power_kw=np.full(offers, np.nan),
            carbon_kg_per_hour=np.full(offers, np.nan),
            available=np.full(offers, np.inf),
            provider=names,
            region=names,
            gpu=names,
            spot=np.zeros(offers, dtype=np.bool_),
            always_paid=random.random(offers) < 0.3,
        ),
        limits=Limits(max_utilization=0.9, max_gpus=draw(st.sampled_from([None, 40]))),
    )
