"""What a plan may cost for being simple: its counts again from what it buys, and its premium over the cheapest."""

from decimal import Decimal

from optimizer.plan.record.report import Patchwork, Simplicity
from optimizer.plan.verify.claim import CENT_TOLERANCE, Claim, Findings, setup_of
from optimizer.plan.verify.spread import run_by

PERCENT_TOLERANCE = 1e-4
"""In points, to which a percentage is shown."""


def simplicity(claim: Claim, shown: Simplicity) -> Findings:
    """The plan is as simple as it says, simpler than the cheapest, and dearer by no more than is allowed."""
    own, percent = _counted(claim), claim.policy.simplicity_percent
    for name, count in own.items():
        yield getattr(shown, name) == count, f"{count} {name}, shown {getattr(shown, name)}"
    yield claim.same(shown.percent, percent), f"{percent:g} % for simplicity, shown {shown.percent:g}"
    cheapest, cost = shown.cheapest, claim.fleet.monthly_cost_usd
    least = cost if cheapest is None else cheapest.monthly_cost_usd
    yield from _premium(shown, cost - least, least)
    most = _most_usd(claim, shown, own["configurations"], least)
    within = cost - least <= most + CENT_TOLERANCE
    yield within, f"{cost - least:.2f} USD dearer than the cheapest, of at most {most:.2f}"
    if cheapest is not None and not shown.kept:
        simpler = _order(shown) < _order(cheapest) or (_order(shown) == _order(cheapest) and cost <= least)
        yield simpler or _plainer(claim, shown, cheapest), "the plan is simpler than the cheapest"
        yield (
            not _put_on_one(claim, shown, cheapest),
            "no dearer plan puts on one instance what the cheapest has on more",
        )


def _counted(claim: Claim) -> dict[str, int]:
    """What there is to operate, from what the plan buys."""
    fleet, offers = claim.fleet, [offer for _, offer in claim.bought]
    providers = [*(offer.provider for offer in offers), *(item.provider for item in fleet.hosted)]
    return {
        "configurations": len({(d.workload, setup_of(d)) for d in fleet.deployments}),
        "providers": len({run_by(claim, name) for name in providers}),
        "regions": len({(run_by(claim, offer.provider), offer.region) for offer in offers}),
        "instances": max(
            sum(purchase.schedule[period].instances for purchase in fleet.purchases)
            for period in range(len(fleet.periods))
        ),
    }


def _premium(shown: Simplicity, dearer: Decimal, least: Decimal) -> Findings:
    """In USD and in percent of the cheapest."""
    yield abs(dearer - shown.premium_usd) <= CENT_TOLERANCE, f"{dearer:.2f} USD dearer, shown {shown.premium_usd:.2f}"
    percent = float(dearer / least * 100) if least else 0.0
    slack = PERCENT_TOLERANCE + (float(CENT_TOLERANCE / least * 100) if least else 0.0)
    close = abs(percent - shown.premium_percent) <= slack
    yield close, f"{percent:.2f} % dearer, shown {shown.premium_percent:.2f} %"


def _most_usd(claim: Claim, shown: Simplicity, configurations: int, least: Decimal) -> Decimal:
    """What a plan may cost more than the cheapest: a percentage, or dollars for each configuration less."""
    policy, cheapest = claim.policy, shown.cheapest
    by_percent = least * Decimal(repr(policy.simplicity_percent)) / 100
    if cheapest is None or not policy.simplicity_percent or shown.kept:
        return by_percent
    fewer = max(0, cheapest.configurations - configurations)
    return max(by_percent, fewer * Decimal(repr(policy.simplicity_usd_per_configuration)))


def _plainer(claim: Claim, shown: Simplicity, cheapest: Patchwork) -> bool:
    """Whether a plan without drafts stands for one with them, of no more configurations and places."""
    drafts = any(d.speculation for d in claim.fleet.deployments)
    return cheapest.drafts and not drafts and _order(shown)[:2] <= _order(cheapest)[:2]


def _put_on_one(claim: Claim, shown: Simplicity, cheapest: Patchwork) -> bool:
    """Whether fewer instances are all that is simpler, and leave a workload, no batch, on a single one.

    Told of plans of one deployment alone: what else serves a workload goes on where that one is down.
    """
    fleet, lasting = claim.fleet, {each.name for each in claim.scenario.workloads if each.deadline is None}
    if len(fleet.deployments) != 1 or fleet.hosted or fleet.containers or fleet.deployments[0].workload not in lasting:
        return False
    alone = shown.instances == 1 < cheapest.instances and _order(shown)[:2] == _order(cheapest)[:2]
    return alone and not _plainer(claim, shown, cheapest)


def _order(counted: Simplicity | Patchwork) -> tuple[int, int, int]:
    """In which less is preferred."""
    return counted.configurations, counted.providers + counted.regions, counted.instances
