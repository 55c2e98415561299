"""Offers that differ in price alone: no plan needs the dearer one.

They differ in the region, too, where no promise tells of regions. A part of the plans in which the cheapest of a kind
may not run is no smaller than before if the next one may, so a search that splits off single offers goes round in
circles: it relaxes with the cheapest ones, and splits off whole kinds.
"""

from optimizer.plan.verify.certificate.problem import Stated


def kinds_of(problem: Stated) -> list[int]:
    """The cheapest offer of the kind of each; one of limited number is alone of its kind."""
    limits = problem.limits
    survive = limits.get("survive", ())
    by_region, by_offer = "region" in survive or "min_regions" in limits, "spot_offer" in survive
    scarce = {o for quota in limits.get("quotas", ()) for o in quota["offers"]}
    apart = {"id", "usd_per_hour"} if by_region else {"id", "usd_per_hour", "region"}
    cheapest, kinds = dict[str, int](), list[str]()
    for o, offer in enumerate(problem.offers):
        here = [problem.candidates[c] for c in problem.on_offer[o]]
        runs = [{name: each[name] for name in each if name not in ("id", "offer")} for each in here]
        own = o if o in scarce or "available" in offer or by_offer else None
        kinds.append(repr((own, {name: offer[name] for name in offer if name not in apart}, runs)))
        first = cheapest.setdefault(kinds[o], o)
        if offer["usd_per_hour"] < problem.offers[first]["usd_per_hour"]:
            cheapest[kinds[o]] = o
    return [cheapest[kind] for kind in kinds]
