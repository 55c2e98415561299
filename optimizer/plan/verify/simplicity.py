"""What a plan may cost for being simple: its counts again from what it buys, and its premium over the cheapest."""

from decimal import Decimal

from optimizer.plan.record.report import Patchwork, Simplicity
from optimizer.plan.verify.claim import CENT_TOLERANCE, Claim, Findings, setup_of

PERCENT_TOLERANCE = 1e-4
"""In points, to which a percentage is shown."""


def simplicity(claim: Claim, shown: Simplicity) -> Findings:
    """The plan is as simple as it says, simpler than the cheapest, and dearer by no more than is allowed."""
    fleet, percent = claim.fleet, claim.policy.simplicity_percent
    providers = {offer.provider for _, offer in claim.bought} | {api.provider for api in fleet.hosted}
    own = {
        "configurations": len({(d.workload, setup_of(d)) for d in fleet.deployments}),
        "providers": len(providers),
        "regions": len({(offer.provider, offer.region) for _, offer in claim.bought}),
        "instances": max(
            sum(purchase.schedule[period].instances for purchase in fleet.purchases)
            for period in range(len(fleet.periods))
        ),
    }
    for name, count in own.items():
        yield getattr(shown, name) == count, f"{count} {name}, shown {getattr(shown, name)}"
    yield claim.same(shown.percent, percent), f"{percent:g} % for simplicity, shown {shown.percent:g}"
    cost, cheapest = fleet.monthly_cost_usd, shown.cheapest
    least = cost if cheapest is None else cheapest.monthly_cost_usd
    dearer, most = cost - least, least * Decimal(repr(percent)) / 100
    if cheapest is not None and percent and not shown.kept:
        fewer = max(0, cheapest.configurations - own["configurations"])
        most = max(most, fewer * Decimal(repr(claim.policy.simplicity_usd_per_configuration)))
    yield abs(dearer - shown.premium_usd) <= CENT_TOLERANCE, f"{dearer:.2f} USD dearer, shown {shown.premium_usd:.2f}"
    own_percent = float(dearer / least * 100) if least else 0.0
    slack = PERCENT_TOLERANCE + (float(CENT_TOLERANCE / least * 100) if least else 0.0)
    close = abs(own_percent - shown.premium_percent) <= slack
    yield close, f"{own_percent:.2f} % dearer, shown {shown.premium_percent:.2f} %"
    within = dearer <= most + CENT_TOLERANCE
    yield within, f"{dearer:.2f} USD dearer than the cheapest, of at most {most:.2f}"
    if cheapest is not None and not shown.kept:
        simpler = _order(shown) < _order(cheapest) or (_order(shown) == _order(cheapest) and dearer <= 0)
        yield simpler, "the plan is simpler than the cheapest"


def _order(counted: Simplicity | Patchwork) -> tuple[int, int, int]:
    """In which less is preferred."""
    return counted.configurations, counted.providers + counted.regions, counted.instances
