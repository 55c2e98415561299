"""From evaluated options and admitted offers to the purchase problem, remembering what every column stands for."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from optimizer.inputs.scenario import Policy, Scenario
from optimizer.performance.candidates import PoolOptions, WorkloadOptions
from optimizer.performance.market import Market
from optimizer.program.problem import Flags, Ints, Limits, Problem, Quota

SAME_PLATFORM = "same_platform"


@dataclass(frozen=True)
class Column:
    """What one candidate of the problem stands for, as positions in the options and the market."""

    workload: int
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
        same_platform: Candidates left out because a faster one stands on exactly the same offers.
    """

    problem: Problem
    columns: tuple[Column, ...]
    offers: Ints
    same_platform: int


def formulate(
    scenario: Scenario,
    options: Sequence[WorkloadOptions],
    market: Market,
    keep: Sequence[Flags] | None = None,
) -> Formulation:
    """The problem over every passing configuration on every admitted offer.

    Args:
        scenario: Demand and policy.
        options: One per workload, in the scenario's order.
        market: The offers and whether the policy admits them.
        keep: Optionally one mask (P,) per workload: configurations to consider at all.
    """
    columns: list[Column] = []
    left_out = 0
    for w, choice in enumerate(options):
        homes = [np.flatnonzero(fits & market.admitted).tolist() for fits in choice.fits]
        for p, pool in enumerate(choice.pools):
            wanted = pool.passed if keep is None else pool.passed & keep[w]
            best = _fastest_per_platform(choice, pool, wanted)
            for c in np.flatnonzero(best).tolist():
                columns += [Column(w, p, c, offer) for offer in homes[choice.kind[c]]]
            left_out += sum(len(homes[kind]) for kind in choice.kind[wanted & ~best])
    used = np.array(sorted({column.offer for column in columns}), dtype=np.int64)
    return Formulation(_problem(scenario, options, market, columns, used), tuple(columns), used, left_out)


def _fastest_per_platform(choice: WorkloadOptions, pool: PoolOptions, wanted: Flags) -> Flags:
    """(P,) the fastest configuration of each platform and replica size, first in order among equals.

    Proof that no plan needs the others: two configurations of one platform and size fit exactly the same offers and
    the same places in an instance. Exchanging every replica of the slower for one of the faster changes no instance,
    no GPU count and no price; its rate is at least as high, so capacity and spare limits still hold for the joined
    flow; and since platform, size and pool determine the replacement, the number of distinct configurations can
    only fall.
    """
    rate: npt.NDArray[np.float64] = np.where(wanted, pool.rate_per_s, -1.0)
    order = np.lexsort((np.arange(len(rate)), -rate, choice.kind))
    first = np.unique(choice.kind[order], return_index=True)[1]
    mask: Flags = np.zeros(len(wanted), dtype=bool)
    mask[order[first]] = True
    return mask & wanted


def _problem(
    scenario: Scenario,
    options: Sequence[WorkloadOptions],
    market: Market,
    columns: Sequence[Column],
    used: Ints,
) -> Problem:
    classes = [
        (w, k, f"{workload.name}/{item.name}", workload.peak_requests_per_second() * item.share)
        for w, workload in enumerate(scenario.workloads)
        for k, item in enumerate(workload.classes())
    ]
    index = {(w, k): position for position, (w, k, _, _) in enumerate(classes)}
    mix = np.zeros((len(columns), len(classes)))
    for row, column in enumerate(columns):
        pool = options[column.workload].pools[column.pool].pool
        for k, share in zip(pool.classes, pool.mix.share, strict=True):
            mix[row, index[column.workload, k]] = share
    position = {int(offer): at for at, offer in enumerate(used)}
    offers = [market.offers[o] for o in used]
    named = {(c.workload, c.pool, c.configuration): "" for c in columns}
    named = {key: _label(options, *key) for key in named}
    labels = [named[c.workload, c.pool, c.configuration] for c in columns]
    return Problem(
        request_classes=tuple(name for _, _, name, _ in classes),
        demand_per_s=np.array([rate for _, _, _, rate in classes]),
        candidates=tuple(f"{label}|{market.offers[c.offer].id}" for label, c in zip(labels, columns, strict=True)),
        offer_index=np.array([position[column.offer] for column in columns], dtype=np.int64),
        configuration=tuple(labels),
        gpus_per_replica=np.array(
            [options[c.workload].gpus_per_replica[c.configuration] for c in columns], dtype=np.int64
        ),
        replica_rate_per_s=np.array([options[c.workload].pools[c.pool].rate_per_s[c.configuration] for c in columns]),
        mix=mix,
        offers=tuple(offer.id for offer in offers),
        price_usd_per_hour=market.price_usd_per_hour[used],
        gpus_per_instance=market.gpu_count[used],
        power_kw_per_instance=market.power_kw[used],
        provider=tuple(offer.provider for offer in offers),
        region=tuple(f"{offer.provider}/{offer.region}" for offer in offers),
        gpu=tuple(offer.gpu for offer in offers),
        spot=np.array([offer.pricing_term == "spot" for offer in offers], dtype=bool),
        limits=_limits(scenario.policy, market, used),
    )


def _label(options: Sequence[WorkloadOptions], workload: int, pool_index: int, configuration: int) -> str:
    """The distinct configuration a column counts as: pool, engine, GPU, link, precision and layout."""
    choice = options[workload]
    c = choice.configurations[configuration]
    layout = f"tp{c.tensor_parallel}pp{c.pipeline_parallel}"
    link = "-".join(str(part) for part in choice.kinds[choice.kind[configuration]][0])
    pool = choice.pools[pool_index].pool.name
    return f"{choice.workload.name}/{pool}|{link}|{layout}|{c.engine}|{c.precision}|{c.kv_precision}"


def _limits(policy: Policy, market: Market, used: Ints) -> Limits:
    quotas = []
    for quota in policy.quotas:
        offers = [market.offers[o] for o in used]
        covered = tuple(at for at, o in enumerate(offers) if quota.covers(o.provider, o.region, o.gpu))
        quotas.append(Quota(quota.name, covered, quota.max_gpus))
    return Limits(
        max_utilization=policy.max_utilization,
        max_gpus=policy.max_gpus,
        max_monthly_usd=policy.max_monthly_usd,
        max_distinct_configurations=policy.max_distinct_configurations,
        max_power_kw=policy.max_power_kw,
        max_spot_share=policy.max_spot_share,
        spare_replicas=policy.spare_replicas,
        min_providers=policy.min_providers,
        min_regions=policy.min_regions,
        quotas=tuple(quotas),
    )
