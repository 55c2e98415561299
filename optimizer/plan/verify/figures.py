"""Figures that a plan shows beside its promises, again: counts, prices, energy, quality, and where each comes from."""

import math
from fractions import Fraction

from optimizer.base.figures import exactly
from optimizer.base.units import (
    HOURS_PER_MONTH,
    HOURS_PER_WEEK,
    SECONDS_PER_HOUR,
    TOKENS_PER_MILLION,
    WATTS_PER_KILOWATT,
)
from optimizer.inputs.catalog.quality import SIXTEEN_BIT, quality_share
from optimizer.inputs.catalog.records import Offer
from optimizer.performance.uncertainty.evidence import performance_of
from optimizer.plan.record.fleet import Deployment, Purchase
from optimizer.plan.verify.bill import WEEKS_PER_MONTH, disk_usd_per_hour
from optimizer.plan.verify.claim import CENT_TOLERANCE, Claim, Finding, Findings, configuration, hours_of


def figures(claim: Claim) -> Findings:
    """Everything that is shown of periods, purchases and deployments and that no other check computes."""
    for item in claim.fleet.periods:
        own = len(hours_of(item)) * HOURS_PER_MONTH / HOURS_PER_WEEK
        yield claim.same(own, item.hours_per_month), f"period {item.period} has {exactly(own)} hours a month"
    for purchase, offer in claim.bought:
        yield from _purchase(claim, purchase, offer)
    for number, (d, purchase, offer) in enumerate(claim.placed):
        name = f"{d.workload} on {d.gpu}"
        yield d.price_usd_per_hour == offer.price_usd_per_hour, f"{name} costs {offer.price_usd_per_hour} USD an hour"
        yield _instances(claim, d, purchase, name)
        yield _power(claim, d, offer, name)
        yield from _classes(claim, d, name)
        yield from _by_the_token(claim, d, name)
        yield from _sources(claim, d, offer, name)
        yield _quality(claim, d, name)
        yield from _engine(claim, d, number, name)


def _purchase(claim: Claim, purchase: Purchase, offer: Offer) -> Findings:
    """The catalog's price, and GPUs without a replica; what runs on it is shown with all GPUs that are bought."""
    listed = offer.price_usd_per_hour
    yield purchase.price_usd_per_hour == listed, f"{purchase.offer} costs {listed} USD an hour"
    disk = disk_usd_per_hour(claim, offer)
    shown = claim.same(float(disk), float(purchase.storage_usd_per_hour))
    yield shown, f"{purchase.offer} pays {exactly(float(disk))} USD an hour for storage"
    held = [d for d, its_purchase, _ in claim.placed if its_purchase is purchase]
    idle = min(
        offer.gpu_count * running.instances
        - sum(d.gpus_per_replica * d.schedule[running.period].replicas for d in held)
        for running in purchase.schedule
        if running.instances == max(item.instances for item in purchase.schedule)
    )
    yield purchase.idle_gpus == idle, f"{purchase.offer} has {idle} GPUs without a replica"
    yield from _shares(claim, purchase, held)


def _shares(claim: Claim, purchase: Purchase, held: list[Deployment]) -> Findings:
    """GPUs by deployment, idle ones with the last; money in proportion to the GPU hours of its replicas in a week."""
    used = [d.gpus_per_replica * sum(d.schedule[period].replicas for period in claim.period_of_hour) for d in held]
    if not sum(used):
        yield False, f"{purchase.offer} holds a replica"
        return
    *others, last = held
    counts = [d.gpus_per_replica * d.replicas for d in others]
    counts.append(last.gpus_per_replica * last.replicas + purchase.idle_gpus)
    shown = [d.total_gpus for d in held]
    yield shown == counts, f"{purchase.offer}: GPUs by deployment {counts}, shown {shown}"
    for d, gpu_hours in zip(held, used, strict=True):
        usd = Fraction(purchase.monthly_cost_usd) * gpu_hours / sum(used) + Fraction(d.egress_usd or 0)
        text = f"{d.workload} on {d.gpu} bears {float(usd):.2f} USD a month, shown {float(d.monthly_cost_usd):.2f}"
        slack = CENT_TOLERANCE + claim.precision.share_usd * len(held)
        yield abs(usd - Fraction(d.monthly_cost_usd)) <= slack, text


def _instances(claim: Claim, d: Deployment, purchase: Purchase, name: str) -> Finding:
    """Those of its offer in a period in which it is sent most."""
    busiest = max((item.requests_per_second, item.replicas) for item in d.schedule)
    counts = {
        purchase.schedule[item.period].instances
        for item in d.schedule
        if item.replicas == busiest[1] and claim.same(busiest[0], item.requests_per_second)
    }
    return d.instances in counts, f"{name} is held by {sorted(counts)} instances, shown {d.instances}"


def _power(claim: Claim, d: Deployment, offer: Offer, name: str) -> Finding:
    """Rated power of its GPUs; none where the GPU's is not known."""
    watts = claim.catalogs.gpus[offer.gpu].tdp_w
    if watts is None or d.power_kw is None:
        return watts is d.power_kw, f"{name}: nobody knows its power"
    own_kw = watts * d.total_gpus / WATTS_PER_KILOWATT
    return claim.same(own_kw, d.power_kw), f"{name} draws {exactly(own_kw)} kW"


def _classes(claim: Claim, d: Deployment, name: str) -> Findings:
    """Shares of classes are those of a period in which it is sent most, and its pool is named after its classes."""
    for item in d.classes:
        own = d.requests_per_second * item.share
        yield claim.same(own, item.requests_per_second), f"{name} is sent {exactly(own)} requests/s of {item.name}"
    sent = [entry for entry in d.schedule if entry.requests_per_second]
    flows = [entry.requests_per_second_by_class for entry in sent]
    busiest = (
        entry.requests_per_second_by_class
        for entry in sent
        if claim.same(entry.requests_per_second, d.requests_per_second)
    )
    own_shares = {item.name: item.share for item in d.classes}
    text = f"{name}: shares of classes are those of its busiest hours"
    yield not sent or any(_are_shares(claim, by_class, own_shares) for by_class in busiest), text
    asked = {item.name: item.share for item in claim.classes(d.workload)}
    if d.pool in asked:
        yield all(set(by_class) == {d.pool} for by_class in flows), f"{name} serves {d.pool} alone"
    elif d.pool == "all":
        yield all(_are_shares(claim, by_class, asked) for by_class in flows), f"{name} serves every class in its share"
    else:
        yield d.pool == "mixed" and len(asked) > 1, f"{name} serves a mix of classes"


def _are_shares(claim: Claim, flows: dict[str, float], shares: dict[str, float]) -> bool:
    total = sum(flows.values())
    return total > 0 and all(
        math.isclose(flows.get(name, 0.0) / total, share, abs_tol=claim.precision.figure)
        for name, share in shares.items()
    )


def _by_the_token(claim: Claim, d: Deployment, name: str) -> Findings:
    """What a million tokens cost, answers alone and with prompts."""
    lengths = {item.name: (item.input_tokens, item.output_tokens) for item in d.classes}
    hours = zip(claim.period_of_hour, claim.asked_share[d.workload], strict=True)
    flows = [
        (name, Fraction(repr(flow)) * Fraction(share))
        for period, share in hours
        for name, flow in d.schedule[period].requests_per_second_by_class.items()
    ]
    month = SECONDS_PER_HOUR * WEEKS_PER_MONTH / TOKENS_PER_MILLION
    prompts, answers = (
        sum((flow * lengths[sort][column] for sort, flow in flows if sort in lengths), Fraction(0)) * month
        for column in (0, 1)
    )
    shown = (
        ("output", answers, d.cost_per_million_output_tokens_usd),
        ("prompt and output", prompts + answers, d.cost_per_million_tokens_usd),
    )
    for what, millions, price in shown:
        if not millions or price is None:
            yield not millions and price is None, f"{name} has a price of tokens where it serves any"
            continue
        own = float(Fraction(d.monthly_cost_usd) / millions)
        text = f"{name} costs {exactly(own)} USD a million {what} tokens"
        yield math.isclose(own, price, rel_tol=claim.precision.unit_price), text


def _sources(claim: Claim, d: Deployment, offer: Offer, name: str) -> Findings:
    """Where the price comes from and how old it is, and what nobody measured."""
    shown, catalogs = d.provenance, claim.catalogs
    age_days = (catalogs.as_of - offer.as_of).days
    yield shown.price_as_of == offer.as_of, f"{name}: the price is of {offer.as_of}"
    yield shown.price_age_days == age_days, f"{name}: the price is {age_days} days old"
    named = catalogs.terms.sellers
    seller = named.get((offer.provider, offer.provider_kind), named.get((offer.provider, "")))
    kind = "owned" if offer.provider == "owned" else "unknown" if seller is None else seller.kind
    yield shown.seller == kind, f"{name}: {offer.provider} is a seller of the kind {kind}"
    flagged = age_days >= claim.policy.flagged_from_days(kind)
    yield shown.price_is_old == flagged, f"{name}: a price of {age_days} days is {'old' if flagged else 'recent'}"
    yield shown.price_confidence == offer.confidence, f"{name}: the price is {offer.confidence}"
    yield shown.price_source == catalogs.sources[offer.source].cited, f"{name}: the price is from {offer.source}"
    performance, note = performance_of(catalogs, configuration(d, offer))
    said = performance != "estimated" or shown.performance_note == note
    yield shown.performance == performance and said, f"{name}: the speed is {performance} ({note})"


def _quality(claim: Claim, d: Deployment, name: str) -> Finding:
    """The share of the first model's score that is kept; none where nobody published it."""
    by_family = claim.workloads[d.workload].unknown_quality == "family"
    weights = quality_share(claim.catalogs, d.model, d.precision, by_family=by_family)
    kept = weights if d.kv_precision in SIXTEEN_BIT else None
    factor = claim.models(d.workload).get(d.model, math.nan)
    if kept is None or d.quality is None:
        known = kept is None and (d.quality, d.quality_worst, d.provenance.quality) == (None, None, "unknown")
        return known, f"{name}: the quality of {d.precision} is {'unknown' if kept is None else 'known'}"
    text = f"{name} keeps {exactly(factor * kept.share)} of the score: {kept.basis}"
    alike = claim.same(factor * kept.share, d.quality) and d.provenance.quality.endswith(kept.basis)
    if kept.worst_share is None or d.quality_worst is None:
        return alike and kept.worst_share is d.quality_worst, text
    return alike and claim.same(factor * kept.worst_share, d.quality_worst), text


def _engine(claim: Claim, d: Deployment, number: int, name: str) -> Findings:
    """The newest stable release, and what it starts with on this GPU."""
    newest, shown = claim.catalogs.engines[d.engine].newest_version, d.engine_starts_with
    yield d.engine_version == newest, f"{name} assumes {d.engine} {newest}"
    layout = claim.setup.layout
    own = (layout.memory_utilization[number], layout.max_num_seqs[number], layout.max_batched_tokens[number])
    stated = (shown.memory_utilization, shown.max_num_seqs, shown.max_num_batched_tokens)
    limits = f"{own[1]:g} sequences, {own[2]:g} tokens a step"
    text = f"{name}: {d.engine} {newest} has a memory share of {own[0]:.0%}, {limits}"
    yield claim.same(float(own[0]), stated[0]) and own[1:] == stated[1:], text
