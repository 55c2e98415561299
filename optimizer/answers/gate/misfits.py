"""Everything in which a plan of before contradicts itself, as far as no catalog is needed to see it."""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from optimizer.answers.gate.baseline import GatePlan
from optimizer.base.figures import exactly
from optimizer.plan.record.fields import CENT
from optimizer.plan.record.origin import content_sha256
from optimizer.plan.record.report import SCHEMA_VERSION

WRITTEN_BY: Final = "write it with optimizer plan SCENARIO --format json --output FILE"
EDITED: Final = f"somebody edited the file; {WRITTEN_BY}"
FIGURE: Final = Decimal("1e-5")
"""How far a figure of six digits may be off, as a share of it."""

Misfit = tuple[str, str, str]
"""A field, what does not fit, and how to mend it."""


def misfits(plan: GatePlan) -> Iterator[Misfit]:
    """Everything in which a plan contradicts itself, or that this version cannot know the meaning of."""
    if plan.schema_version != SCHEMA_VERSION:
        problem = f"schema version {plan.schema_version}, this program reads {SCHEMA_VERSION}"
        yield "schema_version", problem, f"plan it again with this version: {WRITTEN_BY}"
        return
    if (plan.monthly_cost_usd is None) == (plan.outcome in ("optimal", "feasible")):
        cost = "no cost" if plan.monthly_cost_usd is None else "a cost"
        yield "monthly_cost_usd", f"the outcome is {plan.outcome} with {cost}", EDITED
    if plan.inputs is not None:
        if content_sha256(plan.inputs.scenario) != plan.inputs.scenario_sha256:
            yield "inputs.scenario", "is not what inputs.scenario_sha256 was taken of", EDITED
        if plan.inputs.scenario.get("name") != plan.scenario:
            yield "scenario", f"{plan.scenario} was planned from {plan.inputs.scenario.get('name')}", EDITED
    yield from _wrong_lines(plan)
    yield from _not_bought(plan)
    yield from _too_many(plan)
    if plan.monthly_cost_usd is not None:
        yield from _wrong_sums(plan, plan.monthly_cost_usd)


def _wrong_lines(plan: GatePlan) -> Iterator[Misfit]:
    """Instances at their price, hour by hour, and none that runs unpaid."""
    hours_of = {period.period: Decimal(repr(period.hours_per_month)) for period in plan.periods}
    for number, paid in enumerate(plan.purchases):
        hours = Decimal(repr(paid.instance_hours_per_month))
        due = hours * (paid.price_usd_per_hour + paid.storage_usd_per_hour)
        if abs(due - paid.monthly_cost_usd) > CENT + due * FIGURE:
            problem = f"{paid.monthly_cost_usd:.2f}, but price times hours is {due:.2f} ({paid.offer})"
            yield f"purchases[{number}].monthly_cost_usd", problem, EDITED
        run = sum(
            (running.instances * hours_of.get(running.period, Decimal(0)) for running in paid.schedule), Decimal(0)
        )
        if hours < run * (1 - FIGURE):
            problem = f"{exactly(float(hours))}, but its schedule runs {exactly(float(run))} ({paid.offer})"
            yield f"purchases[{number}].instance_hours_per_month", problem, EDITED


def _not_bought(plan: GatePlan) -> Iterator[Misfit]:
    """What runs stands on what is bought, at its price, with as many replicas as its schedule says."""
    prices = {paid.offer: paid.price_usd_per_hour for paid in plan.purchases}
    for number, d in enumerate(plan.deployments):
        field = f"deployments[{number}]"
        if not d.gpus_per_instance:
            # versions that did not record it
            continue
        if d.offer not in prices:
            yield field, f"runs on {d.offer}, which no purchase is of", EDITED
        elif d.price_usd_per_hour not in (None, prices[d.offer]):
            problem = f"{d.price_usd_per_hour}, but {d.offer} is bought at {prices[d.offer]}"
            yield f"{field}.price_usd_per_hour", problem, EDITED
        if d.tensor_parallel and d.pipeline_parallel and d.gpus_per_replica != d.tensor_parallel * d.pipeline_parallel:
            problem = (
                f"{d.gpus_per_replica}, but its degrees of parallelism take {d.tensor_parallel * d.pipeline_parallel}"
            )
            yield f"{field}.gpus_per_replica", problem, EDITED
        scheduled = {entry.replicas for entry in d.schedule}
        if scheduled and d.replicas not in scheduled:
            yield f"{field}.replicas", f"{d.replicas}, but its schedule runs {max(scheduled)} at most", EDITED


def _too_many(plan: GatePlan) -> Iterator[Misfit]:
    """In no period do replicas take more GPUs than the instances have that are bought for them."""
    for number, paid in enumerate(plan.purchases):
        held = [d for d in plan.deployments if d.offer == paid.offer]
        taken = Counter[int]()
        for d in held:
            taken.update({entry.period: entry.replicas * d.gpus_per_replica for entry in d.schedule})
        for running in paid.schedule if held else ():
            gpus = running.instances * held[0].gpus_per_instance
            if taken[running.period] > gpus:
                problem = f"replicas on {taken[running.period]} GPUs of {paid.offer} where {gpus} are bought"
                yield f"purchases[{number}].schedule[{running.period}]", problem, EDITED


def _wrong_sums(plan: GatePlan, shown: Decimal) -> Iterator[Misfit]:
    """What runs, what is bought for it, and the bill by kind, each add up to the month."""
    if plan.costs is None:
        yield "costs", "a plan that costs something has its bill by kind here", EDITED
        return
    once = [plan.migration.one_time_cost_usd] if plan.migration else []
    instances = [each.monthly_cost_usd for each in plan.deployments]
    bought = [each.monthly_cost_usd for each in plan.purchases]
    requests = [each.monthly_cost_usd for each in plan.hosted]
    sent = [] if plan.costs.egress_usd is None else [plan.costs.egress_usd]
    sums = {
        "deployments, hosted APIs and changes": [*instances, *requests, *once],
        "purchases, hosted APIs, egress and changes": [*bought, *requests, *sent, *once],
        "costs by kind": [amount for _, amount in plan.costs if amount is not None],
    }
    for what, amounts in sums.items():
        total = sum(amounts, Decimal(0))
        if abs(total - shown) > CENT * (len(amounts) + 1):
            yield "monthly_cost_usd", f"{shown:.2f}, but {what} add up to {total:.2f}", EDITED
