"""Ways to host one scenario, alone and mixed: which plan each has, and at which demand the order of costs flips."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations, pairwise
from typing import Final

from optimizer.base.clock import LimitReached
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.policy import Hosting
from optimizer.inputs.scenario.scenario import Scenario, Workload
from optimizer.performance.candidates.apis import apis, asks_for_quality
from optimizer.performance.market.criteria import API_CRITERIA, OFFER_CRITERIA
from optimizer.performance.per_second.sales import PER_SECOND, refusals
from optimizer.plan.explain.pricing import SAME_COST
from optimizer.plan.grounds.filters import NOTHING_OWNED
from optimizer.plan.question.by_second import containers_of, sold_to
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.narrowing import narrowed
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.outline import outlined
from optimizer.plan.record.fleet import Outline, PlannedFleet
from optimizer.plan.variants.choices import SOLVED, Stop, Tried, stopping_limits

RENTED, SERVERLESS, OWN, HYBRID = "rented", "serverless", "owned", "hybrid"
WAYS: Final[Mapping[str, tuple[Hosting, ...]]] = {
    RENTED: ("rented",),
    SERVERLESS: ("serverless",),
    OWN: ("owned",),
    PER_SECOND: ("per_second",),
    HYBRID: ("rented", "serverless", "owned"),
}
"""Ways to host, with what each may buy."""
PAID_BY: Final = {"request": SERVERLESS, "second": PER_SECOND}
"""The way that a hosted request is bought in."""

OCTAVES: Final = 5
"""The order of costs is looked at from 1/32 of the scenario's demand to 32 times it, in steps of two."""
NEAR: Final = 1.01
"""Ratio to which a flip is bracketed before it is interpolated."""

Cost = Decimal | None


@dataclass(frozen=True)
class Flip:
    """Where one way to host stops being cheaper than another.

    Attributes:
        below: The cheaper one at less demand.
        above: The cheaper one at more.
        factor: On the scenario's demand.
        monthly_cost_usd: Of the one that takes over, there.
        between: Factors on either side, between which the order changes.
    """

    below: str
    above: str
    factor: float
    monthly_cost_usd: Decimal
    between: tuple[float, float]


def hosted(inquiry: Inquiry, way: str) -> Inquiry:
    """The same candidates where only that way to host is admitted; of APIs, those of unknown precision, too."""
    changed = inquiry.under_policy(hosting=WAYS[way])
    if way not in (SERVERLESS, HYBRID):
        return changed
    accepting = tuple(each.model_copy(update={"unknown_quality": "accept"}) for each in inquiry.scenario.workloads)
    return replace(changed, scenario=changed.scenario.model_copy(update={"workloads": accepting}))


def tried_ways(inquiry: Inquiry) -> dict[str, Tried]:
    """Each way to host with its best plan, and what had to be lifted for it or stops it."""
    found = {}
    for number, way in enumerate(WAYS):
        # half of what is left of a limit is for how the ways compare at other demands
        in_turn = replace(inquiry, clock=inquiry.clock.share(0.5 / (len(WAYS) - number)))
        found[way] = _tried_in_time(in_turn, way)
    return found


def _tried_in_time(inquiry: Inquiry, way: str) -> Tried:
    if (limit := inquiry.clock.reached) is not None:
        return Tried(way, None, limit=limit)
    try:
        return _tried(inquiry, way)
    except LimitReached as reached:
        return Tried(way, None, limit=reached.limit)


def _tried(inquiry: Inquiry, way: str) -> Tried:
    question = hosted(inquiry, way)
    stops = missing(question, way)
    if stops:
        return Tried(way, None, stops)
    answer = solved(question)
    if answer.solution.outcome in SOLVED:
        return Tried(way, answer, tuple(_lifted(inquiry, outlined(answer))))
    if answer.solution.ended_by is not None:
        return Tried(way, None, limit=answer.solution.ended_by)
    limits = stopping_limits(question.beside_a_plan(question.clock))
    stops = tuple(Stop(field, f"{field} rules it out") for field in limits)
    few = f"there is not enough {way} hardware for the demand" if way == OWN else answer.solution.reason
    return Tried(way, None, stops or (Stop("", few),))


def _lifted(inquiry: Inquiry, plan: Outline) -> Iterator[Stop]:
    """What the scenario asks that keeps a plan out: of what it uses, and no more."""
    admitted = inquiry.scenario.policy.hosting
    barred = [way for way in ways_used(plan) if way not in admitted]
    if barred:
        yield Stop("policy.hosting", f"policy.hosting does not admit {', '.join(barred)}")
    by_api = {item.workload for item in plan.hosted if PAID_BY[item.paid_by] == SERVERLESS}
    for workload in inquiry.scenario.workloads:
        if workload.name in by_api and asks_for_quality(workload):
            path = f"workloads[{workload.name}].unknown_quality"
            yield Stop(path, f"{path} rejects APIs: the precision that they serve is not published")


def ways_used(plan: Outline) -> list[str]:
    """The ways to host that a plan mixes."""
    machines = {OWN if each.provider == OWN else RENTED for each in plan.deployments}
    return sorted(machines | {PAID_BY[item.paid_by] for item in plan.hosted})


def cheaper_mix(inquiry: Inquiry, mix: Answer, others: Collection[Answer]) -> Tried | None:
    """A mix of ways that costs less than each of the others, which it may be made of: as it is shown, or its cheapest.

    Every way is shown by the simplest plan that costs little more than its cheapest, so that of a mix may be dearer
    than a way that it may use. None where no mix is cheaper.
    """
    shown_usd = min((_usd(each) for each in others), default=None)
    least_usd = min((_usd(each.cheapest or each) for each in others), default=None)
    for answer, usd in ((mix, shown_usd), (mix.cheapest, least_usd)):
        if answer is not None and (usd is None or _usd(answer) < usd - SAME_COST):
            return Tried(HYBRID, answer, tuple(_lifted(inquiry, outlined(answer))))
    return None


def _usd(answer: Answer) -> Decimal:
    return outlined(answer).monthly_cost_usd


def missing(question: Inquiry, way: str) -> tuple[Stop, ...]:
    """Why there is nothing of this kind to buy."""
    if way == OWN and not question.catalogs.terms.owned:
        return (Stop("", NOTHING_OWNED),)
    if way == SERVERLESS:
        return tuple(_not_by_api(question.scenario, question.catalogs))
    if way == PER_SECOND:
        return tuple(_not_by_second(question))
    if way != HYBRID and not question.market.admitted.any():
        return (Stop("", f"the policy admits no {way} offer"),)
    return ()


def _not_by_api(scenario: Scenario, catalogs: Catalogs) -> Iterator[Stop]:
    """What keeps each workload that no API serves from being sent to one."""
    found = apis(scenario, catalogs)
    for workload in scenario.workloads:
        served = {api.class_index for api in found.admitted if api.workload == workload.name}
        if len(served) == len(workload.classes()):
            continue
        alone = apis(scenario.model_copy(update={"workloads": (workload,)}), catalogs)
        criteria = [item for item in API_CRITERIA if item.name in alone.rejected]
        if not criteria:
            yield Stop("", f"{workload.name}: no API of {_models(workload)} has a price in the catalogs")
        for item in criteria:
            yield Stop(item.field(workload.name), f"{workload.name}: APIs fail “{item.sentence}”")


def _not_by_second(question: Inquiry) -> Iterator[Stop]:
    """What keeps each workload that no container serves from being served by the second."""
    for field in refusals(question.scenario):
        yield Stop(field, f"{field} asks for what is not promised, or not planned, of containers paid by the second")
    if refusals(question.scenario):
        return
    served = {each.choice.workload.name for each in containers_of(question)}
    left_out = [workload for workload in question.scenario.workloads if workload.name not in served]
    market = sold_to(question).market
    # a criterion that no container passes, of those that a field of the policy loosens
    failing = [item for number, item in enumerate(OFFER_CRITERIA) if market.failed[:, number].all()]
    for workload in left_out:
        for item in failing:
            yield Stop(item.field(workload.name), f"{workload.name}: containers fail “{item.sentence}”")
        if not failing:
            yield Stop("", f"{workload.name}: no admitted container holds {_models(workload)} within its limits")


def _models(workload: Workload) -> str:
    return " or ".join([workload.model, *(item.model for item in workload.alternatives)])


def at_demand(scenario: Scenario, factor: float) -> Scenario:
    """The scenario with every workload's demand times a factor, its shape over the week unchanged."""
    return scenario.model_copy(update={"workloads": tuple(_scaled(each, factor) for each in scenario.workloads)})


def _scaled(workload: Workload, factor: float) -> Workload:
    if workload.demand is None:
        rate = (workload.requests_per_second or 0.0) * factor
        return workload.model_copy(update={"requests_per_second": rate, "deadline": None})
    fields = {"weekly_requests_per_second": tuple(rate * factor for rate in workload.demand.weekly())}
    demand = workload.demand.model_copy(update={"hourly": None, "peak_requests_per_second": None, **fields})
    return workload.model_copy(update={"demand": demand, "deadline": None})


def cost_curves(
    inquiry: Inquiry, found: Mapping[str, Tried], *, proven: bool = False
) -> dict[str, Callable[[float], Cost]]:
    """The month's cost of each way alone, by factor on the demand; by API it is the price times the requests.

    Machines are solved again at every factor, to within the gap of plans that are only compared, or to a proof.
    """
    curves: dict[str, Callable[[float], Cost]] = {}
    for way in (RENTED, OWN, SERVERLESS, PER_SECOND):
        answer = found[way].answer
        if answer is None:
            continue
        if way == SERVERLESS:
            curves[way] = _line(outlined(answer).monthly_cost_usd)
        else:
            curves[way] = _steps(narrowed(replace(hosted(inquiry, way), close_enough=not proven, insists=False)))
    return curves


def _line(usd_per_month: Decimal) -> Callable[[float], Cost]:
    return lambda factor: usd_per_month * Decimal(repr(factor))


def _steps(inquiry: Inquiry) -> Callable[[float], Cost]:
    known: dict[float, Cost] = {}

    def cost(factor: float) -> Cost:
        if factor not in known:
            answer = solved(replace(inquiry, scenario=at_demand(inquiry.scenario, factor)))
            known[factor] = outlined(answer).monthly_cost_usd if answer.solution.outcome in SOLVED else None
        return known[factor]

    return cost


def factors() -> tuple[float, ...]:
    """The demands at which ways are compared, as factors on the scenario's."""
    return tuple(2.0**octave for octave in range(-OCTAVES, OCTAVES + 1))


def flips(curves: Mapping[str, Callable[[float], Cost]]) -> Iterator[Flip]:
    """Every change of order between two ways on the grid of factors, each narrowed by bisection."""
    for one, other in combinations(sorted(curves), 2):
        for low, high in pairwise(factors()):
            first, last = (_cheaper(curves, one, other, at) for at in (low, high))
            if first and last and first != last:
                yield _flip(curves, (first, last), low, high)


def _cheaper(curves: Mapping[str, Callable[[float], Cost]], one: str, other: str, factor: float) -> str | None:
    """The cheaper of two ways, one without a plan never; None where they cost the same or have none."""
    first, second = curves[one](factor), curves[other](factor)
    if first == second:
        return None
    if first is None or second is None:
        return one if second is None else other
    return one if first < second else other


def _flip(curves: Mapping[str, Callable[[float], Cost]], order: Sequence[str], low: float, high: float) -> Flip:
    """The crossing in a bracket: halved by ratio, then on the straight line between its ends.

    Exact where the machines are the same at both ends: one cost is flat there and the other in proportion.
    """
    below, above = order
    while high > NEAR * low:
        middle = (low * high) ** 0.5
        if _cheaper(curves, below, above, middle) == above:
            high = middle
        else:
            low = middle
    ends = [(curves[below](at), curves[above](at)) for at in (low, high)]
    (low_below, low_above), (high_below, high_above) = ends
    if low_below is None or low_above is None or high_below is None or high_above is None:
        cost = high_above if high_above is not None else low_below
        return Flip(below, above, high, cost if cost is not None else Decimal(0), (low, high))
    lead, lag = low_above - low_below, high_below - high_above
    share = float(lead / (lead + lag)) if lead + lag else 0.0
    cost = low_above + (high_above - low_above) * Decimal(repr(share))
    return Flip(below, above, low + share * (high - low), cost, (low, high))


def stands(flip: Flip, curves: Mapping[str, Callable[[float], Cost]]) -> bool:
    """Whether the order on either side of a flip is the same on other curves."""
    sides = zip(flip.between, (flip.below, flip.above), strict=True)
    return all(_cheaper(curves, flip.below, flip.above, at) == cheaper for at, cheaper in sides)


def per_request_usd(by_api: PlannedFleet) -> dict[tuple[str, str], Decimal]:
    """What a request costs by API, by workload and class; the dearest where several serve it."""
    prices: dict[tuple[str, str], Decimal] = {}
    for item in by_api.hosted:
        key = (item.workload, item.request_class)
        prices[key] = max(prices.get(key, Decimal(0)), item.usd_per_request)
    return prices
