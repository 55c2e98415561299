"""What a request costs that was served as promised."""

from decimal import Decimal

import numpy as np

from optimizer.inputs.scenario.scenario import Workload
from optimizer.plan.record.simulation import SimulatedCost
from optimizer.plan.simulate.judging import ServedRequests, within_all
from optimizer.plan.verify.claim import Claim


def costs_of(claim: Claim, workload: Workload, served: ServedRequests) -> SimulatedCost:
    """The plan's cost of a request, of replicas that stand by as well, and the same over those within all limits."""
    mine = [d for d in claim.fleet.deployments if d.workload == workload.name]
    month_usd = sum((d.monthly_cost_usd for d in mine), Decimal(0))
    # of a month, each deployment's cost over what one of its requests costs
    requests = sum((d.monthly_cost_usd / d.cost_per_request_usd for d in mine if d.cost_per_request_usd), Decimal(0))
    per_request = month_usd / requests if requests else Decimal(0)
    share = float(np.mean(within_all(workload, served)))
    return SimulatedCost(
        workload=workload.name,
        cost_per_request_usd=per_request,
        cost_per_request_within_limits_usd=per_request / Decimal(repr(share)) if share else None,
    )
