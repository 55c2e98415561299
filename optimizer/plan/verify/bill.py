"""The bill again, hour by hour of the week in exact fractions: instances, starts, disks, egress, APIs, changes."""

import math
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import TypeAlias

from optimizer.base.figures import exactly
from optimizer.base.units import (
    BYTES_PER_GB,
    HOURS_PER_MONTH,
    HOURS_PER_WEEK,
    MINUTES_PER_HOUR,
    SECONDS_PER_HOUR,
    TOKENS_PER_MILLION,
)
from optimizer.inputs.catalog.kinds import ALWAYS_PAID
from optimizer.inputs.catalog.records import Offer, ServerlessPrice
from optimizer.plan.record.fleet import Deployment, Hosted, PeriodReplicas, PeriodRequests, Purchase
from optimizer.plan.verify.claim import (
    CENT_TOLERANCE,
    Claim,
    Finding,
    Findings,
    place_of_deployment,
    setup_of,
)
from optimizer.plan.verify.per_second.bill import of_request, usd_a_request

WEEKS_PER_MONTH = Fraction(HOURS_PER_MONTH, HOURS_PER_WEEK)
OTHER_WEIGHTS = frozenset({"fine_tune", "distill_same_architecture"})
"""Relations of a published name to a model whose weights an API of the model does not serve."""

Summed: TypeAlias = Generator[Finding, None, Fraction]
"""What was found, and in the end a sum in USD a month."""


def cost(claim: Claim) -> Findings:
    """Every line of the bill, and that the lines and the deployments' shares add up to the total shown."""
    fleet = claim.fleet
    instances = yield from _instances(claim)
    by_request = yield from _hosted(claim)
    egress = yield from _egress(claim)
    others = by_request + Fraction(fleet.migration.one_time_cost_usd if fleet.migration else 0)
    shares = sum((Fraction(d.monthly_cost_usd) for d in fleet.deployments), Fraction(0))
    rounded, by_flow = claim.precision.share_usd * len(fleet.deployments), claim.flow_usd(egress + by_request)
    yield _same(instances + egress + others, fleet.monthly_cost_usd, "all that is bought", by_flow)
    yield _same(shares + others, fleet.monthly_cost_usd, "deployments, hosted APIs and changes", rounded + by_flow)
    yield from _by_the_request(claim)


def _instances(claim: Claim) -> Summed:
    """What is rented, bought or committed to, at the prices of the catalogs, for the hours that it is paid."""
    total_usd = Fraction(0)
    for purchase, offer in claim.bought:
        hours = paid_hours_per_month(claim, purchase, offer)
        usd = (Fraction(offer.price_usd_per_hour) + disk_usd_per_hour(claim, offer)) * hours
        total_usd += usd
        told = math.isclose(hours, purchase.instance_hours_per_month, rel_tol=claim.precision.figure)
        yield told, f"{purchase.offer} is paid for {exactly(float(hours))} hours a month"
        yield from _runs(claim, purchase, offer)
        yield _same(usd, purchase.monthly_cost_usd, f"{purchase.offer} at catalog prices")
    return total_usd


def _hosted(claim: Claim) -> Summed:
    """What is paid by the request."""
    total_usd = Fraction(0)
    for item in claim.fleet.hosted:
        requests = _requests_per_month(claim, item.workload, item.schedule)
        usd = requests * _usd_a_request(claim, item)
        total_usd += usd
        yield _same(usd, item.monthly_cost_usd, f"{item.api} by the request", claim.flow_usd(usd))
        gets = f"{item.api} gets {exactly(float(requests))} requests a month"
        yield claim.same(float(requests), item.requests_per_month), gets
    return total_usd


def _egress(claim: Claim) -> Summed:
    """What answers cost on their way to the internet, where that is asked for."""
    total_usd = Fraction(0)
    for d, _, offer in claim.placed:
        sent_gb = _egress_gb_per_month(claim, d)
        usd = sent_gb * Fraction(min(claim.egress_prices(offer), default=0))
        total_usd += usd
        shown = claim.same(float(sent_gb), d.egress_gb_per_month or 0)
        yield shown, f"{d.workload} on {d.gpu} sends {exactly(float(sent_gb))} GB a month"
        yield (d.egress_usd is None) == (claim.policy.egress is None), "egress is paid where it is asked for"
        what = f"{d.workload} from {offer.id} to the internet"
        yield _same(usd, d.egress_usd or Decimal(0), what, claim.flow_usd(usd))
    return total_usd


def _same(own: Fraction, shown: Decimal, what: str, slack_usd: Decimal = Decimal(0)) -> Finding:
    text = f"{what}: {float(own):.2f} USD a month, the plan says {float(shown):.2f}"
    return abs(own - Fraction(shown)) <= CENT_TOLERANCE + slack_usd, text


def _by_the_request(claim: Claim) -> Findings:
    """What a request costs, of every deployment that serves any."""
    for d in claim.fleet.deployments:
        requests = _requests_per_month(claim, d.workload, d.schedule)
        if requests:
            own = Fraction(d.monthly_cost_usd) / requests
            text = f"{d.workload} on {d.gpu} costs {exactly(float(own))} USD a request"
            yield math.isclose(own, d.cost_per_request_usd or 0, rel_tol=claim.precision.unit_price), text


def paid_hours_per_month(claim: Claim, purchase: Purchase, offer: Offer) -> Fraction:
    """All hours of the month where always paid, else those that instances run and start in."""
    running = claim.instances_by_hour(purchase, offer)
    serving = sum(run.hours * run.instances for run in purchase.runs) or sum(running)
    return (serving + started_hours_per_week(claim, purchase, offer)) * WEEKS_PER_MONTH


def started_hours_per_week(claim: Claim, purchase: Purchase, offer: Offer) -> Fraction:
    """Hours of a week that are paid for while instances start; none where they always run."""
    running = claim.instances_by_hour(purchase, offer)
    started = sum(
        max(0, running[hour] - running[hour - 1], turned_without_rest(claim, purchase, hour))
        for hour in range(HOURS_PER_WEEK)
    )
    return started * Fraction(repr(claim.policy.elastic.start_up_minutes)) / MINUTES_PER_HOUR


def turned_without_rest(claim: Claim, purchase: Purchase, hour: int) -> int:
    """Instances more with some layout than an hour before, less those that held none then."""
    before, after = claim.period_of_hour[hour - 1], claim.period_of_hour[hour]
    counts = [(item.schedule[before].instances, item.schedule[after].instances) for item in purchase.layouts]
    rested = purchase.schedule[before].instances - sum(held for held, _ in counts) if counts else 0
    return sum(max(0, more - held) for held, more in counts) - rested


def _runs(claim: Claim, purchase: Purchase, offer: Offer) -> Findings:
    """Where a provider bills a least time: every run is paid for that long, and what runs in any hour is paid for."""
    least = _least_hours(claim, offer)
    if offer.pricing_term in ALWAYS_PAID or len(claim.fleet.periods) == 1 or least == 1:
        yield not purchase.runs, f"{purchase.offer} is paid for the hours that it runs"
        return
    paid = Counter[int]()
    for run in purchase.runs:
        yield run.hours >= least and run.instances > 0, f"{purchase.offer} is paid for at least {least} hours a start"
        for hour in range(run.first_hour, run.first_hour + run.hours):
            paid[hour % HOURS_PER_WEEK] += run.instances
    covered = all(paid[hour] >= running for hour, running in enumerate(claim.instances_by_hour(purchase, offer)))
    yield covered, f"{purchase.offer} is paid for in every hour that it runs"


def _least_hours(claim: Claim, offer: Offer) -> int:
    by_provider = claim.policy.elastic.minimum_billing_hours.items()
    return next((hours for pattern, hours in by_provider if fnmatchcase(offer.provider, pattern)), 1)


def disk_usd_per_hour(claim: Claim, offer: Offer) -> Fraction:
    """Block storage of one instance at its provider's cheapest price; hardware of one's own holds its own disks."""
    size_gb, prices = claim.policy.storage_gb_per_instance, claim.disk_prices(offer)
    return Fraction(repr(size_gb)) * Fraction(min(prices, default=0)) / HOURS_PER_MONTH


def _egress_gb_per_month(claim: Claim, d: Deployment) -> Fraction:
    """The bytes of the answers to what is asked of each class; none where the scenario does not ask for egress."""
    egress = claim.policy.egress
    if egress is None:
        return Fraction(0)
    tokens = {item.name: item.output_tokens for item in d.classes}
    per_token, per_request = Fraction(repr(egress.bytes_per_output_token)), Fraction(repr(egress.bytes_per_request))
    sent = (
        Fraction(repr(flow)) * Fraction(share) * (tokens.get(name, 0) * per_token + per_request)
        for period, share in zip(claim.period_of_hour, claim.asked_share[d.workload], strict=True)
        for name, flow in d.schedule[period].requests_per_second_by_class.items()
    )
    return sum(sent, Fraction(0)) * SECONDS_PER_HOUR * WEEKS_PER_MONTH / BYTES_PER_GB


def _requests_per_month(
    claim: Claim, workload: str, schedule: Sequence[PeriodReplicas] | Sequence[PeriodRequests]
) -> Fraction:
    """Of the requests planned for the highest hour of a period those that are asked in each."""
    hours = zip(claim.period_of_hour, claim.asked_share[workload], strict=True)
    by_hour = (Fraction(repr(schedule[period].requests_per_second)) * Fraction(share) for period, share in hours)
    return sum(by_hour, Fraction(0)) * SECONDS_PER_HOUR * WEEKS_PER_MONTH


def hosted(claim: Claim) -> Findings:
    """Each hosted API is in the catalogs at that price, takes prompts of that length, and may be used."""
    for item in claim.fleet.hosted:
        if of_request(claim, item) is None:
            yield item.paid_by == "request", f"{item.api} is paid by the request"
            yield from api_may_serve(claim, item)


def api_may_serve(claim: Claim, item: Hosted) -> Findings:
    """At that price, and within what is asked."""
    yield _listed(claim, item)
    yield from _within_what_is_asked(claim, item)


def _listed(claim: Claim, item: Hosted) -> Finding:
    """Whether the catalogs have that price for the provider and the model, among those that the policy trusts."""
    sources = claim.catalogs.sources
    text = f"{item.api} costs {exactly(float(item.usd_per_request))} USD a request of {item.request_class}"
    return any(
        _is_price(claim, price, item)
        and (row.as_of, sources[row.source].cited) == (item.price_as_of, item.price_source)
        for row, price in _prices(claim, item)
    ), text


def _usd_a_request(claim: Claim, item: Hosted) -> Fraction:
    """The catalogs' price that is shown; what is shown where they know none; of containers the month by request."""
    paid_by_second = of_request(claim, item)
    if paid_by_second is not None:
        return usd_a_request(claim, paid_by_second)
    known = (price for _, price in _prices(claim, item) if _is_price(claim, price, item))
    return next(known, Fraction(item.usd_per_request))


def _is_price(claim: Claim, price: Fraction, item: Hosted) -> bool:
    return abs(price - Fraction(item.usd_per_request)) <= price * Fraction(claim.precision.unit_price)


def _prices(claim: Claim, item: Hosted) -> Iterator[tuple[ServerlessPrice, Fraction]]:
    """What the catalogs say a request of that class costs."""
    policy, model, workload = claim.policy, claim.catalogs.model(item.model).id, claim.workloads[item.workload]
    (asked,) = (c for c in workload.classes() if c.name == item.request_class)
    youngest = policy.max_price_age_days
    for row in claim.catalogs.serverless:
        named = (row.provider, row.provider_model_name, row.model) == (item.provider, item.api, model)
        young = youngest is None or (claim.catalogs.as_of - row.as_of).days <= youngest
        fits = row.max_input_tokens is None or asked.input_tokens <= row.max_input_tokens
        if named and young and fits and row.confidence in policy.price_confidence:
            yield row, listed_usd_per_request(row, asked.input_tokens, asked.output_tokens, workload.cached_input_share)


def listed_usd_per_request(row: ServerlessPrice, prompt: int, answer: int, cached_share: float) -> Fraction:
    """Tokens at the price of a million each, those from the prefix cache at their own, and the request's own price."""
    per_request = Fraction(row.usd_per_request or 0)
    if row.usd_per_million_input_tokens is None or row.usd_per_million_output_tokens is None:
        return per_request
    read = row.usd_per_million_input_tokens
    again = read if row.usd_per_million_cached_input_tokens is None else row.usd_per_million_cached_input_tokens
    cached = prompt * Fraction(repr(cached_share))
    written = answer * Fraction(row.usd_per_million_output_tokens)
    return ((prompt - cached) * Fraction(read) + cached * Fraction(again) + written) / TOKENS_PER_MILLION + per_request


def _within_what_is_asked(claim: Claim, item: Hosted) -> Findings:
    """What nobody knows of a hosted API must not be asked for: its place, precision, emissions and quality."""
    policy, workload = claim.policy, claim.workloads[item.workload]
    yield "serverless" in policy.hosting, f"hosted APIs such as {item.api} are among {', '.join(policy.hosting)}"
    for who, lists in (("policy", policy), ("workload", workload)):
        yield lists.providers.permits(item.provider), f"the {who} admits {item.provider}"
        unplaced = lists.regions.restricts or lists.countries.restricts
        yield not unplaced, f"{item.provider} does not say where it serves, and the {who} asks for places"
    yield item.model in claim.models(item.workload), f"{item.api} may serve it"
    yield policy.unmeasured_performance != "reject", f"nobody measured the latency of {item.api} here"
    blind = not (policy.precisions or policy.kv_precisions) and policy.max_carbon_kg_per_month is None
    yield blind, f"nobody knows what precision {item.api} serves and what it emits"
    alias = claim.catalogs.aliases.get(item.model.casefold())
    tuned = alias is not None and item.model not in claim.catalogs.models and alias.relation in OTHER_WEIGHTS
    yield not tuned, f"{item.api} serves the weights that {item.model} was tuned from"
    yield workload.lora_adapters is None, f"{item.api} serves {item.model} without the adapter of {item.workload}"
    unasked = not workload.has_quality_floor and workload.unknown_quality in ("avoid", "family")
    known = unasked or workload.unknown_quality == "accept"
    yield known, f"{item.workload}: the precision that {item.api} serves is unknown, and so its quality"


def migration(claim: Claim) -> Findings:
    """Replicas counted again, kind by kind, against those in force; what is shown is just that, and is paid for."""
    policy, shown = claim.policy.migration, claim.fleet.migration
    if policy is None or shown is None:
        yield policy is None and shown is None, "changes are counted where a plan is in force"
        return
    peaks = [sum(item.requests_per_second.values()) for item in claim.fleet.periods]
    busiest = [period for period, peak in enumerate(peaks) if peak >= max(peaks) * (1 - claim.precision.figure)]
    own = [_changes(claim, period) for period in busiest]
    total = shown.started + shown.stopped
    text = f"{max(map(sum, own))} replicas started or stopped, the plan says {total}"
    yield (shown.started, shown.stopped) in own, text
    if policy.max_changes is not None:
        yield total <= policy.max_changes, f"{total} of at most {policy.max_changes} changes"
    due = Fraction(repr(policy.usd_per_change)) * total
    yield _same(due, shown.one_time_cost_usd, f"{total} changes")


def _changes(claim: Claim, period: int) -> tuple[int, int]:
    """Replicas more and fewer of each kind than run today."""
    migration = claim.policy.migration
    today, planned = Counter[object](), Counter[object]()
    for item in (migration and migration.in_force) or ():
        today[place_of_deployment(item), setup_of(item)] += item.replicas
    for d in claim.fleet.deployments:
        planned[place_of_deployment(d), setup_of(d)] += d.schedule[period].replicas
    return (planned - today).total(), (today - planned).total()
