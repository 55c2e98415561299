"""What is bought, again: replicas packed onto instances, offers the scenario admits, limits on amounts."""

import math
from collections import defaultdict
from collections.abc import Mapping
from fnmatch import fnmatchcase

from optimizer.base.units import GRAMS_PER_KILOGRAM, HOURS_PER_MONTH, HOURS_PER_WEEK, WATTS_PER_KILOWATT
from optimizer.inputs.catalog.kinds import ALWAYS_PAID, OWNED
from optimizer.inputs.catalog.records import Offer
from optimizer.inputs.scenario.scenario import Policy, Workload
from optimizer.plan.verify.claim import CENT_TOLERANCE, Claim, Findings, configuration, setup_of
from optimizer.plan.verify.drafts import drafts_asked_for, measured_as_asked


def instances(claim: Claim) -> Findings:
    """In every period each replica placed, largest first, on the first instance with room; no more than there are."""
    for purchase, offer in claim.bought:
        held = [d for d, its_purchase, _ in claim.placed if its_purchase is purchase]
        for running in purchase.schedule:
            by_size: dict[int, int] = defaultdict(int)
            for d in held:
                by_size[d.gpus_per_replica] += d.schedule[running.period].replicas
            placed, replicas = packed(by_size, offer.gpu_count, running.instances), sum(by_size.values())
            text = f"{placed} of {replicas} replicas fit on {running.instances} × {purchase.offer}"
            yield placed == replicas, text
        most = max(running.instances for running in purchase.schedule)
        shown = (purchase.instances, purchase.gpus, purchase.always_paid)
        own = (most, offer.gpu_count * most, offer.pricing_term in ALWAYS_PAID)
        yield shown == own, f"{purchase.offer} is counted as scheduled"
        stock = claim.catalogs.terms.available_instances.get(offer.id)
        if stock is not None:
            yield most <= stock, f"{most} of {stock} × {purchase.offer} that there are"


def packed(by_size: Mapping[int, int], gpus: int, count: int) -> int:
    """How many replicas find a place; falling sizes leave no gap, since every size divides the larger ones.

    Instances with the same room are filled together, so that a million of them take no longer than one.
    """
    rooms, placed = [(gpus, count)], 0
    for size, replicas in sorted(by_size.items(), reverse=True):
        left, after = replicas, []
        for free, alike in rooms:
            each = free // size
            full, rest = divmod(left, each) if each else (0, 0)
            if full >= alike:
                full, rest = alike, 0
            begun = 1 if rest else 0
            left -= full * each + rest
            after += [(free - each * size, full), (free - rest * size, begun), (free, alike - full - begun)]
        rooms = [room for room in after if room[1]]
        placed += replicas - left
    return placed


def offers(claim: Claim) -> Findings:
    """Each offer and each setup on it is one that the policy admits, and the workload's own lists, too."""
    policy = claim.policy
    for purchase, offer in claim.bought:
        admitted = _places(claim, policy, offer) | _admitted(claim, offer)
        yield from ((passed, f"{what} of {purchase.offer}") for what, passed in admitted.items())
    for d, purchase, offer in claim.placed:
        pins = _places(claim, claim.workloads[d.workload], offer)
        pins["distance from users"] = math.isfinite(claim.network_ms(claim.workloads[d.workload], offer))
        yield from ((passed, f"{d.workload}: {what} of {purchase.offer}") for what, passed in pins.items())
        for what, name, names in (
            ("engine", d.engine, policy.engines),
            ("precision", d.precision, policy.precisions),
            ("KV precision", d.kv_precision, policy.kv_precisions),
        ):
            yield not names or name in names, f"{what} {name}"
        for what, degree, most in (
            ("tensor parallel", d.tensor_parallel, policy.max_tensor_parallel),
            ("pipeline parallel", d.pipeline_parallel, policy.max_pipeline_parallel),
        ):
            yield most is None or degree <= most, f"{what} {degree}"
        yield drafts_asked_for(claim, d)
        heads = claim.catalogs.model(d.model).attention_heads
        yield heads % d.tensor_parallel == 0, f"tensor parallel {d.tensor_parallel} divides {heads} attention heads"
        yield measured_as_asked(claim, d.workload, configuration(d, offer))


def _places(claim: Claim, lists: Policy | Workload, offer: Offer) -> dict[str, bool]:
    names = claim.catalogs.terms.place(offer.provider, offer.region)
    in_country = lists.countries.permits(*names) if names else not lists.countries.restricts
    return {
        f"provider {offer.provider}": lists.providers.permits(offer.provider),
        f"region {offer.region}": lists.regions.permits(offer.region) and _is_meant(claim, lists, offer),
        f"country {names[0] if names else 'unknown'}": in_country,
    }


def _is_meant(claim: Claim, lists: Policy | Workload, offer: Offer) -> bool:
    """Whether a region that takes an account of its own is allowed by an entry of the policy that means no other."""
    known = claim.catalogs.terms.regions
    taken = known.get((offer.provider, offer.region))
    if taken is None or not taken.account or isinstance(lists, Workload):
        return True
    apart = {key for key, row in known.items() if row.account}
    elsewhere = {each.region for each in claim.catalogs.offers if (each.provider, each.region) not in apart}
    entries = [entry for entry in lists.regions.allow if fnmatchcase(offer.region, entry)]
    return any(not any(fnmatchcase(name, entry) for name in elsewhere) for entry in entries)


def _admitted(claim: Claim, offer: Offer) -> dict[str, bool]:
    policy, own = claim.policy, offer.provider_kind == OWNED
    age_days, hosting = (claim.catalogs.as_of - offer.as_of).days, "owned" if own else "rented"
    named = claim.catalogs.terms.sellers
    seller = named.get((offer.provider, offer.provider_kind), named.get((offer.provider, "")))
    kind = "unknown" if seller is None else seller.kind
    promised = any(w.slo.ttft_ms or w.slo.tpot_ms or w.slo.e2e_ms for w in claim.workloads.values())
    return {
        f"GPU {offer.gpu}": policy.gpus.permits(offer.gpu),
        f"hosting {hosting}": hosting in policy.hosting,
        f"provider kind {offer.provider_kind}": own or offer.provider_kind in policy.provider_kinds,
        f"seller {kind}": own or kind in policy.sellers,
        f"terms of {offer.provider} on serving others": seller is None or seller.serves_others != "no",
        "GPUs of one's own": not promised or seller is None or seller.whole_gpu != "no",
        f"gaming cards {offer.gpu}": own or policy.consumer_gpus or not claim.catalogs.gpus[offer.gpu].consumer,
        "price of whole instances": offer.price_of == "instance",
        f"pricing term {offer.pricing_term}": own or offer.pricing_term in policy.pricing_terms,
        f"price confidence {offer.confidence}": offer.confidence in policy.price_confidence,
        f"price age {age_days} days": policy.max_price_age_days is None or age_days <= policy.max_price_age_days,
        "price of storage": own or not policy.storage_gb_per_instance or bool(claim.disk_prices(offer)),
        "price of egress": own or policy.egress is None or bool(claim.egress_prices(offer)),
    }


def totals(claim: Claim) -> Findings:
    """Limits on money, variety and, in every period, on GPUs and power; carbon over the month."""
    policy = claim.policy
    if policy.max_monthly_usd is not None:
        worst = float(claim.fleet.monthly_cost_usd) * policy.robust.price
        within = worst <= policy.max_monthly_usd + float(CENT_TOLERANCE)
        yield within, f"{worst:.2f} of {policy.max_monthly_usd:.2f} USD a month"
    if policy.max_distinct_configurations is not None:
        distinct, most = len({setup_of(d) for d in claim.fleet.deployments}), policy.max_distinct_configurations
        yield distinct <= most, f"{distinct} of at most {most} distinct configurations"
    if policy.max_engines is not None:
        engines = sorted({d.engine for d in claim.fleet.deployments})
        text = f"{len(engines)} of at most {policy.max_engines} engines: {', '.join(engines)}"
        yield len(engines) <= policy.max_engines, text
    if policy.max_carbon_kg_per_month is not None:
        emitted, most_kg = _carbon_kg_per_month(claim), policy.max_carbon_kg_per_month
        within = emitted is not None and emitted <= most_kg * (1 + claim.precision.figure)
        text = "emissions are not known" if emitted is None else f"{emitted:g} of {most_kg:g} kg CO₂ a month"
        yield within, text
    for period in range(len(claim.fleet.periods)):
        yield from _at_once(claim, period)


def _at_once(claim: Claim, period: int) -> Findings:
    """What runs at the same time: GPUs in all and by quota, and power."""
    policy = claim.policy
    running = [(offer, offer.gpu_count * purchase.schedule[period].instances) for purchase, offer in claim.bought]
    if policy.max_gpus is not None:
        gpus = sum(count for _, count in running)
        yield gpus <= policy.max_gpus, f"{gpus} of at most {policy.max_gpus} GPUs"
    for quota in policy.quotas:
        gpus = sum(count for offer, count in running if quota.covers(offer.provider, offer.region, offer.gpu))
        yield gpus <= quota.max_gpus, f"quota {quota.name}: {gpus} of {quota.max_gpus} GPUs"
    if policy.max_power_kw is not None:
        watts = [claim.catalogs.gpus[offer.gpu].tdp_w for offer, _ in running]
        drawn = sum((w or 0.0) * count for w, (_, count) in zip(watts, running, strict=True))
        power_kw, known = drawn / WATTS_PER_KILOWATT, None not in watts
        within = known and power_kw <= policy.max_power_kw * (1 + claim.precision.figure)
        yield within, f"{power_kw:g} of {policy.max_power_kw:g} kW"


def _carbon_kg_per_month(claim: Claim) -> float | None:
    """Power × PUE × grid over the hours that instances run, all of the month where they are always paid."""
    total = 0.0
    for purchase, offer in claim.bought:
        kg_per_hour = _carbon_kg_per_hour(claim, offer)
        if kg_per_hour is None:
            return None
        total += kg_per_hour * sum(claim.instances_by_hour(purchase, offer)) * HOURS_PER_MONTH / HOURS_PER_WEEK
    return total


def _carbon_kg_per_hour(claim: Claim, offer: Offer) -> float | None:
    """One instance: hardware of one's own at its own power and PUE, rented at rated power and the grid's PUE."""
    grid, own = claim.policy.grid, claim.catalogs.terms.owned.get(offer.id)
    watts = claim.catalogs.gpus[offer.gpu].tdp_w
    known = claim.catalogs.terms.grid.get((offer.provider, offer.region))
    grams = grid.intensity_g_per_kwh(offer.region) if grid else None
    if grid and grid.g_co2_per_kwh is None and known is not None:
        grams = known.g_co2_per_kwh
    rated_kw = None if watts is None else watts * offer.gpu_count / WATTS_PER_KILOWATT
    drawn_kw = float(own.power_kw) if own and own.power_kw else rated_kw
    if grid is None or grams is None or drawn_kw is None:
        return None
    return drawn_kw * (float(own.pue) if own else grid.pue) * grams / GRAMS_PER_KILOGRAM
