"""Ways to tamper with a finished plan, for the tests that see it rejected."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from optimizer.plan.record.fleet import (
    Deployment,
    EngineStart,
    Hosted,
    InstanceLayout,
    PeriodInstances,
    PeriodReplicas,
    PlacedInstances,
    Purchase,
)
from optimizer.plan.verify.claim import Claim
from support.scenarios import with_policy, with_workload

Mutation = Callable[[Claim], Claim]


def decided(claim: Claim, **changes: Any) -> Claim:
    """The same scenario with something else bought, run or charged."""
    return replace(claim, fleet=replace(claim.fleet, **changes))


def first_deployment(claim: Claim, **changes: object) -> Claim:
    first, *others = claim.fleet.deployments
    return decided(claim, deployments=[first.model_copy(update=changes), *others])


def priced_by(claim: Claim, **changes: object) -> Claim:
    """Something else told of where the first deployment's price comes from."""
    return first_deployment(claim, provenance=claim.fleet.deployments[0].provenance.model_copy(update=changes))


def starting_with(claim: Claim, **changes: object) -> EngineStart:
    """What the first deployment's engine starts with, told otherwise."""
    return claim.fleet.deployments[0].engine_starts_with.model_copy(update=changes)


def deployments(claim: Claim, change: Callable[[Deployment], Mapping[str, object]]) -> Claim:
    return decided(claim, deployments=[d.model_copy(update=change(d)) for d in claim.fleet.deployments])


def purchases(claim: Claim, change: Callable[[Purchase], Mapping[str, object]]) -> Claim:
    return decided(claim, purchases=[p.model_copy(update=change(p)) for p in claim.fleet.purchases])


def hosted(claim: Claim, change: Callable[[Hosted], Mapping[str, object]]) -> Claim:
    return decided(claim, hosted=[h.model_copy(update=change(h)) for h in claim.fleet.hosted])


def policy(**changes: object) -> Mutation:
    """The same plan under a changed policy."""
    return lambda claim: replace(claim, scenario=with_policy(claim.scenario, **changes))


def workload(**changes: object) -> Mutation:
    """The same plan for a changed first workload."""
    return lambda claim: replace(claim, scenario=with_workload(claim.scenario, **changes))


def paying(claim: Claim, month: Callable[[Purchase], Decimal]) -> Claim:
    """Other amounts for what is bought, with a total and shares of deployments that agree with them."""
    less = sum((p.monthly_cost_usd - month(p) for p in claim.fleet.purchases), Decimal(0))
    cheaper = purchases(claim, lambda p: {"monthly_cost_usd": month(p)})
    shared = first_deployment(cheaper, monthly_cost_usd=claim.fleet.deployments[0].monthly_cost_usd - less)
    return decided(shared, monthly_cost_usd=claim.fleet.monthly_cost_usd - less)


def with_another_offer(claim: Claim) -> Claim:
    """What is bought, and the same of an offer on which nothing runs."""
    (bought,) = claim.fleet.purchases
    other = next(offer.id for offer in claim.catalogs.offers if offer.id != bought.offer)
    return decided(claim, purchases=(bought, bought.model_copy(update={"offer": other})))


def half_runs(claim: Claim) -> Claim:
    """Each run of paid hours told as two: the same hours, but shorter than what is billed at least."""

    def halves(p: Purchase) -> dict[str, object]:
        first = [run.model_copy(update={"hours": run.hours // 2}) for run in p.runs]
        second = [
            run.model_copy(
                update={"first_hour": (run.first_hour + run.hours // 2) % 168, "hours": run.hours - run.hours // 2}
            )
            for run in p.runs
        ]
        return {"runs": [*first, *second]}

    return purchases(claim, halves)


def loading(claim: Claim, factor: int) -> Claim:
    """So many times the replicas on each instance."""

    def fuller(layout: InstanceLayout) -> InstanceLayout:
        more = [item.model_copy(update={"replicas": factor * item.replicas}) for item in layout.contents]
        return layout.model_copy(update={"contents": more})

    return purchases(claim, lambda p: {"layouts": [fuller(layout) for layout in p.layouts]})


def more_standing(claim: Claim) -> Claim:
    """One instance more with each layout."""

    def more(layout: InstanceLayout) -> InstanceLayout:
        schedule = [item.model_copy(update={"instances": item.instances + 1}) for item in layout.schedule]
        return layout.model_copy(update={"schedule": schedule})

    return purchases(claim, lambda p: {"layouts": [more(layout) for layout in p.layouts]})


def standing(claim: Claim, change: Callable[[PeriodInstances], Mapping[str, object]]) -> Claim:
    """Something else told of each layout's instances in each period."""

    def told(layout: InstanceLayout) -> InstanceLayout:
        return layout.model_copy(
            update={"schedule": [item.model_copy(update=change(item)) for item in layout.schedule]}
        )

    return purchases(claim, lambda p: {"layouts": [told(layout) for layout in p.layouts]})


def holding_less_than_none(layout: InstanceLayout) -> InstanceLayout:
    """Fewer instances than none with a layout, which is the same as more of others."""
    schedule = [item.model_copy(update={"instances": -1}) for item in layout.schedule]
    return layout.model_copy(update={"contents": [], "schedule": schedule})


def loaded_anew(claim: Claim, period: int = 1) -> Claim:
    """One instance of a layout less in a period, and one more of another layout."""

    def moved(p: Purchase) -> dict[str, object]:
        lender, borrower, *others = p.layouts
        less = [
            item.model_copy(update={"instances": item.instances - (item.period == period)}) for item in lender.schedule
        ]
        more = [
            item.model_copy(update={"instances": item.instances + (item.period == period)})
            for item in borrower.schedule
        ]
        layouts = [lender.model_copy(update={"schedule": less}), borrower.model_copy(update={"schedule": more})]
        return {"layouts": [*layouts, *others]}

    return purchases(claim, moved)


def one_run_less(claim: Claim) -> Claim:
    """Less is paid for, with hours, amounts and a total that agree."""
    runs = {p.offer: p.runs[1:] for p in claim.fleet.purchases}
    saved = {
        p.offer: Decimal(sum(r.hours * r.instances for r in p.runs[:1])) * 730 / 168 for p in claim.fleet.purchases
    }
    hours = {p.offer: Decimal(repr(p.instance_hours_per_month)) - saved[p.offer] for p in claim.fleet.purchases}
    shorter = purchases(claim, lambda p: {"runs": runs[p.offer], "instance_hours_per_month": float(hours[p.offer])})
    return paying(shorter, lambda p: p.monthly_cost_usd - p.price_usd_per_hour * saved[p.offer])


def egress_price(claim: Claim, usd_per_gb: str) -> Claim:
    """Another price of egress in the catalogs than the plan was made with."""
    rows = tuple(
        row.model_copy(update={"value": Decimal(usd_per_gb)}) if row.item == "egress to the internet" else row
        for row in claim.catalogs.ancillary
    )
    return replace(claim, catalogs=replace(claim.catalogs, ancillary=rows))


def serving_hours_only(claim: Claim) -> Claim:
    hours = [item.hours_per_month for item in claim.fleet.periods]

    def month(p: Purchase) -> Decimal:
        running = sum(entry.instances * hours[entry.period] for entry in p.schedule)
        return p.monthly_cost_usd if p.always_paid else p.price_usd_per_hour * Decimal(running)

    return paying(claim, month)


def flows(claim: Claim, factor: float, period: int | None = None) -> Claim:
    """Every deployment sent more or less, in one period or in all."""

    def entries(d: Deployment) -> dict[str, object]:
        return {"schedule": [sent_more(e, factor) if period in (None, e.period) else e for e in d.schedule]}

    return deployments(claim, entries)


def sent_more(entry: PeriodReplicas, factor: float) -> PeriodReplicas:
    by_class = {name: factor * flow for name, flow in entry.requests_per_second_by_class.items()}
    total = factor * entry.requests_per_second
    return entry.model_copy(update={"requests_per_second": total, "requests_per_second_by_class": by_class})


def faster_replicas(claim: Claim, factor: float) -> Claim:
    """A higher rate claimed of every replica, everywhere it is told."""

    def told(item: Deployment | PeriodReplicas) -> dict[str, object]:
        return {
            "max_requests_per_second": factor * item.max_requests_per_second,
            "utilization": item.utilization / factor,
        }

    return deployments(
        claim, lambda d: told(d) | {"schedule": [entry.model_copy(update=told(entry)) for entry in d.schedule]}
    )


def less_busy(claim: Claim) -> Claim:
    """Hardly any load shown, everywhere it is told."""

    def told(d: Deployment) -> dict[str, object]:
        return {"utilization": 0.01, "schedule": [e.model_copy(update={"utilization": 0.01}) for e in d.schedule]}

    return deployments(claim, told)


def unnamed_flows(claim: Claim) -> Claim:
    """As many requests, but of no class."""
    nobody = {"requests_per_second_by_class": {}}
    return deployments(claim, lambda d: {"schedule": [e.model_copy(update=nobody) for e in d.schedule]})


def longest_class_only(claim: Claim) -> Claim:
    """As many requests, but all of the longest class that a deployment serves."""

    def entries(d: Deployment) -> dict[str, object]:
        longest = max(d.classes, key=lambda item: item.input_tokens).name
        sent = [{longest: entry.requests_per_second} for entry in d.schedule]
        told = zip(d.schedule, sent, strict=True)
        return {"schedule": [entry.model_copy(update={"requests_per_second_by_class": s}) for entry, s in told]}

    return deployments(claim, entries)


def replicas(claim: Claim, change: Callable[[int, int], int]) -> Claim:
    """Other counts of replicas, from the period and the count there."""

    def entry(e: PeriodReplicas) -> PeriodReplicas:
        count = change(e.period, e.replicas)
        most = e.max_requests_per_second * count / e.replicas if e.replicas else 0.0
        return e.model_copy(update={"replicas": count, "max_requests_per_second": most})

    def entries(d: Deployment) -> dict[str, object]:
        return {"schedule": [entry(e) for e in d.schedule]}

    return deployments(claim, entries)


def instances(claim: Claim, change: Callable[[int, int], int]) -> Claim:
    """Other counts of instances, from the period and the count there."""

    def entries(p: Purchase) -> dict[str, object]:
        schedule = [e.model_copy(update={"instances": change(e.period, e.instances)}) for e in p.schedule]
        return {"schedule": schedule}

    return purchases(claim, entries)


def quietest_period(claim: Claim) -> int:
    return min(claim.fleet.periods, key=lambda item: sum(item.requests_per_second.values())).period


def asleep(claim: Claim) -> Claim:
    """Nothing runs at night, some hours of which are without demand, though nobody would wait for a start."""
    night = quietest_period(claim)
    return replicas(workload(min_replicas=0)(claim), lambda t, n: 0 if t == night else n)


def placed(claim: Claim, **shown: int) -> Claim:
    """Something else told of what stands first on the first instance."""
    first, *others = claim.fleet.placement
    each, *rest = first.contents
    told = first.model_copy(update={"contents": [each.model_copy(update=shown), *rest]})
    return decided(claim, placement=(told, *others))


def nobodys(claim: Claim) -> tuple[PlacedInstances, ...]:
    return tuple(item.model_copy(update={"instance": "nobody/nowhere"}) for item in claim.fleet.placement)


def alone(placement: Iterable[PlacedInstances]) -> tuple[PlacedInstances, ...]:
    """What stands together on an instance, each replica on an instance of its own."""
    return tuple(
        item.model_copy(
            update={"count": item.count * each.replicas, "contents": [each.model_copy(update={"replicas": 1})]}
        )
        for item in placement
        for each in item.contents
    )


def all_on_one_instance(claim: Claim) -> Claim:
    """Every replica of an offer on one of its instances, in a plan whose instances hold any number."""
    alone = []
    for purchase in claim.fleet.purchases:
        there = [item for item in claim.fleet.placement if item.instance == purchase.offer]
        totals: dict[int, int] = {}
        for item in there:
            for each in item.contents:
                totals[each.deployment] = totals.get(each.deployment, 0) + item.count * each.replicas
        names = {each.deployment: each for item in there for each in item.contents}
        contents = [names[number].model_copy(update={"replicas": count}) for number, count in totals.items()]
        alone.append(there[0].model_copy(update={"count": 1, "contents": contents}))
    return decided(claim, placement=tuple(alone))


def stocked(claim: Claim, most: int) -> Claim:
    stock = {p.offer: most for p in claim.fleet.purchases}
    terms = replace(claim.catalogs.terms, available_instances=stock)
    return replace(claim, catalogs=replace(claim.catalogs, terms=terms))


def unplaced(claim: Claim) -> Claim:
    terms = replace(claim.catalogs.terms, regions={})
    return replace(claim, catalogs=replace(claim.catalogs, terms=terms))


def tuned(claim: Claim) -> Claim:
    """A fine-tune asked for, and sent to the API of the model that it was tuned from."""
    own = claim.scenario.workloads[0].model
    name, alias = next((name, alias) for name, alias in claim.catalogs.aliases.items() if alias.model == own)
    aliases = {**claim.catalogs.aliases, name: alias.model_copy(update={"relation": "fine_tune"})}
    asked = workload(model=alias.hf_id)(replace(claim, catalogs=replace(claim.catalogs, aliases=aliases)))
    return hosted(asked, lambda _: {"model": alias.hf_id})


def without_single_benchmarks(claim: Claim) -> Claim:
    """Means of quality alone are known, and a floor is put on the worst benchmark."""
    means = tuple(
        row.model_copy(update={"worst_recovery_share": None, "worst_benchmark": ""})
        for row in claim.catalogs.quality
        if row.benchmark_kind == "suite"
    )
    asked = workload(min_quality_worst=0.5)(claim)
    return replace(asked, catalogs=replace(asked.catalogs, quality=means))


def api_price(claim: Claim, factor: Decimal) -> Claim:
    cheaper = hosted(
        claim,
        lambda h: {"usd_per_request": factor * h.usd_per_request, "monthly_cost_usd": factor * h.monthly_cost_usd},
    )
    saved = sum((h.monthly_cost_usd for h in claim.fleet.hosted), Decimal(0)) * (1 - factor)
    return decided(cheaper, monthly_cost_usd=claim.fleet.monthly_cost_usd - saved)


def sent(claim: Claim, factor: float) -> Claim:
    return hosted(
        claim,
        lambda h: {
            "schedule": [
                e.model_copy(update={"requests_per_second": factor * e.requests_per_second}) for e in h.schedule
            ]
        },
    )


def changes(claim: Claim, **shown: object) -> Claim:
    assert claim.fleet.migration is not None
    return decided(claim, migration=claim.fleet.migration.model_copy(update=shown))


def longer_prompts(claim: Claim) -> Claim:
    """A million tokens a prompt, asked and served."""
    asked = workload(input_tokens=1_000_000)(claim)
    (wanted,) = asked.scenario.workloads[0].classes()
    lengths = {"name": wanted.name, "input_tokens": wanted.input_tokens}
    return deployments(asked, lambda d: {"classes": [item.model_copy(update=lengths) for item in d.classes]})


def more_changes(claim: Claim) -> Claim:
    """A replica more started than is, and paid for."""
    assert claim.fleet.migration is not None
    assert claim.scenario.policy.migration is not None
    price = Decimal(repr(claim.scenario.policy.migration.usd_per_change))
    shown = claim.fleet.migration
    dearer = changes(claim, started=shown.started + 1, one_time_cost_usd=shown.one_time_cost_usd + price)
    return decided(dearer, monthly_cost_usd=claim.fleet.monthly_cost_usd + price)


def unpaid_changes(claim: Claim) -> Claim:
    assert claim.fleet.migration is not None
    less = claim.fleet.monthly_cost_usd - claim.fleet.migration.one_time_cost_usd
    return decided(changes(claim, one_time_cost_usd=Decimal(0)), monthly_cost_usd=less)


def planned_for(claim: Claim, factor: float) -> Claim:
    def lower(rates: dict[str, float]) -> dict[str, float]:
        return {name: factor * rate for name, rate in rates.items()}

    changed = [p.model_copy(update={"requests_per_second": lower(p.requests_per_second)}) for p in claim.fleet.periods]
    return decided(claim, periods=changed)


def faster(d: Deployment, field: str) -> dict[str, object]:
    return {field: {name: 0.9 * value for name, value in getattr(d, field).items()}}
