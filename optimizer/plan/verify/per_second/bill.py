"""What containers paid by the second cost, again, hour by hour of the week in fractions."""

import math
from fractions import Fraction

from optimizer.base.units import HOURS_PER_MONTH, HOURS_PER_WEEK, SECONDS_PER_HOUR, SECONDS_PER_MONTH
from optimizer.inputs.catalog.entries.per_second import PerSecondPrice
from optimizer.plan.record.containers import Containers
from optimizer.plan.record.fleet import Hosted
from optimizer.plan.verify.claim import CENT_TOLERANCE, Claim, Findings
from optimizer.plan.verify.per_second.running import hours_in, price_of, serving

WEEKS_PER_MONTH = Fraction(HOURS_PER_MONTH, HOURS_PER_WEEK)


def of_request(claim: Claim, item: Hosted) -> Containers | None:
    """The containers that a hosted request goes to, if it does."""
    named = (item.workload, item.model, item.provider, item.api)
    return next((c for c in claim.fleet.containers if (c.workload, c.model, c.provider, c.name) == named), None)


def usd_a_request(claim: Claim, c: Containers) -> Fraction:
    """The month over all requests of the workload; what is shown where the catalogs know no such container."""
    price = price_of(claim, c)
    month = Fraction(c.monthly_cost_usd) if price is None else paid_seconds(claim, c) * usd_a_second(claim, c, price)
    requests = sum(map(Fraction, claim.asked_per_s(claim.workloads[c.workload]))) * SECONDS_PER_HOUR * WEEKS_PER_MONTH
    return month / requests


def usd_a_second(claim: Claim, c: Containers, price: PerSecondPrice) -> Fraction:
    """GPUs, and processors and memory where they are billed apart."""
    size = claim.policy.per_second
    vcpus = Fraction(repr(size.vcpus_per_gpu or 0.0)) * Fraction(price.usd_per_vcpu_second or 0)
    memory = Fraction(repr(size.ram_gib_per_gpu or 0.0)) * Fraction(price.usd_per_gib_second or 0)
    return Fraction(price.usd_per_second) + c.gpus_per_replica * (vcpus + memory)


def paid_seconds(claim: Claim, c: Containers) -> Fraction:
    """Seconds of containers in a month: up or starting, and started before hours in which they are kept up."""
    asked, entry_of, own = claim.asked_per_s(claim.workloads[c.workload]), {}, serving(claim, c)
    for entry in c.schedule:
        rate = max(asked[hour] for hour in hours_in(entry))
        stops = rate and entry.containers and not entry.kept_up
        up = 1 - own.in_hours(entry).run.down if stops else float(bool(entry.containers))
        for hour in hours_in(entry):
            entry_of[hour] = (entry.containers, entry.kept_up, up)
    paid, start_s = Fraction(0), Fraction(own.start_s)
    for hour in range(HOURS_PER_WEEK):
        count, kept, up = entry_of[hour]
        before, was_kept, _ = entry_of[(hour - 1) % HOURS_PER_WEEK]
        paid += count * Fraction(up) * SECONDS_PER_HOUR
        paid += max(0, count * kept - before * was_kept) * start_s
    return paid * WEEKS_PER_MONTH


def bill(claim: Claim, c: Containers, price: PerSecondPrice) -> Findings:
    """Seconds times their price, and all requests of the workload together cost just that."""
    seconds = paid_seconds(claim, c)
    same = math.isclose(seconds, c.seconds_per_month, rel_tol=claim.precision.latency)
    yield same, f"{c.workload}: {float(seconds):.0f} of {SECONDS_PER_MONTH:,} seconds of a month are paid for"
    own, shown = seconds * usd_a_second(claim, c, price), Fraction(c.monthly_cost_usd)
    slack = Fraction(CENT_TOLERANCE) + own * Fraction(repr(claim.precision.figure))
    yield (
        abs(own - shown) <= slack,
        f"{c.workload} by the second: {float(own):.2f} USD a month, {float(shown):.2f} shown",
    )
    sent = [item for item in claim.fleet.hosted if of_request(claim, item) is c]
    total = sum((Fraction(item.monthly_cost_usd) for item in sent), Fraction(0))
    rounded = Fraction(CENT_TOLERANCE) + len(sent) * Fraction(claim.precision.share_usd) + slack
    yield abs(own - total) <= rounded, f"{c.workload} by the second: its requests cost {float(total):.2f} USD a month"
