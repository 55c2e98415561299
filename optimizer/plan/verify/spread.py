"""What must be left when something is lost, again: presence in several places, shares, spare and surviving replicas."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from optimizer.inputs.catalog.kinds import SPOT
from optimizer.inputs.catalog.records import Offer
from optimizer.plan.record.fleet import Deployment, Hosted
from optimizer.plan.verify.claim import Claim, Finding, Findings


def spread(claim: Claim) -> Findings:
    """In every period enough providers and regions have replicas, and none carries more than its share."""
    policy = claim.policy
    for period, planned in enumerate(claim.fleet.periods):
        running = [(d, offer) for d, _, offer in claim.placed if d.schedule[period].replicas]
        if policy.max_spot_share == 0:
            running = [(d, offer) for d, offer in running if offer.pricing_term != SPOT]
        providers = len({run_by(claim, offer.provider) for _, offer in running})
        regions = len({(run_by(claim, offer.provider), offer.region) for _, offer in running})
        if policy.min_providers > 1:
            yield providers >= policy.min_providers, f"{providers} providers, at least {policy.min_providers}"
        if policy.min_regions > 1:
            yield regions >= policy.min_regions, f"{regions} regions, at least {policy.min_regions}"
        total = sum(planned.requests_per_second.values())
        if policy.max_spot_share is not None:
            spot = sum(d.schedule[period].requests_per_second for d, offer in running if offer.pricing_term == SPOT)
            yield _share(claim, spot, total, policy.max_spot_share, "spot")
        if policy.max_provider_share is not None:
            for provider, carried in sorted(_by_provider(claim, period).items()):
                yield _share(claim, carried, total, policy.max_provider_share, provider)


def run_by(claim: Claim, provider: str) -> str:
    """Whose machines a provider's are, as the catalogs say."""
    named = (row.operator for row in claim.catalogs.terms.operators.values() if row.provider == provider)
    return next(named, provider)


def _share(claim: Claim, carried: float, total: float, limit: float, who: str) -> Finding:
    text = f"{who} carries {carried:g} of {total:g} requests/s, at most {limit:g} of them"
    return carried <= total * (limit + claim.precision.figure), text


def _by_provider(claim: Claim, period: int) -> dict[str, float]:
    """Requests/s that each provider serves in a period."""
    carried: dict[str, float] = defaultdict(float)
    serving: list[Deployment | Hosted] = [*claim.fleet.deployments, *claim.fleet.hosted]
    for item in serving:
        carried[run_by(claim, item.provider)] += item.schedule[period].requests_per_second
    return carried


@dataclass(frozen=True)
class LossEvent:
    """One place that may be lost: all of an offer, a region or a provider."""

    kind: str
    name: str

    def takes(self, places: Mapping[str, str]) -> bool:
        """Whether what is at these places, by kind, is lost."""
        return places[self.kind] == self.name


def _places(claim: Claim, offer: Offer) -> dict[str, str]:
    """With what an offer is lost, by kind."""
    provider = run_by(claim, offer.provider)
    return {"provider": provider, "region": f"{provider}/{offer.region}", "spot_offer": offer.id}


def losses(claim: Claim) -> Findings:
    """After each loss of a place that the scenario names, what is left at full rate still carries the demand.

    The loss of one instance is held against what the plan says stands on it, see `placement`. Every deployment serves
    one mix of classes and has nobody to share its replicas with, so running all of them at their full rate serves each
    class most. What hosted APIs are sent stays as it was.
    """
    yield from _spare(claim)
    for loss in _events(claim):
        for period in range(len(claim.fleet.periods)):
            yield from _carried_after(claim, loss, period)


def _spare(claim: Claim) -> Findings:
    """Each deployment that serves anything still serves it after losing the spare replicas."""
    spare = claim.policy.spare_replicas
    for d in claim.fleet.deployments if spare else ():
        for running in d.schedule:
            flow, left = running.requests_per_second * claim.policy.robust.demand, running.replicas - spare
            most = running.max_requests_per_second / max(running.replicas, 1) * claim.policy.robust.throughput * left
            text = f"{d.workload} on {d.gpu}: {left} replica{'s' * (left != 1)} left after losing {spare}"
            if flow:
                yield left > 0 and flow <= most * (1 + claim.precision.figure), text


def _events(claim: Claim) -> Iterator[LossEvent]:
    """Only what the plan uses: losing anything else takes nothing away."""
    offers = [offer for _, offer in claim.bought]
    named = {
        "spot_offer": {offer.id for offer in offers if offer.pricing_term == SPOT},
        "region": {_places(claim, offer)["region"] for offer in offers},
        "provider": {
            *(run_by(claim, offer.provider) for offer in offers),
            *(run_by(claim, item.provider) for item in claim.fleet.hosted),
        },
    }
    kinds = (kind for kind in claim.policy.losses if kind in named)
    return (LossEvent(kind, name) for kind in kinds for name in sorted(named[kind]))


def _carried_after(claim: Claim, loss: LossEvent, period: int) -> Findings:
    carried: dict[tuple[str, str], float] = defaultdict(float)
    robust = claim.policy.robust
    for d, _, offer in claim.placed:
        rate_of_replica = d.max_requests_per_second / d.replicas * robust.throughput
        left = 0 if loss.takes(_places(claim, offer)) else d.schedule[period].replicas
        full_rate = rate_of_replica * left
        for item in d.classes:
            carried[d.workload, item.name] += full_rate * item.share
    for api in claim.fleet.hosted:
        if (loss.kind, loss.name) != ("provider", run_by(claim, api.provider)):
            carried[api.workload, api.request_class] += api.schedule[period].requests_per_second * robust.demand
    for name, workload in claim.workloads.items():
        planned = claim.fleet.periods[period].requests_per_second[name]
        for asked in workload.classes():
            needed, got = planned * asked.share * robust.demand, carried[name, asked.name]
            text = f"after losing {loss.kind} {loss.name}: {got:g} of {needed:g} requests/s of {name} {asked.name}"
            yield got >= needed * (1 - claim.precision.figure), text
