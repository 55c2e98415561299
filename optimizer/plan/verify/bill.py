"""The bill again, hour by hour of the week in exact fractions: instances, starts, disks, egress, APIs, changes."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from fractions import Fraction

from optimizer.base.units import (
    BYTES_PER_GB,
    HOURS_PER_MONTH,
    HOURS_PER_WEEK,
    MINUTES_PER_HOUR,
    SECONDS_PER_HOUR,
    TOKENS_PER_MILLION,
)
from optimizer.inputs.catalog.kinds import ALWAYS_PAID, OWNED
from optimizer.inputs.catalog.records import Offer, ServerlessPrice
from optimizer.inputs.scenario.scenario import InForce
from optimizer.plan.record.fleet import Deployment, Hosted, PeriodReplicas, PeriodRequests, Purchase
from optimizer.plan.verify.claim import CENT_TOLERANCE, RATE_TOLERANCE, Claim, Findings, disk_prices, egress_prices

WEEKS_PER_MONTH = Fraction(HOURS_PER_MONTH, HOURS_PER_WEEK)
OTHER_WEIGHTS = frozenset({"fine_tune", "distill_same_architecture"})
"""Relations of a published name to a model whose weights an API of the model does not serve."""

Kind = tuple[str | int, ...]
"""What makes replicas the same: where they stand and how they are set up."""


def cost(claim: Claim) -> Findings:
    """Every line of the bill, and that the lines and the deployments' shares add up to the total shown."""
    instances, hosted = Fraction(0), Fraction(0)
    for purchase, offer in claim.bought:
        hours = _paid_hours_per_month(claim, purchase, offer)
        told = math.isclose(hours, purchase.instance_hours_per_month, rel_tol=RATE_TOLERANCE)
        yield told, f"{purchase.offer} is paid for {float(hours):g} hours a month"
        own = (Fraction(offer.price_usd_per_hour) + _disk_usd_per_hour(claim, offer)) * hours
        instances += own
        yield from _runs(claim, purchase, offer)
        yield _same(own, Fraction(purchase.monthly_cost_usd), f"{purchase.offer} at catalog prices")
    for item in claim.fleet.hosted:
        own = _requests_per_month(claim, item.schedule) * Fraction(item.usd_per_request)
        hosted += own
        yield _same(own, Fraction(item.monthly_cost_usd), f"{item.api} by the request")
    sent = Fraction(0)
    for d, _, offer in claim.placed:
        own = _egress_usd_per_month(claim, d, offer)
        sent += own
        yield (d.egress_usd is None) == (claim.scenario.policy.egress is None), "egress is paid where it is asked for"
        yield _same(own, Fraction(d.egress_usd or 0), f"{d.workload} from {offer.id} to the internet")
    moved = Fraction(claim.fleet.migration.one_time_cost_usd) if claim.fleet.migration else Fraction(0)
    shown = Fraction(claim.fleet.monthly_cost_usd)
    yield _same(instances + sent + hosted + moved, shown, "all that is bought")
    shares = sum((Fraction(d.monthly_cost_usd) for d in claim.fleet.deployments), Fraction(0))
    yield _same(shares + hosted + moved, shown, "deployments, hosted APIs and changes")
    for d in claim.fleet.deployments:
        requests = _requests_per_month(claim, d.schedule)
        if requests:
            own = Fraction(d.monthly_cost_usd) / requests
            text = f"{d.workload} on {d.gpu} costs {float(own):g} USD a request"
            yield math.isclose(own, d.cost_per_request_usd or 0, rel_tol=RATE_TOLERANCE), text


def _same(own: Fraction, shown: Fraction, what: str) -> tuple[bool, str]:
    return abs(own - shown) <= CENT_TOLERANCE, f"{what}: {float(own):.2f} USD a month, the plan says {float(shown):.2f}"


def _paid_hours_per_month(claim: Claim, purchase: Purchase, offer: Offer) -> Fraction:
    """All hours of the month where always paid, else those that instances run and start in."""
    running = [purchase.schedule[period].instances for period in claim.period_of_hour]
    if offer.pricing_term in ALWAYS_PAID:
        return Fraction(max(running) * HOURS_PER_MONTH)
    serving = sum(run.hours * run.instances for run in purchase.runs) or sum(running)
    started = sum(max(0, running[hour] - running[hour - 1]) for hour in range(HOURS_PER_WEEK))
    start_up = Fraction(repr(claim.scenario.policy.elastic.start_up_minutes)) / MINUTES_PER_HOUR
    return (serving + started * start_up) * WEEKS_PER_MONTH


def _runs(claim: Claim, purchase: Purchase, offer: Offer) -> Findings:
    """Where a provider bills a least time: every run is paid for that long, and what runs in any hour is paid for."""
    least = _least_hours(claim, offer)
    if offer.pricing_term in ALWAYS_PAID or len(claim.fleet.periods) == 1 or least == 1:
        yield not purchase.runs, f"{purchase.offer} is paid for the hours that it runs"
        return
    paid = [0] * HOURS_PER_WEEK
    for run in purchase.runs:
        yield run.hours >= least and run.instances > 0, f"{purchase.offer} is paid for at least {least} hours a start"
        for hour in range(run.first_hour, run.first_hour + run.hours):
            paid[hour % HOURS_PER_WEEK] += run.instances
    running = [purchase.schedule[period].instances for period in claim.period_of_hour]
    covered = all(there >= wanted for there, wanted in zip(paid, running, strict=True))
    yield covered, f"{purchase.offer} is paid for in every hour that it runs"


def _least_hours(claim: Claim, offer: Offer) -> int:
    for pattern, hours in claim.scenario.policy.elastic.minimum_billing_hours.items():
        if fnmatchcase(offer.provider, pattern):
            return hours
    return 1


def _disk_usd_per_hour(claim: Claim, offer: Offer) -> Fraction:
    """Block storage of one instance at its provider's cheapest price; hardware of one's own holds its own disks."""
    size_gb, prices = claim.scenario.policy.storage_gb_per_instance, disk_prices(claim, offer)
    if not size_gb or not prices or offer.provider_kind == OWNED:
        return Fraction(0)
    return Fraction(repr(size_gb)) * Fraction(min(prices)) / HOURS_PER_MONTH


def _egress_usd_per_month(claim: Claim, d: Deployment, offer: Offer) -> Fraction:
    """The bytes of each class's answers at the provider's cheapest price; one's own site pays for its own line."""
    egress, prices = claim.scenario.policy.egress, egress_prices(claim, offer)
    if egress is None or not prices or offer.provider_kind == OWNED:
        return Fraction(0)
    tokens = {item.name: item.output_tokens for item in d.classes}
    per_token, per_request = Fraction(repr(egress.bytes_per_output_token)), Fraction(repr(egress.bytes_per_request))
    sent = (
        Fraction(repr(flow)) * (tokens.get(name, 0) * per_token + per_request)
        for period in claim.period_of_hour
        for name, flow in d.schedule[period].requests_per_second_by_class.items()
    )
    return sum(sent, Fraction(0)) * SECONDS_PER_HOUR * WEEKS_PER_MONTH * Fraction(min(prices)) / BYTES_PER_GB


def _requests_per_month(claim: Claim, schedule: Sequence[PeriodReplicas] | Sequence[PeriodRequests]) -> Fraction:
    sent = [Fraction(repr(schedule[period].requests_per_second)) for period in claim.period_of_hour]
    return sum(sent, Fraction(0)) * SECONDS_PER_HOUR * WEEKS_PER_MONTH


def hosted(claim: Claim) -> Findings:
    """Each hosted API is in the catalogs at that price, takes prompts of that length, and may be used."""
    policy = claim.scenario.policy
    for item in claim.fleet.hosted:
        workload = claim.workloads[item.workload]
        tokens = {asked.name: (asked.input_tokens, asked.output_tokens) for asked in workload.classes()}
        rows = [row for row in _listed(claim, item) if _prompt_fits(row, tokens[item.request_class][0])]
        prices = [_usd_per_request(row, *tokens[item.request_class], workload.cached_input_share) for row in rows]
        yield (
            any(abs(price - Fraction(item.usd_per_request)) <= price * Fraction(RATE_TOLERANCE) for price in prices),
            f"{item.api} costs {float(item.usd_per_request):g} USD a request of {item.request_class}",
        )
        yield "serverless" in policy.hosting, f"hosted APIs such as {item.api} are among {', '.join(policy.hosting)}"
        for who, lists in (("policy", policy), ("workload", workload)):
            yield lists.providers.permits(item.provider), f"the {who} admits {item.provider}"
            unplaced = lists.regions.restricts or lists.countries.restricts
            yield not unplaced, f"{item.provider} does not say where it serves, and the {who} asks for places"
        yield item.model in [workload.model, *(a.model for a in workload.alternatives)], f"{item.api} may serve it"
        blind = not (policy.precisions or policy.kv_precisions) and policy.max_carbon_kg_per_month is None
        yield blind, f"nobody knows what precision {item.api} serves and what it emits"
        alias = claim.catalogs.aliases.get(item.model.casefold())
        tuned = alias is not None and item.model not in claim.catalogs.models and alias.relation in OTHER_WEIGHTS
        yield not tuned, f"{item.api} serves the weights that {item.model} was tuned from"
        known = workload.min_quality is None or workload.unknown_quality == "accept"
        yield known, f"{item.workload}: the precision that {item.api} serves is unknown, and so its quality"


def _listed(claim: Claim, item: Hosted) -> Iterator[ServerlessPrice]:
    """The catalogs' prices of a provider for a model, of those that the policy trusts."""
    policy, model = claim.scenario.policy, claim.catalogs.model(item.model).id
    for row in claim.catalogs.serverless:
        age_days = (claim.catalogs.as_of - row.as_of).days
        young = policy.max_price_age_days is None or age_days <= policy.max_price_age_days
        trusted = row.confidence in policy.price_confidence and young
        named = (row.provider, row.provider_model_name, row.model) == (item.provider, item.api, model)
        if named and trusted:
            yield row


def _prompt_fits(row: ServerlessPrice, input_tokens: int) -> bool:
    return row.max_input_tokens is None or input_tokens <= row.max_input_tokens


def _usd_per_request(row: ServerlessPrice, prompt: int, answer: int, cached_share: float) -> Fraction:
    """Tokens at the price of a million each, those from the prefix cache at their own, and the request's own price."""
    per_request = Fraction(row.usd_per_request or 0)
    if row.usd_per_million_input_tokens is None or row.usd_per_million_output_tokens is None:
        return per_request
    read = Fraction(row.usd_per_million_input_tokens)
    again = (
        read if row.usd_per_million_cached_input_tokens is None else Fraction(row.usd_per_million_cached_input_tokens)
    )
    cached = prompt * Fraction(repr(cached_share))
    millionths = (prompt - cached) * read + cached * again + answer * Fraction(row.usd_per_million_output_tokens)
    return millionths / TOKENS_PER_MILLION + per_request


def migration(claim: Claim) -> Findings:
    """Replicas counted again, kind by kind, against those in force; what is shown is no less, and is paid for."""
    policy = claim.scenario.policy.migration
    if policy is None or claim.fleet.migration is None:
        yield policy is None and claim.fleet.migration is None, "changes are counted where a plan is in force"
        return
    today = Counter[Kind]()
    for item in policy.in_force or ():
        today[_kind_in_force(item)] += item.replicas
    peaks = [sum(item.requests_per_second.values()) for item in claim.fleet.periods]
    shown = claim.fleet.migration.started + claim.fleet.migration.stopped
    own = max(
        _changes(claim, today, period) for period, peak in enumerate(peaks) if peak >= max(peaks) * (1 - RATE_TOLERANCE)
    )
    yield shown >= own, f"{own} replicas started or stopped, the plan says {shown}"
    if policy.max_changes is not None:
        yield shown <= policy.max_changes, f"{shown} of at most {policy.max_changes} changes"
    due = Fraction(repr(policy.usd_per_change)) * shown
    yield _same(due, Fraction(claim.fleet.migration.one_time_cost_usd), f"{shown} changes")


def _changes(claim: Claim, today: Counter[Kind], period: int) -> int:
    """Replicas more or fewer of each kind than today."""
    planned = Counter[Kind]()
    for d in claim.fleet.deployments:
        place = (d.provider, d.region, d.instance_type, d.gpus_per_instance, d.pricing_term, d.commitment_months)
        setup = (d.workload, d.model, d.gpu, d.engine, d.precision, d.kv_precision)
        planned[(*place, *setup, d.tensor_parallel, d.pipeline_parallel)] += d.schedule[period].replicas
    return sum(abs(planned[kind] - today[kind]) for kind in planned.keys() | today.keys())


def _kind_in_force(f: InForce) -> Kind:
    place = (f.provider, f.region, f.instance_type, f.gpus_per_instance, f.pricing_term, f.commitment_months)
    setup = (f.workload, f.model, f.gpu, f.engine, f.precision, f.kv_precision)
    return (*place, *setup, f.tensor_parallel, f.pipeline_parallel)
