"""What the numbers rest on: the estimates with the most money at stake, and the measurement that would settle most."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.inputs.catalog.quality import SIXTEEN_BIT
from optimizer.inputs.scenario.scenario import CENTRAL_CONFIDENCE, Scenario
from optimizer.performance.candidates.options import PoolOptions, WorkloadOptions
from optimizer.performance.physics.setup import Configuration
from optimizer.performance.uncertainty.evidence import not_measured
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.narrowing import narrowed
from optimizer.plan.readback.readback import stands_for
from optimizer.plan.record.explanation import Benchmark, Estimate, Exposure
from optimizer.plan.record.fleet import PlannedFleet

MOST: Final = 3
"""Estimates told: more would hide which matters."""
MEASURED_S: Final = 600
"""A run of ten minutes holds enough requests for a 95th percentile."""
WORTH_USD: Final = 0.01


@dataclass(frozen=True)
class Group:
    """Configurations of one workload that one measurement speaks for: GPU, precision and engine, in one layout."""

    at: int
    """Position of the workload's options."""
    configuration: Configuration

    @property
    def kind(self) -> tuple[int, str, str, str]:
        """What is measured together: what is learned about one layout tells of the others."""
        return (self.at, self.configuration.gpu, self.configuration.precision, self.configuration.engine)

    def rows(self, options: WorkloadOptions) -> Flags:
        """(P,) the configurations of its kind."""
        alike = [(self.at, c.gpu, c.precision, c.engine) == self.kind for c in options.configurations]
        return np.array(alike, dtype=np.bool_)


def exposure(answer: Answer, chosen: PlannedFleet) -> Exposure:
    """Each estimate's stake by re-solve: the plan without what it speaks for, or with it at its central prediction.

    Args:
        answer: To the whole question.
        chosen: Its plan.
    """
    inquiry = answer.inquiry
    used = [
        Group(c.workload, inquiry.options[c.workload].configurations[c.configuration]) for c, _ in stands_for(answer)
    ]
    few, cost = narrowed(inquiry), float(chosen.monthly_cost_usd)
    bold = _at_central_prediction(few)
    in_plan = {group.kind for group in used}
    performance = [
        (_performance(few, bold, cost, group, group.kind in in_plan), group) for group in _groups(bold, used)
    ]
    others = [*_prices(few, chosen), *_qualities(few, chosen, used)]
    estimates = sorted([*(e for e, _ in performance), *others], key=lambda e: (-_stake(e), e.what))
    measurable = sorted(performance, key=lambda pair: (-_stake(pair[0]), pair[0].what))
    worth = [estimate for estimate in estimates if _stake(estimate) >= WORTH_USD]
    best = next((pair for pair in measurable if _stake(pair[0]) >= WORTH_USD), None)
    return Exposure(estimates=worth[:MOST], benchmark=None if best is None else _benchmark(few, bold, *best))


def _stake(estimate: Estimate) -> float:
    return max(estimate.saves_usd or 0.0, estimate.costs_usd or 0.0)


def _at_central_prediction(inquiry: Inquiry) -> Inquiry:
    policy = inquiry.scenario.policy.model_copy(update={"confidence": CENTRAL_CONFIDENCE})
    return inquiry.changed(inquiry.scenario.model_copy(update={"policy": policy}))


def _groups(bold: Inquiry, used: Sequence[Group]) -> list[Group]:
    """What the plan runs, and what a plan on central predictions would run."""
    answer = bold.solved()
    uses = answer.used if answer.solution.outcome == "optimal" else ()
    columns = [use.column for use in uses]
    others = [Group(c.workload, bold.options[c.workload].configurations[c.configuration]) for c in columns]
    kinds = {group.kind: group for group in reversed((*used, *others))}
    return [kinds[key] for key in sorted(kinds)]


def _cost(inquiry: Inquiry, keep: Sequence[Flags] | None = None) -> float | None:
    return inquiry.solved(keep).solution.cost_usd_per_month


def _without(inquiry: Inquiry, at: int, rows: Flags) -> list[Flags]:
    return [
        ~rows if position == at else np.ones(len(options.configurations), dtype=np.bool_)
        for position, options in enumerate(inquiry.options)
    ]


def _performance(inquiry: Inquiry, bold: Inquiry, cost: float, group: Group, in_plan: bool) -> Estimate:
    options, c = inquiry.options[group.at], group.configuration
    rows = group.rows(options)
    better = _cost(_partly_bold(inquiry, bold, group.at, rows))
    worse = _cost(inquiry, _without(inquiry, group.at, rows)) if in_plan else None
    missing = not_measured(inquiry.catalogs, c)
    known = f"estimated, nobody measured {', '.join(missing)}" if missing else "calibrated on public measurements"
    what = f"{options.workload.name}: speed of {c.model} {c.precision} on {c.gpu} with {c.engine}"
    return _estimate("performance", what, known, cost, better, worse, in_plan)


def _estimate(
    kind: str, what: str, known: str, cost: float, better: float | None, worse: float | None, in_plan: bool
) -> Estimate:
    saves = None if better is None or cost - better < WORTH_USD else cost - better
    costs = None if worse is None or worse - cost < WORTH_USD else worse - cost
    said = [f"if the central prediction is true ${better:,.2f} a month would do (−${saves:,.2f})"] if saves else []
    said += [f"without it ${worse:,.2f} (+${costs:,.2f})"] if costs else []
    said += ["without it no plan"] if in_plan and worse is None else []
    return Estimate.model_validate(
        {
            "kind": kind,
            "what": what,
            "rests_on": known,
            "in_plan": in_plan,
            "saves_usd": saves,
            "costs_usd": costs,
            "text": f"{what} ({known}): {'; '.join(said) or 'nothing hangs on it'}",
        }
    )


def _partly_bold(inquiry: Inquiry, bold: Inquiry, at: int, rows: Flags) -> Inquiry:
    """The inquiry with some of a workload's configurations at their central prediction."""
    plain, free = inquiry.options[at], bold.options[at]
    pools = tuple(_mixed(own, other, rows) for own, other in zip(plain.pools, free.pools, strict=True))
    options = (*inquiry.options[:at], replace(plain, pools=pools), *inquiry.options[at + 1 :])
    return replace(inquiry, options=options)


def _mixed(plain: PoolOptions, free: PoolOptions, rows: Flags) -> PoolOptions:
    return replace(
        plain,
        failed=np.where(rows[:, None], free.failed, plain.failed),
        value=np.where(rows[:, None], free.value, plain.value),
        rate_per_s=np.where(rows, free.rate_per_s, plain.rate_per_s),
        limited_by=np.where(rows, free.limited_by, plain.limited_by),
    )


def _prices(inquiry: Inquiry, chosen: PlannedFleet) -> Iterator[Estimate]:
    """Prices that are derived, quoted or old: what the month costs where the offer is not to be had."""
    policy, market = inquiry.scenario.policy, inquiry.market
    for purchase in chosen.purchases:
        at = next((k for k, offer in enumerate(market.offers) if offer.id == purchase.offer), None)
        if at is None:
            continue
        offer = market.offers[at]
        age_days = (inquiry.catalogs.as_of - offer.as_of).days
        doubts = [f"{age_days} days old"] if age_days > policy.flag_price_age_days else []
        doubts += [f"{offer.confidence}, not listed"] if offer.confidence != "listed" else []
        if doubts:
            failed = market.failed.copy()
            failed[at] = True
            worse = _cost(replace(inquiry, market=replace(market, failed=failed)))
            what = f"price of {offer.gpu_count}×{offer.gpu} at {offer.provider} {offer.region}"
            yield _estimate("price", what, " and ".join(doubts), float(chosen.monthly_cost_usd), None, worse, True)


def _qualities(inquiry: Inquiry, chosen: PlannedFleet, used: Sequence[Group]) -> Iterator[Estimate]:
    """Precisions below 16 bits where quality is asked for: what the month costs where it does not hold."""
    told = set()
    for group, deployment in zip(used, chosen.deployments, strict=True):
        options, key = inquiry.options[group.at], (group.at, deployment.precision)
        whole = deployment.precision in SIXTEEN_BIT or (deployment.quality or 0) >= 1
        if options.workload.min_quality is None or whole or key in told:
            continue
        told.add(key)
        rows = np.array([c.precision == deployment.precision for c in options.configurations], dtype=np.bool_)
        worse = _cost(inquiry, _without(inquiry, group.at, rows))
        what = f"{options.workload.name}: quality of {deployment.precision}"
        cost = float(chosen.monthly_cost_usd)
        yield _estimate("quality", what, deployment.provenance.quality, cost, None, worse, True)


def _benchmark(inquiry: Inquiry, bold: Inquiry, estimate: Estimate, group: Group) -> Benchmark:
    """At the load that a replica carries in the plan that it would confirm, with the room that the policy asks for."""
    options, rows = inquiry.options[group.at], group.rows(inquiry.options[group.at])
    confirmed = _partly_bold(inquiry, bold, group.at, rows) if estimate.saves_usd else inquiry
    answer = confirmed.solved()
    uses = [use for use in answer.used if use.column.workload == group.at and rows[use.column.configuration]]
    use = max(uses, key=lambda use: use.flow_per_s[use.busiest])
    c, mix = options.configurations[use.column.configuration], answer.services[answer.used.index(use)][use.busiest].mix
    carried = use.flow_per_s[use.busiest] / max(use.replicas[use.busiest], 1)
    rate = carried / inquiry.scenario.policy.max_utilization
    prompt, reply = (round(float(mix.share @ tokens)) for tokens in (mix.input_tokens, mix.output_tokens))
    command = (
        f"vllm bench serve --backend openai --base-url http://HOST:8000 --model {options.model.hf_id} "
        f"--dataset-name random --random-input-len {prompt} --random-output-len {reply} "
        f"--request-rate {rate:.3g} --num-prompts {max(math.ceil(rate * MEASURED_S), 1)} "
        "--percentile-metrics ttft,tpot,e2el --metric-percentiles 50,90,95,99"
    )
    where = f"{c.model} {c.precision} on {c.tensor_parallel * c.pipeline_parallel}×{c.gpu} with {c.engine}"
    kept = _limits(inquiry.scenario, options.workload.name) or "no failed request"
    cost = answer.solution.cost_usd_per_month or 0.0
    effect = f"a plan of ${cost:,.2f} a month would do" if estimate.saves_usd else "the plan is sure to stand"
    text = f"one replica of {where}, KV {c.kv_precision}, at {rate:.3g} req/s: if it keeps {kept}, {effect}"
    return Benchmark(configuration=where, command=command, settles=estimate.what, text=text)


def _limits(scenario: Scenario, name: str) -> str:
    slo = next(workload.slo for workload in scenario.workloads if workload.name == name)
    named = (("TTFT", slo.ttft_ms), ("TPOT", slo.tpot_ms), ("end to end", slo.e2e_ms))
    return ", ".join(
        f"{label} {statistic} ≤ {limit:g} ms"
        for label, latency in named
        for statistic, limit in (latency.limits_ms() if latency else {}).items()
    )
