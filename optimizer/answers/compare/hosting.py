"""Rented, serverless, owned and hybrid beside one another: what each rests on and where the order flips."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby, zip_longest

from optimizer.answers.compare.rows import volume_of
from optimizer.answers.compare.types import (
    ApiPrice,
    BreakEven,
    DemandPoint,
    HostingFacts,
    OwnedCost,
    WinningUtilization,
)
from optimizer.answers.planning.verified_plan import verified_plan
from optimizer.base.clock import Limit, until_limit
from optimizer.base.figures import figure
from optimizer.base.units import MINUTES_PER_HOUR, SECONDS_PER_HOUR, SECONDS_PER_MONTH, WATTS_PER_KILOWATT
from optimizer.performance.per_second.sales import PER_SECOND
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.readback.outline import outlined
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.fleet import Deployment, Hosted, PlannedFleet
from optimizer.plan.record.simulation import BY_FORMULAS
from optimizer.plan.variants.choices import Tried
from optimizer.plan.variants.hosting import (
    HYBRID,
    OWN,
    RENTED,
    SERVERLESS,
    WAYS,
    Cost,
    Flip,
    cheaper_mix,
    cost_curves,
    factors,
    flips,
    per_request_usd,
    stands,
    tried_ways,
    ways_used,
)


@dataclass(frozen=True)
class Hostings:
    """Every way to host, tried, and the question they answer; the unrestricted plan comes first.

    Attributes:
        inquiry: The question.
        by_way: A mix that is no cheaper than what it may be made of has no place in it.
        needless_mix: That mix.
    """

    inquiry: Inquiry
    by_way: Mapping[str, Tried]
    needless_mix: Answer | None = None

    def plan(self, way: str) -> PlannedFleet | None:
        """The plan of one way; None where it has none."""
        answer = self.by_way[way].answer
        return None if answer is None else read_back(answer)


def hostings(inquiry: Inquiry, answer: Answer, chosen: PlannedFleet | None) -> Hostings:
    """Every way to host at the scenario's demand; the unrestricted plan stands under the way, or the ways, it uses.

    Raises:
        VerificationFailed: a plan did not survive independent arithmetic.
    """
    name = None if chosen is None else _name(inquiry, chosen)
    first = {} if name is None else {name: Tried(name, answer)}
    found = _worth_a_row(inquiry, first | tried_ways(inquiry) | first, name)
    for way, each in found.by_way.items():
        if each.answer is not None and way != name:
            verified_plan(each.answer)
    return found


def _name(inquiry: Inquiry, chosen: PlannedFleet) -> str:
    """The way, or the ways, that the unrestricted plan uses."""
    used = ways_used(chosen)
    everything = set(inquiry.scenario.policy.hosting) == set(WAYS[HYBRID])
    return used[0] if len(used) == 1 else HYBRID if everything else " + ".join(used)


def _worth_a_row(inquiry: Inquiry, by_way: Mapping[str, Tried], chosen: str | None) -> Hostings:
    """The ways without a mix that is no cheaper than one of them, which it may be made of."""
    mix = by_way[HYBRID].answer
    if mix is None or chosen == HYBRID:
        return Hostings(inquiry, by_way)
    answers = (each.answer for way, each in by_way.items() if way != HYBRID)
    others = [each for each in answers if each is not None and set(ways_used(outlined(each))) <= set(WAYS[HYBRID])]
    better = cheaper_mix(inquiry, mix, others)
    if better is not None:
        return Hostings(inquiry, {**by_way, HYBRID: better})
    return Hostings(inquiry, {way: each for way, each in by_way.items() if way != HYBRID}, mix)


def hosting_facts(found: Hostings) -> HostingFacts:
    """What the ways cost at other demands, where their order flips, and what the figures rest on."""
    curves = cost_curves(found.inquiry, found.by_way)
    by_api = found.plan(SERVERLESS)
    by_second = found.plan(PER_SECOND)
    requests = volume_of(found.inquiry.scenario).requests
    points, ended = until_limit(_point(curves, requests, factor) for factor in factors())
    found_flips, limit = until_limit(flips(curves))
    return HostingFacts(
        containers=list(by_second.containers) if by_second else [],
        apis=[] if by_api is None else [_api(found.inquiry, item) for item in by_api.hosted],
        owned=list(_owned(found)),
        curve=points,
        break_evens=list(_break_evens(found, found_flips, requests)),
        utilization=[] if by_api is None else list(_utilizations(found, by_api)),
        notes=list(_notes(found, curves)),
        not_worked_out=list(_left_out(found, points, ended, found_flips, limit)),
    )


def _left_out(
    found: Hostings, points: Sequence[DemandPoint], ended: Limit | None, flipped: Sequence[Flip], limit: Limit | None
) -> Iterator[str]:
    """Of the costs at other demands: ways of which nothing is known, demands after a limit, changes of order."""
    limits = {way: tried.limit for way, tried in found.by_way.items() if tried.limit is not None and way != HYBRID}
    for reached, ways in groupby(limits, key=lambda way: limits[way]):
        yield f"what {_either(list(ways))} costs at other demands: not worked out, the {reached} was reached"
    if ended is not None:
        missing = f"{len(factors()) - len(points)} of {len(factors())} demands"
        beyond = f", those beyond {points[-1].requests_per_month:,.0f} requests a month" if points else ""
        yield f"what each way costs at {missing}{beyond}: not worked out, the {ended} was reached"
    if limit is not None:
        yield f"where {'else ' if flipped else ''}the order flips: not worked out, the {limit} was reached"


def _either(ways: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(ways[:-1]), ways[-1])))


def _point(curves: Mapping[str, Callable[[float], Cost]], requests: Decimal, factor: float) -> DemandPoint:
    costs = {way: curve(factor) for way, curve in curves.items()}
    return DemandPoint(requests_per_month=float(requests) * factor, monthly_cost_usd=costs)


def _break_evens(found: Hostings, flipped: Sequence[Flip], requests: Decimal) -> Iterator[BreakEven]:
    """Each with both ways solved again on either side of it: plans that are only compared may be off by their gap."""
    proven = cost_curves(found.inquiry, found.by_way, proven=True)
    verdicts, _ = until_limit(stands(flip, proven) for flip in flipped)
    for flip, stood in zip_longest(flipped, verdicts):
        yield _break_even(flip, requests, stood)


def _break_even(flip: Flip, requests: Decimal, stood: bool | None) -> BreakEven:
    """One change of order; None where a limit was reached before it was solved again."""
    at, (low, high) = float(requests) * flip.factor, (float(requests) * side for side in flip.between)
    again = {
        None: "not solved again, a limit was reached",
        False: "the two cost too nearly the same there to say where",
        True: f"proven at {figure(low / float(requests))} and {figure(high / float(requests))} ×",
    }
    rarely = PER_SECOND in (flip.below, flip.above)
    by_minute = f" ({figure(at / SECONDS_PER_MONTH * SECONDS_PER_HOUR / MINUTES_PER_HOUR)} a minute)" if rarely else ""
    text = (
        f"up to {float(f'{at:.4g}'):,.0f} requests a month{by_minute} {flip.below} is cheaper, beyond it {flip.above} "
        f"(${flip.monthly_cost_usd:,.2f} there, {figure(flip.factor)} × the scenario's demand; {again[stood]})"
    )
    return BreakEven(
        below=flip.below,
        above=flip.above,
        requests_per_month=at,
        monthly_cost_usd=flip.monthly_cost_usd,
        solved_again_at=[low, high] if stood else [],
        text=text,
    )


def _api(inquiry: Inquiry, item: Hosted) -> ApiPrice:
    row = next(
        each
        for each in inquiry.catalogs.serverless
        if (each.provider, each.provider_model_name) == (item.provider, item.api)
    )
    return ApiPrice(
        workload=item.workload,
        request_class=item.request_class,
        provider=item.provider,
        api=item.api,
        usd_per_million_input_tokens=row.usd_per_million_input_tokens,
        usd_per_million_output_tokens=row.usd_per_million_output_tokens,
        usd_per_million_cached_input_tokens=row.usd_per_million_cached_input_tokens,
        usd_per_request=item.usd_per_request,
        requests_per_month=item.requests_per_month,
        monthly_cost_usd=item.monthly_cost_usd,
        price_as_of=item.price_as_of,
    )


def _owned(found: Hostings) -> Iterator[OwnedCost]:
    """Hardware of one's own that a plan uses; what it is made of only where its source is not private."""
    catalogs = found.inquiry.catalogs
    plans = (found.plan(way) for way in (OWN, *found.by_way))
    bought = next((plan.purchases for plan in plans if plan and OWN in ways_used(plan)), ())
    for item in bought:
        row = catalogs.terms.owned.get(item.offer)
        if row is None:
            continue
        rated_kw = Decimal(str(catalogs.gpus[row.gpu].tdp_w or 0)) * row.gpu_count / WATTS_PER_KILOWATT
        private = catalogs.sources[row.source].private
        parts = {} if private else row.parts_usd_per_month(rated_kw)
        yield OwnedCost(
            offer=item.offer,
            instances=item.instances,
            parts_usd={name: amount * item.instances for name, amount in parts.items()},
            monthly_cost_usd=item.monthly_cost_usd,
        )


def _utilizations(found: Hostings, by_api: PlannedFleet) -> Iterator[WinningUtilization]:
    """A fleet wins where the API would charge more for its requests than the fleet costs.

    Wins from: fleet's month ÷ (Σ requests it sustains × API price of a request). Planned: the API's month ÷ the same.
    """
    prices = per_request_usd(by_api)
    for way in (RENTED, OWN):
        fleet = found.plan(way)
        if fleet is None or fleet.hosted:
            continue
        full = sum((_worth_at_capacity(fleet, d, prices) for d in fleet.deployments), Decimal(0))
        wins, planned = float(fleet.monthly_cost_usd / full), float(by_api.monthly_cost_usd / full)
        beats = (
            f"beats the API from {wins:.1%}" if wins <= 1 else f"never beats the API: it would need {_beyond_all(wins)}"
        )
        load = f"the scenario's demand is {planned:.1%} of it"
        yield WinningUtilization(
            hosting=way,
            wins_from=wins,
            planned=planned,
            text=f"the {way} fleet {beats} of what it sustains; {load}",
        )


def _beyond_all(share: float) -> str:
    """A share above 1, in as many digits as it takes to read as more than all."""
    written = f"{share:.0%}" if share >= 1.005 else f"{share:.1%}"
    return written if share >= 1.0005 else "a little more than 100%"


def _worth_at_capacity(fleet: PlannedFleet, d: Deployment, prices: Mapping[tuple[str, str], Decimal]) -> Decimal:
    """What the requests that a deployment sustains in the hours it runs would cost by API."""
    worth = Decimal(0)
    for running, period in zip(d.schedule, fleet.periods, strict=True):
        requests = Decimal(repr(running.max_requests_per_second * period.hours_per_month * SECONDS_PER_HOUR))
        flows = running.requests_per_second_by_class
        shares = {name: flow / running.requests_per_second for name, flow in flows.items() if flow}
        shares = shares or {item.name: item.share for item in d.classes}
        worth += requests * sum((Decimal(repr(s)) * prices[d.workload, name] for name, s in shares.items()), Decimal(0))
    return worth


def _notes(found: Hostings, curves: Mapping[str, object]) -> Iterator[str]:
    if found.needless_mix is not None:
        proven = "costs less" if found.needless_mix.solution.outcome == "optimal" else "was found that costs less"
        yield f"no mix of {', '.join(WAYS[HYBRID])} hosting {proven} than the cheapest of them alone, or than the plan"
    if found.by_way[SERVERLESS].answer is not None:
        yield "nobody measured the latency of APIs or the precision they serve: both are their provider's promise"
        cached = [w.name for w in found.inquiry.scenario.workloads if w.cached_input_share]
        if cached:
            yield f"cached prompt tokens of {', '.join(cached)} count at the API's cached price where it has one"
    if OWN in curves:
        parts = "power × PUE, cooling, staff and space"
        yield f"owned hardware costs purchase less resale over its months (nothing where it is sunk), {parts}"
    if PER_SECOND in curves:
        yield "how long a container takes to start is a line through a few measured starts: measure yours"
    if {RENTED, OWN} & set(curves):
        yield BY_FORMULAS
        yield "rent and hardware leave out staff, storage and transfer unless the catalogs or the policy price them"
