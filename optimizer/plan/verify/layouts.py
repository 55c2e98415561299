"""What is loaded, again: replicas use what their instances hold, which stays there while they are paid for."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from optimizer.base.units import HOURS_PER_WEEK
from optimizer.inputs.catalog.kinds import ALWAYS_PAID
from optimizer.inputs.catalog.records import Offer
from optimizer.plan.record.fleet import Deployment, InstanceLayout, LoadedReplicas, Purchase
from optimizer.plan.verify.bill import turned_without_rest
from optimizer.plan.verify.claim import Claim, Findings

Setup = tuple[str, str, str, str, str, str, int, int]


def layouts(claim: Claim) -> Findings:
    """Where several configurations take turns on an offer: what each instance holds, from hour to hour of the week.

    One configuration needs no layout: each of its instances holds as many replicas as fit.
    """
    changes_freely = claim.policy.elastic.repartition_minutes == 0
    for purchase, offer in claim.bought:
        held = [d for d, its_purchase, _ in claim.placed if its_purchase is purchase]
        if changes_freely or len(claim.fleet.periods) == 1 or len({_setup(d) for d in held}) == 1:
            yield not purchase.layouts, f"{purchase.offer} need not tell what it holds"
            continue
        yield from _contents(claim, purchase, offer, held)
        yield from _changes(claim, purchase, offer)


def _contents(claim: Claim, purchase: Purchase, offer: Offer, held: list[Deployment]) -> Findings:
    """Each layout fits into an instance, together they are what runs, and they hold what serves."""
    numbers = list(range(len(claim.fleet.periods)))
    for layout in purchase.layouts:
        counts = [item.instances for item in layout.schedule] + [item.replicas - 1 for item in layout.contents]
        yield min(counts) >= 0, f"{purchase.offer} holds something"
        sizes = [
            item.tensor_parallel * item.pipeline_parallel for item in layout.contents for _ in range(item.replicas)
        ]
        yield sum(sizes) <= offer.gpu_count, f"{sum(sizes)} of {offer.gpu_count} GPUs of {purchase.offer} are loaded"
    for period in numbers:
        standing, loaded = _standing(purchase.layouts, period)
        running = purchase.schedule[period].instances
        yield standing <= running, f"{standing} of {running} × {purchase.offer} hold something"
        serving = Counter[Setup]()
        for d in held:
            serving[_setup(d)] += d.schedule[period].replicas
        short = serving - Counter(loaded)
        yield not short, f"{short.total()} replicas on {purchase.offer} that serve in period {period} are not loaded"


def _changes(claim: Claim, purchase: Purchase, offer: Offer) -> Findings:
    """Instances paid all month hold the same all week, or rest before they hold something else; others are started."""
    if offer.pricing_term not in ALWAYS_PAID:
        return
    never = claim.policy.elastic.repartition_minutes == "never"
    for hour in range(HOURS_PER_WEEK):
        before, after = claim.period_of_hour[hour - 1], claim.period_of_hour[hour]
        same = all(item.schedule[before].instances == item.schedule[after].instances for item in purchase.layouts)
        if never:
            yield same, f"{purchase.offer} holds the same all week"
        else:
            rested = turned_without_rest(claim, purchase, hour) <= 0
            yield rested, f"{purchase.offer} serves nobody for a period before it holds something else"


def _standing(layouts: list[InstanceLayout], period: int) -> tuple[int, Mapping[Setup, int]]:
    """Instances with a layout in a period, and the replicas that they hold."""
    loaded: dict[Setup, int] = defaultdict(int)
    for layout in layouts:
        for item in layout.contents:
            loaded[_setup(item)] += item.replicas * layout.schedule[period].instances
    return sum(layout.schedule[period].instances for layout in layouts), loaded


def _setup(item: Deployment | LoadedReplicas) -> Setup:
    """What tells replicas on one offer apart."""
    degrees = item.tensor_parallel, item.pipeline_parallel
    return (item.workload, item.model, item.engine, item.precision, item.kv_precision, item.speculation, *degrees)
