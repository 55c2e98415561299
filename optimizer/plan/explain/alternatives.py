"""Which other plans are asked for beside the chosen one: next best, opted in, survivors of a loss, rules of thumb."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import get_args

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.base.clock import Clock, LimitReached
from optimizer.base.figures import exactly
from optimizer.inputs.catalog.entries.engines import counted_drafts
from optimizer.inputs.catalog.entries.models import Model
from optimizer.inputs.catalog.kinds import OWNED, SellerKind
from optimizer.inputs.catalog.quality import SIXTEEN_BIT, alike_in_quality
from optimizer.inputs.requirements.avoided import SPEED
from optimizer.inputs.requirements.stated import stated_requirements, with_field
from optimizer.inputs.scenario.scenario import CENTRAL_CONFIDENCE
from optimizer.performance.candidates.avoiding import letting_in
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.candidates.pools import MIXED
from optimizer.performance.physics.setup import Configuration
from optimizer.performance.uncertainty.evidence import drafting, own_measured, unmeasured
from optimizer.plan.explain.comparing import (
    Held,
    LeastCostAlone,
    SideQuestion,
    that_holds,
    told,
    unchanged,
    without_plan,
)
from optimizer.plan.explain.losses import instance_lost
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.narrowing import left_with
from optimizer.plan.question.simplifying import simplified
from optimizer.plan.question.solving import less_than, solved_for_least_cost
from optimizer.plan.record.explanation import Alternative
from optimizer.plan.record.fleet import PlannedFleet

LARGE_MODEL_PARAMS_B = 34.0
"""Where the rule of thumb stops trusting one mid-range GPU."""
FAST_TTFT_MS = 100.0
FEW_DRAFTED = 3
"""Tokens of a draft up to which it is asked for beside a plan: longer ones rarely pay where several requests run."""

_WHAT_RUNS = attrgetter("engine", "model", "gpu", "precision", "tensor_parallel", "pipeline_parallel")


def next_best(inquiry: Inquiry, chosen: PlannedFleet) -> Iterator[SideQuestion]:
    """The cheapest plans of one configuration, and without the chosen GPUs, providers, precisions, or estimates.

    They are asked for without the budget, as the rule of thumb is: what is too dear is of interest, too.
    A plan without machines has none of these to leave out, so nothing is compared then. The inquiry may be narrowed
    here, for the rule of thumb and for the central prediction: none of them admits an offer or lifts a criterion that
    service levels do not decide.
    """
    if not chosen.deployments:
        return
    workloads = len(inquiry.scenario.workloads)
    if len(chosen.deployments) > workloads:
        # who asks for one configuration wants one seller, too, where that costs as little more as simplicity may
        uniform = partial(replace(inquiry, shown=None).under_policy, max_distinct_configurations=workloads)
        yield SideQuestion("configurations", "with one configuration per workload", uniform)
    gpus = sorted({d.gpu for d in chosen.deployments})
    yield SideQuestion("gpu", f"without {', '.join(gpus)}", lambda: inquiry, _without(inquiry, "gpu", gpus))
    providers = sorted({d.provider for d in chosen.deployments})
    denied = (*inquiry.scenario.policy.providers.deny, *providers)
    lists = inquiry.scenario.policy.providers.model_copy(update={"deny": denied}).model_dump()
    yield SideQuestion("provider", f"without {', '.join(providers)}", partial(inquiry.under_policy, providers=lists))
    precisions = sorted({name for d in chosen.deployments for name in alike_in_quality(d.precision)})
    without = _without(inquiry, "precision", precisions)
    yield SideQuestion("precision", f"without {', '.join(precisions)}", lambda: inquiry, without)
    yield from _measured(inquiry, chosen)
    if any(d.provenance.price_confidence != "listed" for d in chosen.deployments if d.provider != OWNED):
        stated = partial(inquiry.under_policy, price_confidence=("listed",))
        yield SideQuestion("listed", "at listed prices alone", stated)
    if any(d.pool == MIXED for d in chosen.deployments):
        apart = partial(inquiry.under_policy, mix_classes=False)
        yield SideQuestion("mix_classes", "with every replica in a mix that was predicted", apart)


def _measured(inquiry: Inquiry, chosen: PlannedFleet) -> Iterator[SideQuestion]:
    """The cheapest plan that rests on no estimate of speed, where the chosen one does."""
    if chosen.hosted or not any(d.provenance.performance == "estimated" for d in chosen.deployments):
        return
    distinct = [choice.distinct for choice in inquiry.options]
    keep = tuple(each.by_row(~_guessed(inquiry, each.categories), np.bool_) for each in distinct)
    yield SideQuestion("measured", "on what was measured", lambda: inquiry, keep)


def _guessed(inquiry: Inquiry, configurations: Sequence[Configuration]) -> Flags:
    """Whether nobody measured each configuration's like, (n,): a draft that the scenario names is an estimate, too."""
    drafts = drafting(configurations) & ~own_measured(inquiry.catalogs, configurations)
    return unmeasured(inquiry.catalogs, configurations) | drafts


def _without(inquiry: Inquiry, field: str, names: Sequence[str]) -> tuple[Flags, ...]:
    return tuple(choice.distinct.passing(lambda c: getattr(c, field) not in names) for choice in inquiry.options)


def opportunities(inquiry: Inquiry) -> Iterator[SideQuestion]:
    """What each thing that the policy leaves out by default would save; the inquiry is not narrowed."""
    policy = inquiry.scenario.policy
    asked: list[tuple[str, str, dict[str, object]]] = []
    if "spot" not in policy.pricing_terms:
        asked.append(("spot", "spot instances", _with("pricing_terms", policy, "spot")))
    committed = ("committed", "reserved_1y", "reserved_3y")
    if not set(committed) & set(policy.pricing_terms):
        asked.append(("commitment", "commitments of 1 month to 3 years", _with("pricing_terms", policy, *committed)))
    if set(get_args(SellerKind)) - set(policy.sellers):
        wider = "sellers of any kind"
        asked.append(("sellers", wider, {"sellers": get_args(SellerKind)}))
    if not policy.consumer_gpus:
        asked.append(("consumer_gpus", "gaming cards, not licensed for data centres", {"consumer_gpus": True}))
    if "seed" not in policy.price_confidence:
        asked.append(("seed", "prices that only articles quote", _with("price_confidence", policy, "seed")))
    if policy.max_price_age_days is not None:
        years = f"prices older than {policy.max_price_age_days} days"
        asked.append(("old_prices", years, {"max_price_age_days": None}))
    if SPEED in inquiry.avoided or policy.unmeasured_performance == "reject":
        bolder = replace(inquiry, options=tuple(letting_in(choice, "measured") for choice in inquiry.options))
        yield SideQuestion("unmeasured", "on speeds that nobody measured", lambda: bolder, admits_more=True)
    yield from _with_drafts(inquiry)
    for kind, words, changes in asked:
        yield SideQuestion(kind, f"with {words}", partial(inquiry.under_policy, **changes), admits_more=True)


def _with_drafts(inquiry: Inquiry) -> Iterator[SideQuestion]:
    """Speculative decoding where the scenario names none and somebody counted what it keeps of the model."""
    catalogs, scenario = inquiry.catalogs, inquiry.scenario
    if scenario.policy.unmeasured_performance == "reject":
        return
    counted = [
        workload.speculation or counted_drafts(catalogs.acceptance, catalogs.model(workload.model).id, FEW_DRAFTED)
        for workload in scenario.workloads
    ]
    new = dict.fromkeys(
        draft.name
        for workload, drafts in zip(scenario.workloads, counted, strict=True)
        for draft in drafts
        if not workload.speculation
    )
    if new:
        pairs = zip(scenario.workloads, counted, strict=True)
        workloads = tuple(each.model_copy(update={"speculation": drafts}) for each, drafts in pairs)
        drafting = partial(inquiry.changed, scenario.model_copy(update={"workloads": workloads}))
        yield SideQuestion("speculation", f"with drafts ({', '.join(new)})", drafting, admits_more=True)


def availability(inquiry: Inquiry, within: Clock, chosen: PlannedFleet, held: Held) -> Iterator[Alternative]:
    """What surviving the loss of any instance would cost, where no promise includes it yet.

    Most plans survive it soonest with more of what they run, or buy: what that costs leaves few candidates for all
    others. Where it is not known within a part of the clock that nothing costs less, it is what it costs at most.
    """
    policy = inquiry.scenario.policy
    if not chosen.deployments or {"instance", "region", "provider"} & set(policy.losses):
        return
    change, lost = "so that any one instance may fail", instance_lost(inquiry.scenario, chosen)
    if lost is not None and lost.share_left >= 1:
        yield unchanged("availability", change, chosen)
        return
    asked = inquiry.under_policy(availability="none", survive={"loss_of": (*policy.losses, "instance")})
    own = left_with(asked, [purchase.offer for purchase in chosen.purchases])
    timed = replace(asked, clock=within)
    known: Answer | None = None
    settled = False
    try:
        known = solved_for_least_cost(own, _running(own, chosen))
        for few in (replace(own, clock=within), timed):
            cost_usd = known.solution.cost_usd_per_month
            answer = solved_for_least_cost(few, known_usd=less_than(cost_usd))
            known = known if cost_usd is not None and answer.solution.cost_usd_per_month is None else answer
            settled = few is timed and answer.solution.outcome in ("optimal", "infeasible")
        # among all candidates, of which those that were looked at first are some
        known = simplified(replace(known, inquiry=replace(timed, options=known.inquiry.options)))
        known = that_holds(timed, known, lambda again: simplified(solved_for_least_cost(again)), held)
    except LeastCostAlone as reached:
        yield without_plan("availability", change, "unproven", f"not compared, {reached}")
        return
    except LimitReached as reached:
        if known is None or known.solution.cost_usd_per_month is None:
            yield without_plan("availability", change, "unproven", f"not compared, {reached}")
            return
    yield told("availability", change, chosen, known, at_most=not settled)


def _running(inquiry: Inquiry, chosen: PlannedFleet) -> tuple[Flags, ...]:
    """By entry of the options (P,) whether the plan runs a configuration, in whatever precision of its cache."""
    own = {_WHAT_RUNS(deployment) for deployment in chosen.deployments}
    return tuple(choice.distinct.passing(lambda c: _WHAT_RUNS(c) in own) for choice in inquiry.options)


def insurance(inquiry: Inquiry) -> dict[str, SideQuestion]:
    """What each promise beyond the service levels costs: by the field that makes it, the plan without."""
    asked = [item for item in stated_requirements(inquiry.scenario) if item.requirement.promise]
    priced = {}
    for field, item in {item.requirement.promised_as or item.field: item for item in asked}.items():
        scenario = with_field(inquiry.scenario, field, None if item.requirement.promised_as else item.without)
        words = f"with {item.requirement.promise}{f' of {item.workload}' if item.workload else ''}"
        priced[field] = SideQuestion(
            field.rpartition(".")[2], words, partial(inquiry.changed, scenario), admits_more=True
        )
    return priced


def _with(field: str, policy: object, *extra: str) -> dict[str, object]:
    return {field: (*getattr(policy, field), *extra)}


def central_prediction(inquiry: Inquiry) -> Iterator[SideQuestion]:
    """What planning on the central prediction would cost: the price of the chosen confidence."""
    confidence = inquiry.scenario.policy.confidence
    if confidence <= CENTRAL_CONFIDENCE:
        return
    policy = inquiry.scenario.policy.model_copy(update={"confidence": CENTRAL_CONFIDENCE})
    bold = partial(inquiry.changed, inquiry.scenario.model_copy(update={"policy": policy}))
    words = f"without the {exactly(confidence * 100)} % margin on predictions"
    yield SideQuestion("confidence", words, bold, admits_more=True)


def rule_of_thumb(inquiry: Inquiry) -> Iterator[SideQuestion]:
    """The articles' decision rule as a baseline: what a plan under the same requirements costs when following it.

    Above 34B parameters a quantized model on H100 or A100; else an H100 where the first token is due within 100 ms;
    else an A100 or L40S. It says what to rent, so that nothing is paid by its use.
    """
    machines = tuple(kind for kind in inquiry.scenario.policy.hosting if kind not in ("serverless", "per_second"))
    if not machines:
        return
    rules = [_rule(choice.model, choice) for choice in inquiry.options]
    keep = tuple(
        np.array([allowed(choice, c) for c in range(len(choice.configurations))], dtype=bool)
        for choice, (_, allowed) in zip(inquiry.options, rules, strict=True)
    )
    words, rent = "; ".join(dict.fromkeys(text for text, _ in rules)), partial(inquiry.under_policy, hosting=machines)
    yield SideQuestion("rule_of_thumb", f"rule of thumb: {words}", rent, keep)


def _rule(model: Model, choice: WorkloadOptions) -> tuple[str, Callable[[WorkloadOptions, int], bool]]:
    ttft = choice.workload.slo.ttft_ms
    urgent = ttft is not None and min(ttft.limits_ms().values()) < FAST_TTFT_MS
    if model.total_params_b > LARGE_MODEL_PARAMS_B:
        return "quantized on H100 or A100", lambda o, c: _on(o, c, "h100-", "a100-") and not _sixteen_bit(o, c)
    if urgent:
        return "H100", lambda o, c: _on(o, c, "h100-")
    return "A100 or L40S", lambda o, c: _on(o, c, "a100-", "l40s")


def _on(choice: WorkloadOptions, row: int, *prefixes: str) -> bool:
    return choice.configurations[row].gpu.startswith(prefixes)


def _sixteen_bit(choice: WorkloadOptions, row: int) -> bool:
    return choice.configurations[row].precision in SIXTEEN_BIT
