"""What the numbers rest on: the estimates with the most money at stake, and the measurement that would settle most."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final, Literal

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.inputs.catalog.quality import SIXTEEN_BIT
from optimizer.inputs.scenario.scenario import CENTRAL_CONFIDENCE
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.candidates.selecting import partly
from optimizer.performance.physics.setup import Configuration
from optimizer.performance.uncertainty.evidence import own_measured, performance_of
from optimizer.plan.benchmark.runs import BenchmarkRun, runs_of
from optimizer.plan.grounds.benchmark import commands_of, configuration_of, limits_in_words, load_in_words
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.narrowing import narrowed
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.readback import read_back, stands_for
from optimizer.plan.record.explanation import Benchmark, Estimate, Exposure
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.program.problem.columns import Column

MAX_ESTIMATES: Final = 3
"""More would hide which matters."""
WORTH_USD: Final = 0.01


@dataclass(frozen=True)
class Measurable:
    """Configurations of one workload that one measurement speaks for: GPU, precision and engine, in one layout."""

    workload: int
    """Position of the workload's options."""
    configuration: Configuration

    @property
    def key(self) -> tuple[int, str, str, str]:
        """What is measured together: what is learned about one layout tells of the others."""
        return (self.workload, self.configuration.gpu, self.configuration.precision, self.configuration.engine)

    def rows(self, options: WorkloadOptions) -> Flags:
        """(P,) the configurations that are measured together."""
        return options.distinct.passing(lambda c: Measurable(self.workload, c).key == self.key)


def exposure(answer: Answer, chosen: PlannedFleet) -> Exposure:
    """Each estimate's stake by re-solve: the plan without what it speaks for, or with it at its central prediction.

    Args:
        answer: To the whole question.
        chosen: Its plan.
    """
    inquiry = answer.inquiry
    used = _measurables(inquiry, (column for column, _ in stands_for(answer)))
    few, cost = narrowed(inquiry), float(chosen.monthly_cost_usd)
    central = _at_central_prediction(few)
    in_plan = {group.key for group in used}
    performance = {
        _performance(few, central, group, cost=cost, in_plan=group.key in in_plan): group
        for group in _of_either_plan(central, used)
    }
    estimates = [*performance, *_prices(few, chosen), *_qualities(few, chosen, used)]
    worth = sorted((e for e in estimates if e.saves_usd or e.costs_usd), key=_largest_stake_first)
    # what was measured already is not measured first
    known = [each for each, group in performance.items() if own_measured(few.catalogs, [group.configuration])[0]]
    best = next((estimate for estimate in worth if estimate in performance and estimate not in known), None)
    benchmark = None if best is None else _benchmark(few, central, best, performance[best])
    return Exposure(estimates=worth[:MAX_ESTIMATES], benchmark=benchmark)


def _largest_stake_first(estimate: Estimate) -> tuple[float, str]:
    return -max(estimate.saves_usd or 0.0, estimate.costs_usd or 0.0), estimate.what


def _of_either_plan(central: Inquiry, used: Sequence[Measurable]) -> list[Measurable]:
    """What the plan runs, in its layout, and what else a plan on central predictions would run; one of each key."""
    answer = solved(central)
    uses = answer.used if answer.solution.outcome == "optimal" else ()
    others = _measurables(central, [use.column for use in uses])
    groups = {group.key: group for group in reversed([*used, *others])}
    return [groups[key] for key in sorted(groups)]


def _measurables(inquiry: Inquiry, columns: Iterable[Column]) -> list[Measurable]:
    return [
        Measurable(column.workload, inquiry.options[column.workload].configurations[column.configuration])
        for column in columns
    ]


def _at_central_prediction(inquiry: Inquiry) -> Inquiry:
    policy = inquiry.scenario.policy.model_copy(update={"confidence": CENTRAL_CONFIDENCE})
    return inquiry.changed(inquiry.scenario.model_copy(update={"policy": policy}))


def _cost(inquiry: Inquiry) -> float | None:
    return solved(inquiry).solution.cost_usd_per_month


def _cost_without(inquiry: Inquiry, workload: int, rows: Flags) -> float | None:
    """What the month costs where one workload cannot use some of its configurations."""
    keep = [np.ones(len(options.configurations), dtype=np.bool_) for options in inquiry.options]
    keep[workload] = ~rows
    return solved(inquiry, keep).solution.cost_usd_per_month


def _performance(inquiry: Inquiry, central: Inquiry, group: Measurable, *, cost: float, in_plan: bool) -> Estimate:
    options, c = inquiry.options[group.workload], group.configuration
    rows = group.rows(options)
    performance, note = performance_of(inquiry.catalogs, c)
    return _estimate(
        "performance",
        f"{options.workload.name}: speed of {c.model} {c.precision} on {c.gpu} with {c.engine}",
        {"estimated": f"estimated, {note}", "measured": f"measured {note}"}.get(
            performance, "calibrated on public measurements"
        ),
        cost=cost,
        better=_cost(_partly_central(inquiry, central, group.workload, rows)),
        worse=_cost_without(inquiry, group.workload, rows) if in_plan else None,
        in_plan=in_plan,
    )


def _estimate(
    kind: Literal["performance", "price", "quality"],
    what: str,
    rests_on: str,
    *,
    cost: float,
    better: float | None = None,
    worse: float | None,
    in_plan: bool = True,
) -> Estimate:
    """What hangs on an estimate.

    Args:
        kind: Of the estimate.
        what: What is estimated.
        rests_on: What the estimate comes from.
        cost: Of the plan, USD a month; so for the next two.
        better: Where the central prediction is true; None where there is none.
        worse: Without what the estimate speaks for; None where that leaves no plan.
        in_plan: Whether the plan uses what it speaks for.
    """
    saves = None if better is None or cost - better < WORTH_USD else cost - better
    costs = None if worse is None or worse - cost < WORTH_USD else worse - cost
    effects = [
        f"if the central prediction is true ${better:,.2f} a month would do (−${saves:,.2f})" if saves else "",
        f"without it ${worse:,.2f} (+${costs:,.2f})" if costs else "",
        "without it no plan" if in_plan and worse is None else "",
    ]
    return Estimate(
        kind=kind,
        what=what,
        rests_on=rests_on,
        in_plan=in_plan,
        saves_usd=saves,
        costs_usd=costs,
        text=f"{what} ({rests_on}): {'; '.join(filter(None, effects)) or 'nothing hangs on it'}",
    )


def _partly_central(inquiry: Inquiry, central: Inquiry, workload: int, rows: Flags) -> Inquiry:
    """The inquiry with some of a workload's configurations at their central prediction."""
    options = list(inquiry.options)
    options[workload] = partly(options[workload], central.options[workload], rows)
    return replace(inquiry, options=tuple(options))


def _prices(inquiry: Inquiry, chosen: PlannedFleet) -> Iterator[Estimate]:
    """Prices that are derived, quoted or old: what the month costs where the offer is not to be had."""
    policy, market = inquiry.scenario.policy, inquiry.market
    positions = {offer.id: position for position, offer in enumerate(market.offers)}
    for position in (positions[purchase.offer] for purchase in chosen.purchases if purchase.offer in positions):
        offer = market.offers[position]
        age_days = (inquiry.catalogs.as_of - offer.as_of).days
        seller = inquiry.catalogs.terms.seller_kind(offer.provider, offer.provider_kind)
        doubts = [f"{age_days} days old"] if age_days >= policy.flagged_from_days(seller) else []
        doubts += [f"{offer.confidence}, not listed"] if offer.confidence != "listed" else []
        if doubts:
            failed = market.failed.copy()
            failed[position] = True
            yield _estimate(
                "price",
                f"price of {offer.gpu_count}×{offer.gpu} at {offer.provider} {offer.region}",
                " and ".join(doubts),
                cost=float(chosen.monthly_cost_usd),
                worse=_cost(replace(inquiry, market=replace(market, failed=failed))),
            )


def _qualities(inquiry: Inquiry, chosen: PlannedFleet, used: Sequence[Measurable]) -> Iterator[Estimate]:
    """Precisions below 16 bits where quality is asked for: what the month costs where it does not hold."""
    quality = {(group.workload, d.precision): d for group, d in zip(used, chosen.deployments, strict=True)}
    for (workload, precision), d in quality.items():
        options = inquiry.options[workload]
        if options.workload.has_quality_floor and precision not in SIXTEEN_BIT and (d.quality or 0) < 1:
            rows = options.distinct.by_row([c.precision == precision for c in options.distinct.categories], np.bool_)
            yield _estimate(
                "quality",
                f"{options.workload.name}: quality of {precision}",
                d.provenance.quality,
                cost=float(chosen.monthly_cost_usd),
                worse=_cost_without(inquiry, workload, rows),
            )


def _benchmark(inquiry: Inquiry, central: Inquiry, estimate: Estimate, group: Measurable) -> Benchmark | None:
    """At the load that a replica carries in the plan that it would confirm; None where that plan does without it."""
    answer = solved(
        _partly_central(inquiry, central, group.workload, group.rows(inquiry.options[group.workload]))
        if estimate.saves_usd
        else inquiry
    )
    cost = answer.solution.cost_usd_per_month or 0.0
    effect = f"a plan of ${cost:,.2f} a month would do" if estimate.saves_usd else "the plan is sure to stand"
    runs = [
        run for run in runs_of(inquiry.scenario, inquiry.catalogs, read_back(answer)) if _is_of(run, group, inquiry)
    ]
    if not runs:
        return None
    # of several deployments of the group, the one that carries most
    busiest = max(runs, key=attrgetter("rate_per_s")).deployment_name
    mine = [run for run in runs if run.deployment_name == busiest]
    limits = limits_in_words(mine) or "no failed request"
    return Benchmark(
        configuration=configuration_of(mine[0]),
        command=commands_of(mine),
        settles=estimate.what,
        text=f"{load_in_words(mine)}: if it keeps {limits}, {effect}",
    )


def _is_of(run: BenchmarkRun, group: Measurable, inquiry: Inquiry) -> bool:
    """Whether a run measures what an estimate is about."""
    own = (inquiry.options[group.workload].workload.name, *group.key[1:])
    return (run.d.workload, run.d.gpu, run.d.precision, run.d.engine) == own
