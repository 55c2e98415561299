"""A plan file as a whole: the fleet it shows, the bill by kind, the proof, and what it says that it was made from."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import chain

from optimizer.inputs.catalog.kinds import ALWAYS_PAID
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.record.fleet import Costs, Deployment, Purchase
from optimizer.plan.record.origin import inputs_of
from optimizer.plan.record.report import PlanReport, Verification
from optimizer.plan.verify.bill import WEEKS_PER_MONTH, disk_usd_per_hour, paid_hours_per_month, started_hours_per_week
from optimizer.plan.verify.claim import CENT_TOLERANCE, WRITTEN, Claim, Findings
from optimizer.plan.verify.verify import checked, verify

USES = ("at_prediction", "confidence", "burst_reserve", "unused", "headroom")
"""What working GPUs are paid for; the last is the two before it together."""


def verify_report(report: PlanReport, scenario: Scenario, catalogs: Catalogs) -> Verification:
    """Every check of the fleet as exactly as a file states it, then what only the whole answer says.

    A plan that does not hang together is checked for nothing else.

    Args:
        report: An answer with a plan, as read from a file.
        scenario: The one that it was made for.
        catalogs: Those that it was made from.
    """
    checks = verify(
        scenario, catalogs, report.fleet, WRITTEN, report.simplicity, avoided=report.avoided(scenario)
    ).checks
    if len(checks) > 1:
        claim = Claim(scenario, catalogs, report.fleet, WRITTEN)
        checks = [
            *checks,
            checked("costs", _costs(claim, report.costs)),
            checked("proof", chain(_proof(report), _enough(claim, report))),
            checked("inputs", _inputs(claim, report)),
        ]
    return Verification(passed=all(check.passed for check in checks), checks=checks)


def _costs(claim: Claim, shown: Costs | None) -> Findings:
    """Each kind of cost; what is shown as unpriced is what is not paid for."""
    if shown is None:
        yield False, "the bill is told by kind"
        return
    own = _by_kind(claim)
    slack = CENT_TOLERANCE + claim.flow_usd(sum(own.values(), Fraction(0)))
    slack += claim.precision.share_usd * (len(claim.fleet.deployments) + len(claim.fleet.hosted))
    for kind, usd in own.items():
        usd_shown = getattr(shown, f"{kind}_usd") or Decimal(0)
        text = f"{kind}: {float(usd):.2f} USD a month, shown {float(usd_shown):.2f}"
        yield abs(usd - Fraction(usd_shown)) <= slack, text
    # sent for nothing is priced, too
    sent = claim.policy.egress is not None and claim.fleet.deployments
    unpriced = [kind for kind, priced in (("storage", own["storage"]), ("egress", sent)) if not priced]
    yield shown.unpriced == unpriced, f"not priced: {', '.join(unpriced) or 'nothing'}"


def _by_kind(claim: Claim) -> dict[str, Fraction]:
    """USD a month by the name of the field that shows it."""
    fleet, nothing = claim.fleet, Fraction(0)
    hours = [(purchase, offer, paid_hours_per_month(claim, purchase, offer)) for purchase, offer in claim.bought]
    return {
        "compute": sum((Fraction(offer.price_usd_per_hour) * paid for _, offer, paid in hours), nothing),
        "storage": sum((disk_usd_per_hour(claim, offer) * paid for _, offer, paid in hours), nothing),
        "egress": sum((Fraction(d.egress_usd or 0) for d in fleet.deployments), nothing),
        "idle_gpus": sum((Fraction(p.monthly_cost_usd) * p.idle_gpus / p.gpus for p in fleet.purchases), nothing),
        **{use: sum((_by_use(claim, d, p)[use] for d, p, _ in claim.placed), nothing) for use in USES},
        "start_up": sum((_start_up(claim, *pair) for pair in claim.bought), nothing),
        "minimum_billing": sum((_minimum_billing(claim, *pair) for pair in claim.bought), nothing),
        "serverless": sum((Fraction(item.monthly_cost_usd) for item in fleet.hosted), nothing),
        "migration": Fraction(fleet.migration.one_time_cost_usd if fleet.migration else 0),
    }


def _by_use(claim: Claim, d: Deployment, purchase: Purchase) -> dict[str, Fraction]:
    """What its working GPUs cost by use: of its replicas' hours the busy ones, as far as predicted and beyond; of the
    others those that the policy keeps free, and the rest."""
    by_hour = [d.schedule[period] for period in claim.period_of_hour]
    running = sum(entry.replicas for entry in by_hour)
    busy = sum((entry.replicas * Fraction(repr(entry.utilization)) for entry in by_hour), Fraction(0)) / running
    paid = Fraction(d.monthly_cost_usd - (d.egress_usd or 0))
    working = paid * (purchase.gpus - purchase.idle_gpus) / purchase.gpus
    policy, most = claim.policy, Fraction(repr(d.max_requests_per_second))
    predicted = Fraction(repr(d.predicted_max_requests_per_second or d.max_requests_per_second))
    full = busy * Fraction(repr(policy.robust.demand)) / Fraction(repr(policy.robust.throughput))
    reserve = min(full / Fraction(repr(policy.max_utilization)), Fraction(1)) - busy
    shares = (busy * most / predicted, busy * (1 - most / predicted), reserve, 1 - busy - reserve, 1 - busy)
    return {use: working * share for use, share in zip(USES, shares, strict=True)}


def _start_up(claim: Claim, purchase: Purchase, offer: Offer) -> Fraction:
    """Hours in which instances start, at the price of the offer."""
    if offer.pricing_term in ALWAYS_PAID:
        return Fraction(0)
    return Fraction(offer.price_usd_per_hour) * started_hours_per_week(claim, purchase, offer) * WEEKS_PER_MONTH


def _minimum_billing(claim: Claim, purchase: Purchase, offer: Offer) -> Fraction:
    """Hours that are paid for beyond those that instances run, at the price of the offer."""
    by_hour = [purchase.schedule[period].instances for period in claim.period_of_hour]
    beyond = sum(run.hours * run.instances for run in purchase.runs) - sum(by_hour)
    return Fraction(offer.price_usd_per_hour) * max(beyond, 0) * WEEKS_PER_MONTH


def _proof(report: PlanReport) -> Findings:
    """The bound is none that the plan undercuts, and the gap is the one between them."""
    exact = not report.scope.not_considered
    yield report.scope.exact == exact, f"{len(report.scope.not_considered)} things were not considered"
    cost, bound, gap = _cheapest_usd(report), report.bound_usd, report.relative_gap
    yield report.outcome in ("optimal", "feasible"), f"the outcome is {report.outcome}"
    yield bool(report.verification.passed), "the plan was verified when it was written"
    if cost is None or bound is None or gap is None:
        yield report.outcome == "feasible", "an optimal plan has a bound"
        return
    yield bound <= cost, f"bound {bound:.2f} of {cost:.2f} USD a month"
    yield report.cheapest_usd in (None, cost), f"the cheapest costs {cost:.2f} USD a month"
    own = float((cost - bound) / cost) if cost else 0.0
    # The bound is rounded down to the cent
    close = abs(own - gap) <= float(CENT_TOLERANCE / cost if cost else 0) + WRITTEN.figure
    yield close, f"the gap is {own:.4%}, shown {gap:.4%}"


def _enough(claim: Claim, report: PlanReport) -> Findings:
    """A search that ended at a simple plan proved the cheapest to within what simplicity may cost."""
    cost, bound = report.monthly_cost_usd, report.bound_usd
    if report.simplicity is None or not report.simplicity.enough or cost is None:
        return
    most = (bound or Decimal(0)) * (1 + Decimal(repr(claim.policy.simplicity_percent)) / 100)
    yield cost <= most + 2 * CENT_TOLERANCE, f"{cost:.2f} USD a month, of at most {most:.2f} for its simplicity"


def _cheapest_usd(report: PlanReport) -> Decimal | None:
    """What the proof speaks of: the cheapest plan, which is the one shown where no other is named."""
    named = report.simplicity and report.simplicity.cheapest
    return named.monthly_cost_usd if named else report.monthly_cost_usd


def _inputs(claim: Claim, report: PlanReport) -> Findings:
    """What the plan says that it was made from is the scenario in it and the catalogs at hand."""
    for what, same in _same_inputs(claim, report):
        yield same, f"the {what} is that of the scenario and the catalogs"


def _same_inputs(claim: Claim, report: PlanReport) -> Iterator[tuple[str, bool]]:
    yield "name", report.scenario == claim.scenario.name
    yield "scenario", report.inputs.scenario_sha256 == inputs_of(claim.scenario, claim.catalogs).scenario_sha256
    yield "date of the catalogs", report.catalog_as_of == claim.catalogs.as_of
    days = [*(offer.as_of for _, offer in claim.bought), *(item.price_as_of for item in claim.fleet.hosted)]
    shown = report.prices_as_of
    yield "days of the prices", shown is None or (shown.oldest, shown.newest) == (min(days), max(days))
    yield "confidence", claim.same(report.confidence, claim.policy.confidence)
