"""One choice of a comparison as a row: its plan's cost by month, request and token, and how sure its prices are."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, get_args

from optimizer.answers.bill import bill_lines
from optimizer.answers.compare.types import Compared, StoppedBy
from optimizer.base.clock import Limit
from optimizer.base.figures import exactly
from optimizer.base.units import HOURS_PER_MONTH, HOURS_PER_WEEK, SECONDS_PER_HOUR, TOKENS_PER_MILLION
from optimizer.inputs.catalog.kinds import Confidence
from optimizer.inputs.catalog.records import Offer
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.periods import weekly_requests_per_second
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.readback.costs import costs
from optimizer.plan.readback.summary import summarized
from optimizer.plan.record.fields import difference_of_cents
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.variants.choices import Stop

CERTAINTY: Final = get_args(Confidence)
"""Kinds of prices, the surest first."""


@dataclass(frozen=True)
class Volume:
    """What a scenario asks in a month."""

    requests: Decimal
    input_tokens: Decimal
    output_tokens: Decimal


@dataclass(frozen=True)
class Ruler:
    """What every row is measured by: the question, its monthly volume and the unrestricted plan."""

    inquiry: Inquiry
    volume: Volume
    chosen: PlannedFleet | None

    @classmethod
    def of(cls, inquiry: Inquiry, chosen: PlannedFleet | None) -> "Ruler":
        """The ruler of a question."""
        return cls(inquiry, volume_of(inquiry.scenario), chosen)


def volume_of(scenario: Scenario) -> Volume:
    """Requests and tokens of a month: hours × requests/s × 3,600, times the classes' mean lengths."""
    # requests/s by hour of the week -> (workload,) requests of a month
    weeks = [weekly_requests_per_second(workload) for workload in scenario.workloads]
    requests = [sum(week) / HOURS_PER_WEEK * HOURS_PER_MONTH * SECONDS_PER_HOUR for week in weeks]
    by_workload = list(zip(requests, (workload.classes() for workload in scenario.workloads), strict=True))
    prompt = sum(count * sum(item.share * item.input_tokens for item in classes) for count, classes in by_workload)
    answer = sum(count * sum(item.share * item.output_tokens for item in classes) for count, classes in by_workload)
    return Volume(_exact(sum(requests)), _exact(prompt), _exact(answer))


def _exact(value: float) -> Decimal:
    return Decimal(repr(value))


def row(ruler: Ruler, name: str, answer: Answer, bought: PlannedFleet | None, stops: Sequence[Stop] = ()) -> Compared:
    """A choice with its plan; with stops it is one that the policy does not admit."""
    if bought is None:
        return row_without_plan(name, stops)
    cost, volume, bill = bought.monthly_cost_usd, ruler.volume, costs(bought, ruler.inquiry.scenario.policy)
    offers = _offers(answer.inquiry, bought)
    return Compared(
        choice=name,
        rank=None,
        verdict="not_admitted" if stops else "complies",
        outcome=answer.solution.outcome,
        monthly_cost_usd=cost,
        difference_usd=None if ruler.chosen is None else difference_of_cents(cost, ruler.chosen.monthly_cost_usd),
        cost_per_million_tokens_usd=cost / (volume.input_tokens + volume.output_tokens) * TOKENS_PER_MILLION,
        cost_per_million_output_tokens_usd=cost / volume.output_tokens * TOKENS_PER_MILLION,
        cost_per_request_usd=cost / volume.requests,
        gpus=sum(item.gpus for item in bought.purchases),
        idle_gpus=sum(item.idle_gpus for item in bought.purchases),
        idle_gpus_usd=bill.idle_gpus_usd,
        price_age_days=_oldest(ruler.inquiry, bought, offers),
        price_confidence=_least_certain(ruler.inquiry, bought, offers),
        performance=_performance(bought),
        discounts=_discounts(ruler.inquiry, offers),
        summary=summarized(bought),
        stopped_by=_stopped_by(stops),
        lines=bill_lines(bought, offers, ruler.inquiry.catalogs),
    )


def row_without_plan(name: str, stops: Sequence[Stop], limit: Limit | None = None) -> Compared:
    """A choice that cannot comply, with what stops it; or of which nothing is known, as a limit was reached."""
    if limit is not None:
        stops = [Stop("", f"not compared, the {limit} was reached")]
    return Compared(
        choice=name,
        rank=None,
        verdict="fails" if limit is None else "not_compared",
        outcome="infeasible" if limit is None else "unproven",
        monthly_cost_usd=None,
        difference_usd=None,
        cost_per_million_tokens_usd=None,
        cost_per_million_output_tokens_usd=None,
        cost_per_request_usd=None,
        gpus=None,
        idle_gpus=None,
        idle_gpus_usd=None,
        price_age_days=None,
        price_confidence="",
        performance="",
        discounts=[],
        summary="",
        stopped_by=_stopped_by(stops),
    )


def _stopped_by(stops: Sequence[Stop]) -> list[StoppedBy]:
    return [StoppedBy(requirement=item.requirement, text=item.text) for item in stops]


def _offers(inquiry: Inquiry, bought: PlannedFleet) -> list[Offer]:
    names = {item.offer for item in bought.purchases}
    return [offer for offer in inquiry.market.offers if offer.id in names]


def _oldest(inquiry: Inquiry, bought: PlannedFleet, offers: Sequence[Offer]) -> int:
    dates = [*(offer.as_of for offer in offers), *(item.price_as_of for item in bought.hosted)]
    return max((inquiry.catalogs.as_of - day).days for day in dates)


def _least_certain(inquiry: Inquiry, bought: PlannedFleet, offers: Sequence[Offer]) -> str:
    apis = {(item.provider, item.api) for item in bought.hosted}
    rows = [each for each in inquiry.catalogs.serverless if (each.provider, each.provider_model_name) in apis]
    sold = {(item.provider, item.name) for item in bought.containers}
    by_second = [each for each in inquiry.catalogs.per_second if (each.provider, each.name) in sold]
    known = [each.confidence for each in offers]
    known += [*(row.confidence for row in rows), *(row.confidence for row in by_second)]
    return max(known, key=CERTAINTY.index)


def _performance(bought: PlannedFleet) -> str:
    """The least that any of its speeds rests on."""
    rests_on = {d.provenance.performance for d in bought.deployments}
    if "estimated" in rests_on:
        return "estimated"
    if any(item.paid_by == "request" for item in bought.hosted):
        return "promised by the API's provider"
    return "measured" if rests_on == {"measured"} else "calibrated"


def _discounts(inquiry: Inquiry, offers: Sequence[Offer]) -> list[str]:
    applied = inquiry.catalogs.terms.discounts
    granted = [(offer, applied[offer.id].discount) for offer in offers if offer.id in applied]
    return sorted(
        {f"{o.provider} {o.gpu} {exactly(d.percent)} % off the list price" for o, d in granted if not d.private}
    )
