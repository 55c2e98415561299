"""How much of the variance of the plan's cost each uncertainty brings: Sobol indices by exchanging its numbers.

With two independent samples A and B, and A with the numbers of one uncertainty taken from B,

    alone        mean of f(B) (f(A with B's) − f(A)) / variance
    with others  mean of (f(A) − f(A with B's))² / (2 variance)

Source: Saltelli et al., Variance based sensitivity analysis of model output, Computer Physics Communications 181, 2010.
What demand and prices share counts as demand's.
"""

from typing import Final

from optimizer.plan.record.risk import VarianceShare
from optimizer.plan.risk.sample import Sampled
from optimizer.plan.risk.spreads import UNCERTAINTIES, Uncertainty

DRAWS: Final = 2048
"""Of each sample: costs are worked out in arrays, and nothing is solved."""
STREAMS: Final = (1_000_000, 1_000_001)


def variance_shares(sampled: Sampled, seed: int, draws: int = DRAWS) -> list[VarianceShare]:
    """Those of the plan's cost, topped up; the largest first, of equals in the order of the uncertainties."""
    own, other = (sampled.drawn.normals(seed, stream, draws) for stream in STREAMS)
    cost, others_cost = (sampled.with_normals(normals).plan.cost_usd for normals in (own, other))
    variance = float(cost.var())
    found = list[VarianceShare]()
    for name in _spreading(sampled):
        exchanged = sampled.with_normals({**own, name: other[name]}).plan.cost_usd
        moved = exchanged - cost
        alone = float(((others_cost - others_cost.mean()) * moved).mean()) / variance if variance else 0.0
        total = float((moved**2).mean()) / (2 * variance) if variance else 0.0
        # what it brings alone is part of what it brings with the others: where samples say otherwise, by their error
        alone = min(max(alone, 0.0), 1.0)
        found.append(VarianceShare(uncertainty=name, alone=alone, with_others=min(max(total, alone), 1.0)))
    return sorted(found, key=lambda each: -each.with_others)


def _spreading(sampled: Sampled) -> list[Uncertainty]:
    """What is drawn at all."""
    spreads = sampled.spreads
    drawn = {
        "demand": True,
        "prices": bool(sampled.drawn.prices),
        "commitment start": spreads.start_days is not None,
        "spot capacity": bool(sampled.drawn.regions) and spreads.spot_share < 1,
        "predictions": spreads.risk.prediction_errors,
    }
    return [name for name in UNCERTAINTIES if drawn[name]]
