"""One dimension of a plan cut into its choices, each solved alone: what it costs, or which requirements stop it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal

import numpy as np

from optimizer.base.clock import Limit, LimitReached
from optimizer.inputs.catalog.kinds import OWNED
from optimizer.inputs.requirements.registry import BY_NAME
from optimizer.inputs.requirements.stated import waivable
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA, OFFER_CRITERIA
from optimizer.plan.explain.conflict import plan_without
from optimizer.plan.question.batches import solved_at_best_hours
from optimizer.plan.question.forcing import Choice, forced
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.record.fleet import Deployment
from optimizer.plan.variants.shortfalls import shortfalls

Dimension = Literal["provider", "gpu", "precision", "pricing_term", "region"]
"""What a comparison may be cut by; hosting has a comparison of its own."""

LIFTABLE: Final = frozenset(
    item.name
    for item in (*CONFIGURATION_CRITERIA, *OFFER_CRITERIA)
    if item.requirement and BY_NAME[item.requirement].opens
)
"""Criteria by which a policy leaves out whole kinds of offers, and what nobody measured or published: lifting them
leaves every service level as it is.

Lists of names (providers, GPUs, regions, precisions) are somebody's decision and stay.
"""

SOLVED: Final = ("optimal", "feasible")


@dataclass(frozen=True)
class Stop:
    """What keeps a choice from serving the scenario.

    Attributes:
        requirement: Path of the field that would let it in; empty where no scenario can.
        text: The same in words.
    """

    requirement: str
    text: str


@dataclass(frozen=True)
class Tried:
    """A choice and its best plan.

    Attributes:
        name: The choice as people call it.
        answer: None where nothing serves the scenario.
        stops: What the choice fails; with an answer, the policies that were lifted for it.
        limit: The limit of the clock that was reached before anything was known of it; None where something is.
    """

    name: str
    answer: Answer | None
    stops: tuple[Stop, ...] = ()
    limit: Limit | None = None


def value_of(by: Dimension, deployment: Deployment) -> str:
    """What a deployment is along the dimension; regions are told apart by provider."""
    return f"{deployment.provider} {deployment.region}" if by == "region" else str(getattr(deployment, by))


def choices_of(by: Dimension, inquiry: Inquiry) -> dict[str, Choice]:
    """Every choice along the dimension that an offer or a configuration of the catalogs stands for, by name."""
    offers = inquiry.market.offers
    if by == "region":
        pairs = sorted({(offer.provider, offer.region) for offer in offers})
        return {f"{provider} {region}": Choice(provider=provider, region=region) for provider, region in pairs}
    if by == "precision":
        names = sorted({c.precision for options in inquiry.options for c in options.distinct.categories})
        return {name: Choice(precision=name) for name in names}
    if by == "gpu":
        return {name: Choice(gpu=name) for name in sorted({offer.gpu for offer in offers})}
    if by == "provider":
        return {name: Choice(provider=name) for name in sorted({offer.provider for offer in offers})}
    terms = sorted({offer.pricing_term for offer in offers if offer.provider != OWNED})
    return {name: Choice(pricing_term=name) for name in terms}


def mixes_of(used: Sequence[str], inquiry: Inquiry) -> dict[str, Choice]:
    """Where a plan needs several providers: all but one of them, and every two of them alone, by name."""
    everyone = {offer.provider for offer in inquiry.market.offers}
    without = {f"without {name}": Choice(provider=frozenset(everyone - {name})) for name in used}
    pairs = {f"{a} + {b}": Choice(provider=frozenset((a, b))) for a, b in combinations(used, 2)}
    return without | (pairs if len(used) > 2 else {})


def tried(inquiry: Inquiry, whole: Inquiry, name: str, choice: Choice) -> Tried:
    """The best plan on nothing but the choice, or on it with the policies lifted that bar it, or what stops it.

    Args:
        inquiry: The scenario with what no change of its limits could admit left out: solves are quick.
        whole: The same with every configuration, so that failures can be told.
        name: What to call the choice.
        choice: What the fleet is restricted to.
    """
    if (limit := inquiry.clock.reached) is not None:
        return Tried(name, None, limit=limit)
    try:
        return _tried(inquiry, whole, name, choice)
    except LimitReached as reached:
        return Tried(name, None, limit=reached.limit)


def _tried(inquiry: Inquiry, whole: Inquiry, name: str, choice: Choice) -> Tried:
    proposal = forced(inquiry, choice)
    if proposal is not None and _is_served(proposal):
        answer = _solved(proposal)
        if answer.solution.outcome in SOLVED:
            return Tried(name, answer)
        return Tried(name, None, tuple(_fleet_stops(proposal.beside_a_plan(proposal.clock))))
    failed = shortfalls(whole, choice)
    stops = tuple(Stop(item.requirement, item.text) for item in failed)
    barred = {item.criterion for item in failed}
    if not barred or not barred <= LIFTABLE:
        return Tried(name, None, stops or (Stop("", "no configuration of the workloads' models exists on it"),))
    admitted = forced(whole, choice, barred)
    if admitted is None or not _is_served(admitted):
        return Tried(name, None, stops)
    answer = _solved(admitted)
    return Tried(name, answer if answer.solution.outcome in SOLVED else None, stops)


def _solved(inquiry: Inquiry) -> Answer:
    """The best plan found, or the proof that there is none.

    Raises:
        LimitReached: neither was found in time.
    """
    answer = solved_at_best_hours(inquiry)
    if answer.solution.outcome not in SOLVED and answer.solution.ended_by is not None:
        raise LimitReached(answer.solution.ended_by)
    return answer


def _is_served(inquiry: Inquiry) -> bool:
    """Whether every workload has a configuration that passes every criterion on an admitted offer, in some pool."""
    admitted = inquiry.market.admitted
    served = set()
    for options in inquiry.options:
        on_offer = np.any(options.fits[:, admitted], axis=1)[options.kind]
        if any((pool.passed & on_offer).any() for pool in options.pools):
            served.add(options.workload.name)
    return all(workload.name in served for workload in inquiry.scenario.workloads)


def _fleet_stops(inquiry: Inquiry) -> Iterator[Stop]:
    """The limits on the fleet that together rule out every plan; all of them needed, none to spare."""
    fields = stopping_limits(inquiry)
    for field in fields:
        others = ", ".join(_short(other) for other in fields if other != field)
        yield Stop(field, f"{field} rules out every fleet of it{f', together with {others}' if others else ''}")
    if not fields:
        yield Stop("", "there are not enough instances of it for the demand")


def _short(field: str) -> str:
    return field.removeprefix("policy.")


def stopping_limits(inquiry: Inquiry) -> tuple[str, ...]:
    """A smallest set of limits on the fleet (paths) without which an infeasible inquiry has a plan; empty if none."""
    needed = [item for item in waivable(inquiry.scenario) if item.written and item.requirement.decides == "fleet"]
    if not needed or plan_without(inquiry, needed) is None:
        return ()
    for item in tuple(needed):
        fewer = [other for other in needed if other is not item]
        if fewer and plan_without(inquiry, fewer) is not None:
            needed = fewer
    return tuple(item.field for item in needed)
