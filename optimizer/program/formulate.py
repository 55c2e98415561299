"""From evaluated options and admitted offers to the purchase problem, remembering what every column stands for."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from optimizer.base.units import HOURS_PER_MONTH, MINUTES_PER_HOUR
from optimizer.inputs.policy import InForce, Policy
from optimizer.inputs.scenario import Scenario
from optimizer.performance.apis import Api
from optimizer.performance.candidates import PoolOptions, WorkloadOptions
from optimizer.performance.market import Market
from optimizer.performance.periods import Periods, periods
from optimizer.program.given import Apis, Billing, Candidates, Flags, Ints, Limits, Offers, Quota, Sending, Traffic
from optimizer.program.problem import Problem

SAME_PLATFORM = "same_platform"


@dataclass(frozen=True)
class Column:
    """What one candidate of the problem stands for, as positions in the options and the market."""

    workload: int
    """Position in the options: a scenario's workload, or one of the models that may serve it."""
    pool: int
    configuration: int
    offer: int


@dataclass(frozen=True)
class Formulation:
    """The problem and the meaning of its candidates and offers.

    Attributes:
        problem: What the solver sees.
        columns: (C,) the meaning of each candidate.
        offers: (O,) position in the market of each of the problem's offers.
        apis: (A,) the meaning of each hosted API.
        periods: What the problem's periods stand for.
        same_platform: Candidates left out because a faster one stands on exactly the same offers.
        stopped_anyway: Replicas in force that nothing in the problem stands for: every plan stops them.
    """

    problem: Problem
    columns: tuple[Column, ...]
    offers: Ints
    apis: tuple[Api, ...]
    periods: Periods
    same_platform: int
    stopped_anyway: int


def formulate(
    scenario: Scenario,
    options: Sequence[WorkloadOptions],
    market: Market,
    keep: Sequence[Flags] | None = None,
    apis: Sequence[Api] = (),
) -> Formulation:
    """The problem over every passing configuration on every admitted offer.

    Args:
        scenario: Demand and policy.
        options: For every workload its model and the alternatives to it, in the scenario's order.
        market: The offers and whether the policy admits them.
        keep: Optionally one mask (P,) per entry of `options`: configurations to consider at all.
        apis: Hosted models that may serve a class.
    """
    columns: list[Column] = []
    left_out = 0
    in_force = _in_force(scenario)
    for w, choice in enumerate(options):
        homes = [np.flatnonzero(fits & market.admitted).tolist() for fits in choice.fits]
        standing = _running_today(in_force, choice)
        for p, pool in enumerate(choice.pools):
            wanted = pool.passed if keep is None else pool.passed & keep[w]
            best = _fastest_per_platform(choice, pool, wanted, scenario.policy) | (wanted & standing)
            for c in np.flatnonzero(best).tolist():
                columns += [Column(w, p, c, offer) for offer in homes[choice.kind[c]]]
            left_out += sum(len(homes[kind]) for kind in choice.kind[wanted & ~best])
    used = np.array(sorted({column.offer for column in columns}), dtype=np.int64)
    week = periods(scenario)
    replicas, unmatched = _replicas_in_force(in_force, options, market, columns)
    problem = Problem(
        traffic=_traffic(scenario, options, week),
        candidates=_candidates(scenario, options, market, columns, used, replicas),
        offers=_offers(market, used),
        limits=_limits(scenario.policy, market, used, unmatched),
        apis=_apis(options, apis),
        sending=_sending(scenario, market, used),
        billing=_billing(scenario, market, used, week),
    )
    return Formulation(problem, tuple(columns), used, tuple(apis), week, left_out, unmatched)


def _fastest_per_platform(choice: WorkloadOptions, pool: PoolOptions, wanted: Flags, policy: Policy) -> Flags:
    """(P,) the fastest configuration of each platform and replica size, first in order among equals.

    Proof that no plan needs the others: two configurations of one platform and size fit exactly the same offers and
    the same places in an instance. Exchanging every replica of the slower for one of the faster changes no instance,
    no GPU count and no price; its rate is at least as high, so capacity and spare limits still hold for the joined
    flow; and since platform, size and pool determine the replacement, the number of distinct configurations can
    only fall. Where the number of engines is limited, each engine's fastest is kept.
    """
    group = choice.kind
    if policy.max_engines is not None:
        engines = [c.engine for c in choice.configurations]
        group = group * len(engines) + np.unique(engines, return_inverse=True)[1].reshape(-1)
    rate: npt.NDArray[np.float64] = np.where(wanted, pool.rate_per_s, -1.0)
    order = np.lexsort((np.arange(len(rate)), -rate, group))
    first = np.unique(group[order], return_index=True)[1]
    mask: Flags = np.zeros(len(wanted), dtype=bool)
    mask[order[first]] = True
    return mask & wanted


def _mixes(options: Sequence[WorkloadOptions]) -> dict[tuple[str, int], int]:
    """The row of `Traffic.mixes` of each (workload, pool); alternatives share their workload's."""
    pairs = sorted({(choice.workload.name, p) for choice in options for p in range(len(choice.pools))})
    return {pair: row for row, pair in enumerate(pairs)}


def _traffic(scenario: Scenario, options: Sequence[WorkloadOptions], week: Periods) -> Traffic:
    workloads, robust = scenario.workloads, scenario.policy.robust
    classes = [(w, k, item) for w, workload in enumerate(workloads) for k, item in enumerate(workload.classes())]
    index = {(workloads[w].name, k): position for position, (w, k, _) in enumerate(classes)}
    rows = _mixes(options)
    mixes = np.zeros((len(rows), len(classes)))
    for choice in options:
        for p, served in enumerate(choice.pools):
            for k, share in zip(served.pool.classes, served.pool.mix.share, strict=True):
                mixes[rows[choice.workload.name, p], index[choice.workload.name, k]] = share
    home, share = np.array([w for w, _, _ in classes]), np.array([item.share for _, _, item in classes])
    by_name = sorted(range(len(workloads)), key=lambda w: workloads[w].name)
    start_up_hours = scenario.policy.elastic.start_up_minutes / MINUTES_PER_HOUR
    return Traffic(
        classes=tuple(f"{workloads[w].name}/{item.name}" for w, _, item in classes),
        workload=tuple(workloads[w].name for w, _, _ in classes),
        demand_per_s=week.demand_requests_per_second[:, home] * share * robust.demand,
        mixes=mixes,
        share_of_month=week.hours_per_month / HOURS_PER_MONTH,
        start_share=week.transitions_per_month * start_up_hours / HOURS_PER_MONTH,
        least_replicas=week.min_replicas[:, by_name],
    )


def _candidates(
    scenario: Scenario,
    options: Sequence[WorkloadOptions],
    market: Market,
    columns: Sequence[Column],
    used: Ints,
    in_force: Ints,
) -> Candidates:
    rows = _mixes(options)
    position = {int(offer): at for at, offer in enumerate(used)}
    labels = {(c.workload, c.pool, c.configuration): "" for c in columns}
    labels = {key: _label(options, *key) for key in labels}
    named = [labels[c.workload, c.pool, c.configuration] for c in columns]
    planned = market.serving_share[[c.offer for c in columns]] * scenario.policy.robust.throughput
    rate = np.zeros((len(columns), len(rows)))
    for row, column in enumerate(columns):
        choice = options[column.workload]
        rate[row, rows[choice.workload.name, column.pool]] = choice.pools[column.pool].rate_per_s[column.configuration]
    return Candidates(
        ids=tuple(f"{label}|{market.offers[c.offer].id}" for label, c in zip(named, columns, strict=True)),
        offer=np.array([position[column.offer] for column in columns], dtype=np.int64),
        configuration=tuple(named),
        engine=tuple(options[c.workload].configurations[c.configuration].engine for c in columns),
        gpus_per_replica=np.array(
            [options[c.workload].gpus_per_replica[c.configuration] for c in columns], dtype=np.int64
        ),
        rate_per_s=rate * planned.reshape(-1, 1),
        replicas_in_force=in_force,
    )


def _offers(market: Market, used: Ints) -> Offers:
    offers = [market.offers[o] for o in used]
    return Offers(
        ids=tuple(offer.id for offer in offers),
        price_usd_per_hour=market.price_usd_per_hour[used] + market.storage_usd_per_month[used] / HOURS_PER_MONTH,
        gpus_per_instance=market.gpu_count[used],
        power_kw=market.power_kw[used],
        carbon_kg_per_hour=market.carbon_kg_per_hour[used],
        available=market.available_instances[used],
        provider=tuple(offer.provider for offer in offers),
        region=tuple(f"{offer.provider}/{offer.region}" for offer in offers),
        gpu=tuple(offer.gpu for offer in offers),
        spot=np.array([offer.pricing_term == "spot" for offer in offers], dtype=bool),
        always_paid=market.always_paid[used],
    )


def _sending(scenario: Scenario, market: Market, used: Ints) -> Sending:
    """What answers weigh by class, in the order of the traffic's, and what a GB costs by offer."""
    egress = scenario.policy.egress
    if egress is None:
        return Sending()
    classes = [item for workload in scenario.workloads for item in workload.classes()]
    return Sending(
        gb_per_request=np.array([egress.gb_per_request(item.output_tokens) for item in classes]),
        usd_per_gb=market.egress_usd_per_gb[used],
    )


def _billing(scenario: Scenario, market: Market, used: Ints, week: Periods) -> Billing:
    """How long each offer is paid for once started; empty where all are paid for as they run."""
    elastic = scenario.policy.elastic
    least = np.array([elastic.billed_hours(market.offers[o].provider) for o in used.tolist()], dtype=np.int64)
    return Billing(least, week.hour_to_period) if (least > 1).any() else Billing()


def _apis(options: Sequence[WorkloadOptions], apis: Sequence[Api]) -> Apis:
    """Each API on the mix that serves its class alone."""
    rows = _mixes(options)
    alone = {
        (choice.workload.name, served.pool.classes[0]): rows[choice.workload.name, p]
        for choice in options
        for p, served in enumerate(choice.pools)
        if len(served.pool.classes) == 1
    }
    return Apis(
        ids=tuple(f"{api.workload}/{api.request_class}|{api.provider}/{api.name}" for api in apis),
        mix=np.array([alone[api.workload, api.class_index] for api in apis], dtype=np.int64),
        usd_per_request=np.array([float(api.usd_per_request) for api in apis]),
        provider=tuple(api.provider for api in apis),
    )


def _label(options: Sequence[WorkloadOptions], workload: int, pool_index: int, configuration: int) -> str:
    """The distinct configuration a column counts as: pool, model, engine, GPU, link, precision and layout."""
    choice = options[workload]
    c = choice.configurations[configuration]
    layout = f"tp{c.tensor_parallel}pp{c.pipeline_parallel}"
    link = "-".join(str(part) for part in choice.kinds[choice.kind[configuration]][0])
    pool = choice.pools[pool_index].pool.name
    return f"{choice.workload.name}/{pool}|{c.model}|{link}|{layout}|{c.engine}|{c.precision}|{c.kv_precision}"


def _limits(policy: Policy, market: Market, used: Ints, stopped_anyway: int) -> Limits:
    offers, migration = [market.offers[o] for o in used], policy.migration
    quotas = []
    for quota in policy.quotas:
        covered = tuple(at for at, o in enumerate(offers) if quota.covers(o.provider, o.region, o.gpu))
        quotas.append(Quota(quota.name, covered, quota.max_gpus))
    budget = None if policy.max_monthly_usd is None else policy.max_monthly_usd / policy.robust.price
    most_changes = None if migration is None else migration.max_changes
    return Limits(
        max_utilization=policy.max_utilization,
        max_gpus=policy.max_gpus,
        max_monthly_usd=budget,
        max_distinct_configurations=policy.max_distinct_configurations,
        max_engines=policy.max_engines,
        max_power_kw=policy.max_power_kw,
        max_carbon_kg_per_month=policy.max_carbon_kg_per_month,
        max_spot_share=policy.max_spot_share,
        max_provider_share=policy.max_provider_share,
        spare_replicas=policy.spare_replicas,
        survive=tuple(sorted(policy.survive.loss_of)),
        min_providers=policy.min_providers,
        min_regions=policy.min_regions,
        quotas=tuple(quotas),
        max_changes=None if most_changes is None else most_changes - stopped_anyway,
        usd_per_change=0.0 if migration is None else migration.usd_per_change,
    )


def _in_force(scenario: Scenario) -> tuple[InForce, ...]:
    migration = scenario.policy.migration
    return () if migration is None or migration.in_force is None else migration.in_force


def _running_today(in_force: Sequence[InForce], choice: WorkloadOptions) -> Flags:
    """(P,) the configurations that replicas in force have."""
    running: Flags = np.zeros(len(choice.configurations), dtype=bool)
    for item in in_force:
        running |= np.array([_is_it(item, choice, row) for row in range(len(running))], dtype=bool)
    return running


def _is_it(item: InForce, choice: WorkloadOptions, row: int) -> bool:
    c = choice.configurations[row]
    ours = (choice.workload.name, c.model, c.gpu, c.engine, c.precision, c.kv_precision)
    theirs = (item.workload, item.model, item.gpu, item.engine, item.precision, item.kv_precision)
    layout = (c.tensor_parallel, c.pipeline_parallel) == (item.tensor_parallel, item.pipeline_parallel)
    return ours == theirs and layout


def _replicas_in_force(
    in_force: Sequence[InForce], options: Sequence[WorkloadOptions], market: Market, columns: Sequence[Column]
) -> tuple[Ints, int]:
    """(C,) replicas that run today, each on the first column that describes them, and how many none describes."""
    replicas = np.zeros(len(columns), dtype=np.int64)
    left = list(in_force)
    for at, column in enumerate(columns if in_force else ()):
        offer, choice = market.offers[column.offer], options[column.workload]
        for item in left:
            place = (offer.provider, offer.region, offer.instance_type, offer.pricing_term)
            same_place = place == (item.provider, item.region, item.instance_type, item.pricing_term)
            if same_place and _is_it(item, choice, column.configuration):
                replicas[at] = item.replicas
                left.remove(item)
                break
    return replicas, sum(item.replicas for item in left)
