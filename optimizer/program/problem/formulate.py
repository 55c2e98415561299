"""From evaluated options and admitted offers to the purchase problem, remembering what every column stands for."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.units import HOURS_PER_MONTH, MINUTES_PER_HOUR
from optimizer.inputs.catalog.entries.terms import Terms
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.apis import Api
from optimizer.performance.candidates.between import rates_between
from optimizer.performance.candidates.on_call import with_apis_on_call
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.candidates.periods import Periods, periods
from optimizer.performance.candidates.triangulation import Simplex
from optimizer.performance.market.market import Market
from optimizer.performance.physics.categorical import Categorical
from optimizer.program.problem.alike import cheapest_alike
from optimizer.program.problem.columns import Column, columns_of, replicas_in_force
from optimizer.program.problem.data import (
    Billing,
    Candidates,
    Ceiling,
    EgressPrices,
    HostedApis,
    LayoutTerms,
    Limits,
    Offers,
    QuotaLimit,
    Traffic,
)
from optimizer.program.problem.problem import Problem

SAME_PLATFORM = "same_platform"

NONE_IN_FORCE = np.zeros(0, dtype=np.int64)


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
    week: Periods | None = None,
    counts_configurations: bool = False,
    whole: bool = True,
) -> Formulation:
    """The problem over every passing configuration on every admitted offer.

    Args:
        scenario: Demand and policy.
        options: For every workload its model and the alternatives to it, in the scenario's order.
        market: The offers and whether the policy admits them.
        keep: Optionally one mask (P,) per entry of `options`: configurations to consider at all.
        apis: Hosted models that may serve a class.
        week: Its periods, `periods` of the scenario where none are given.
        counts_configurations: Whether a plan of fewer configurations, or places, may be wanted that costs more.
        whole: Whether the offers stay of which a cheaper one holds the same, which no search keeps.
    """
    policy, week = scenario.policy, with_apis_on_call(scenario, apis, week or periods(scenario))
    offered = market.admitted
    if not (whole or policy.migration):
        on_offer = np.flatnonzero(offered & np.any([choice.fits.any(axis=0) for choice in options], axis=0))
        alone = _problem(scenario, options, market, (), on_offer, week)
        alone = replace(alone, ceiling=Ceiling(places=1 if counts_configurations else None))
        held = np.vstack([choice.fits[:, on_offer] for choice in options])
        offered = np.zeros_like(offered)
        offered[on_offer[cheapest_alike(alone, held, market.serving_share[on_offer])]] = True
    columns, same_platform = columns_of(policy, options, offered, keep, counts_configurations)
    used = np.array(sorted({column.offer for column in columns}), dtype=np.int64)
    replicas, unmatched = replicas_in_force(policy, options, market, columns)
    problem = _problem(scenario, options, market, columns, used, week, replicas, unmatched, apis)
    return Formulation(problem, tuple(columns), used, tuple(apis), week, same_platform, unmatched)


def _problem(
    scenario: Scenario,
    options: Sequence[WorkloadOptions],
    market: Market,
    columns: Sequence[Column],
    used: Ints,
    week: Periods,
    replicas: Ints = NONE_IN_FORCE,
    unmatched: int = 0,
    apis: Sequence[Api] = (),
) -> Problem:
    """Columns on the used offers in numbers."""
    return Problem(
        traffic=_traffic(scenario, options, week),
        candidates=_candidates(scenario, options, market, columns, used, replicas),
        offers=_offers(market, used),
        limits=_limits(scenario, market, used, unmatched),
        apis=_apis(options, apis, market.catalogs.terms),
        egress=_egress(scenario, market, used),
        billing=_billing(scenario, market, used, week),
        layouts=_layouts(scenario, week),
    )


def _mixes(options: Sequence[WorkloadOptions]) -> dict[tuple[str, int], int]:
    """The row of `Traffic.mixes` of each (workload, pool); alternatives share their workload's."""
    pairs = sorted({(choice.workload.name, p) for choice in options for p in range(len(choice.pools))})
    return {pair: row for row, pair in enumerate(pairs)}


def _traffic(scenario: Scenario, options: Sequence[WorkloadOptions], week: Periods) -> Traffic:
    workloads, rows = scenario.workloads, _mixes(options)
    classes = [(w, item) for w, workload in enumerate(workloads) for item in workload.classes()]
    workload_of_class = np.array([w for w, _ in classes])
    # workload -> its first class among all
    first = {workload.name: int((workload_of_class < w).sum()) for w, workload in enumerate(workloads)}
    mixes = np.zeros((len(rows), len(classes)))
    for choice in options:
        name = choice.workload.name
        for p, known in enumerate(choice.pools):
            mixes[rows[name, p], first[name] + np.array(known.pool.classes)] = known.pool.mix.share
    share = np.array([item.share for _, item in classes])
    by_name = sorted(range(len(workloads)), key=lambda w: workloads[w].name)
    start_up_hours = scenario.policy.elastic.start_up_minutes / MINUTES_PER_HOUR
    return Traffic(
        classes=tuple(f"{workloads[w].name}/{item.name}" for w, item in classes),
        workload=tuple(workloads[w].name for w, _ in classes),
        demand_per_s=week.demand_requests_per_second[:, workload_of_class] * share * scenario.policy.robust.demand,
        mixes=mixes,
        share_of_month=week.hours_per_month / HOURS_PER_MONTH,
        start_share=week.transitions_per_month * start_up_hours / HOURS_PER_MONTH,
        least_replicas=week.min_replicas[:, by_name],
        # what must hold for more than is asked is paid for what is asked
        paid_share=week.asked_share[:, workload_of_class] / scenario.policy.robust.demand,
    )


def _candidates(
    scenario: Scenario,
    options: Sequence[WorkloadOptions],
    market: Market,
    columns: Sequence[Column],
    used: Ints,
    in_force: Ints,
) -> Candidates:
    """The columns in numbers and names; what they have in common is looked up once."""
    workload, pools_of_column, configuration, offer_of_column = zip(*columns, strict=True) if columns else [()] * 4
    runs = Categorical.of(list(zip(workload, configuration, strict=True)))
    serving = Categorical.of(list(zip(workload, pools_of_column, strict=True)))
    setups = [_setup(options[w], c) for w, c in runs.categories]
    configurations = [f"{options[w].workload.name}|{_kept(options[w], c)}" for w, c in runs.categories]
    engines = [options[w].configurations[c].engine for w, c in runs.categories]
    served = [_served(options[w], pools) for w, pools in serving.categories]
    run, offer = runs.codes.tolist(), np.array(offer_of_column, dtype=np.int64)
    planned = market.serving_share[offer] * scenario.policy.robust.throughput
    return Candidates(
        ids=tuple(
            f"{served[kind]}|{setups[number]}|{market.offers[o].id}"
            for kind, number, o in zip(serving.codes.tolist(), run, offer_of_column, strict=True)
        ),
        offer=np.searchsorted(used, offer),
        configuration=tuple(configurations[number] for number in run),
        engine=tuple(engines[number] for number in run),
        gpus_per_replica=np.array([options[w].gpus_per_replica[c] for w, c in runs.categories], dtype=np.int64)[
            runs.codes
        ],
        rate_per_s=_rates_of(options, columns, serving) * planned[:, None],
        replicas_in_force=in_force,
    )


def _rates_of(
    options: Sequence[WorkloadOptions], columns: Sequence[Column], serving: Categorical[tuple[int, Simplex]]
) -> Floats:
    """(C, M) requests/s of each mix that one replica sustains, without interruptions."""
    rows, configuration = _mixes(options), np.array([c.configuration for c in columns], dtype=np.int64)
    rate = np.zeros((len(columns), len(rows)))
    for kind, (w, pools) in enumerate(serving.categories):
        candidates, choice = np.flatnonzero(serving.codes == kind), options[w]
        within = rates_between(choice, pools)[configuration[candidates]]
        rate[candidates[:, None], [rows[choice.workload.name, p] for p in pools]] = within
    return rate


def _offers(market: Market, used: Ints) -> Offers:
    """What may be bought, in the regions of whoever runs the machines, so that nothing counts as two places."""
    offers = [market.offers[o] for o in used]
    operator = [market.catalogs.terms.run_by(offer.provider) for offer in offers]
    return Offers(
        ids=tuple(offer.id for offer in offers),
        price_usd_per_hour=market.price_usd_per_hour[used] + market.storage_usd_per_month[used] / HOURS_PER_MONTH,
        gpus_per_instance=market.gpu_count[used],
        power_kw=market.power_kw[used],
        carbon_kg_per_hour=market.carbon_kg_per_hour[used],
        available=market.available_instances[used],
        provider=tuple(operator),
        region=tuple(f"{name}/{offer.region}" for name, offer in zip(operator, offers, strict=True)),
        gpu=tuple(offer.gpu for offer in offers),
        spot=np.array([offer.pricing_term == "spot" for offer in offers], dtype=bool),
        always_paid=market.always_paid[used],
    )


def _egress(scenario: Scenario, market: Market, used: Ints) -> EgressPrices:
    """What answers weigh by class, in the order of the traffic's, and what a GB costs by offer."""
    egress = scenario.policy.egress
    if egress is None:
        return EgressPrices()
    classes = [item for workload in scenario.workloads for item in workload.classes()]
    return EgressPrices(
        gb_per_request=np.array([egress.gb_per_request(item.output_tokens) for item in classes]),
        usd_per_gb=market.egress_usd_per_gb[used],
    )


def _billing(scenario: Scenario, market: Market, used: Ints, week: Periods) -> Billing:
    """How long each offer is paid for once started; empty where all are paid for as they run."""
    elastic = scenario.policy.elastic
    by_provider = np.array([elastic.billed_hours(provider) for provider in market.provider.categories], dtype=np.int64)
    least = by_provider[market.provider.codes[used]]
    return Billing(least, week.hour_to_period) if (least > 1).any() else Billing()


def _layouts(scenario: Scenario, week: Periods) -> LayoutTerms:
    """Whether an instance keeps what is loaded on it, and between which periods it may not."""
    minutes = scenario.policy.elastic.repartition_minutes
    if minutes == "never":
        return LayoutTerms()
    return LayoutTerms(followed=week.transitions_per_month > 0) if minutes else LayoutTerms(kept=False)


def _apis(options: Sequence[WorkloadOptions], apis: Sequence[Api], terms: Terms) -> HostedApis:
    """Each API on the mix that serves its class alone."""
    rows = _mixes(options)
    alone = {
        (choice.workload.name, known.pool.classes[0]): rows[choice.workload.name, p]
        for choice in options
        for p, known in enumerate(choice.pools)
        if len(known.pool.classes) == 1
    }
    return HostedApis(
        ids=tuple(f"{api.workload}/{api.request_class}|{api.provider}/{api.name}" for api in apis),
        mix=np.array([alone[api.workload, api.class_index] for api in apis], dtype=np.int64),
        usd_per_request=np.array([float(api.usd_per_request) for api in apis]),
        provider=tuple(terms.run_by(api.provider) for api in apis),
    )


def _served(choice: WorkloadOptions, pools: Simplex) -> str:
    """What of a workload a column serves."""
    return f"{choice.workload.name}/{'+'.join(choice.pools[p].pool.name for p in pools)}"


def _setup(choice: WorkloadOptions, configuration: int) -> str:
    """A configuration and how its GPUs are joined: what tells two candidates on one offer apart."""
    link = "-".join(str(part) for part in choice.kinds[choice.kind[configuration]][0])
    return f"{choice.configurations[configuration].model}|{link}|{_layout(choice, configuration)}"


def _kept(choice: WorkloadOptions, configuration: int) -> str:
    """What operators must keep for a workload: model, GPU, layout, engine and precisions."""
    c = choice.configurations[configuration]
    return f"{c.model}|{c.gpu}|{_layout(choice, configuration)}"


def _layout(choice: WorkloadOptions, configuration: int) -> str:
    c = choice.configurations[configuration]
    draft = f"|{c.speculation}" if c.speculation else ""
    return f"tp{c.tensor_parallel}pp{c.pipeline_parallel}|{c.engine}|{c.precision}|{c.kv_precision}{draft}"


def _limits(scenario: Scenario, market: Market, used: Ints, stopped_anyway: int) -> Limits:
    """The policy's limits, most of them as they stand there, and those of workloads."""
    policy, offers = scenario.policy, [market.offers[o] for o in used]
    quotas = []
    for quota in policy.quotas:
        covered = tuple(position for position, o in enumerate(offers) if quota.covers(o.provider, o.region, o.gpu))
        quotas.append(QuotaLimit(quota.name, covered, quota.max_gpus))
    as_they_are = {item.name: getattr(policy, item.name) for item in fields(Limits) if hasattr(policy, item.name)}
    limits = Limits(**as_they_are | {"quotas": tuple(quotas), "survive": tuple(sorted(policy.losses))})
    replicas = tuple((w.name, w.max_replicas) for w in scenario.workloads if w.max_replicas is not None)
    if policy.max_monthly_usd is not None:
        # the budget holds at the prices that the plan must be robust against
        limits = replace(limits, max_monthly_usd=policy.max_monthly_usd / policy.robust.price)
    if policy.migration is not None:
        most = policy.migration.max_changes
        changes = None if most is None else most - stopped_anyway
        limits = replace(limits, max_changes=changes, usd_per_change=policy.migration.usd_per_change)
    return replace(limits, max_replicas=replicas)
