"""Every configuration predicted for a scenario, from what is kept of scenarios before it where that is the same."""

from collections.abc import Sequence
from dataclasses import replace

from optimizer.base.clock import Clock
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.options import WorkloadOptions, evaluate, re_rated, variants
from optimizer.performance.market.market import Market
from optimizer.performance.uncertainty.evidence import Margins, margins
from optimizer.plan.question.dependence import levels_of, what_is_considered
from optimizer.plan.question.price_free import PredictedOptions, PriceFree


def predicted_for(
    scenario: Scenario, catalogs: Catalogs, offers: Market, clock: Clock, kept: PriceFree | None
) -> tuple[WorkloadOptions, ...]:
    """Every configuration as it is predicted for a scenario, or was for one that considers the same.

    Raises:
        LimitReached: the process holds all the memory that it may.
    """
    if kept is None:
        return evaluate(scenario, catalogs, offers, clock)
    asked, levels = (scenario.promises_latency, what_is_considered(scenario)), levels_of(scenario)
    known = kept.predicted(asked)
    if known is None:
        options = evaluate(scenario, catalogs, offers, clock)
    elif known.levels == levels:
        options = known.options
    else:
        options = at_levels(known.options, known.confidence, scenario, catalogs)
    kept.keep_predicted(asked, PredictedOptions(levels, scenario.policy.confidence, options))
    return for_workloads(options, scenario)


def at_levels(
    options: Sequence[WorkloadOptions], confidence: float, scenario: Scenario, catalogs: Catalogs
) -> tuple[WorkloadOptions, ...]:
    """Predictions that were made at some confidence for a scenario with other service levels or another one."""
    asked = scenario.policy.confidence
    return tuple(
        choice
        if asked == confidence and variant.workload.slo == choice.workload.slo
        else re_rated(choice, variant.workload, _margins(choice, confidence, asked, catalogs))
        for choice, variant in zip(options, variants(scenario), strict=True)
    )


def _margins(choice: WorkloadOptions, confidence: float, asked: float, catalogs: Catalogs) -> Margins:
    if asked == confidence:
        return choice.limits.margins
    return margins(catalogs, choice.distinct.categories, asked).take(choice.distinct.codes)


def for_workloads(options: Sequence[WorkloadOptions], scenario: Scenario) -> tuple[WorkloadOptions, ...]:
    """The same predictions for workloads that ask for another demand."""
    return tuple(replace(o, workload=v.workload) for o, v in zip(options, variants(scenario), strict=True))
