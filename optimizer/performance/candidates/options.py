"""Every configuration for every pool of requests, all criteria evaluated as arrays, nothing dropped in silence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.base.clock import Clock, LimitReached
from optimizer.base.units import BYTES_PER_GIB, MS_PER_S
from optimizer.inputs.catalog.entries.models import Model
from optimizer.inputs.catalog.quality import QualityEstimate
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.policy import Router
from optimizer.inputs.scenario.scenario import Latency, Policy, Scenario, Workload
from optimizer.performance.candidates.counted import CountedShares
from optimizer.performance.candidates.enumeration import Kind
from optimizer.performance.candidates.looked_up import looked_up
from optimizer.performance.candidates.network import fits_of, network_ms, told_apart_by_distance
from optimizer.performance.candidates.pools import Pool, groups_of, mix_of, pools_of, simplices_of, with_traces
from optimizer.performance.candidates.predict import (
    STATISTICS,
    LatencyLimits,
    Mix,
    OperatingPoint,
    almost_idle,
    sustainable_rate,
)
from optimizer.performance.candidates.quality import qualities
from optimizer.performance.candidates.triangulation import Simplex
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA, KNOWN_ANYWAY
from optimizer.performance.market.market import Market, permitted
from optimizer.performance.physics.categorical import Categorical
from optimizer.performance.physics.memory import MemoryUse, kv_bytes_per_sequence
from optimizer.performance.physics.row_arrays import RowArrays
from optimizer.performance.physics.setup import Configuration, Setup
from optimizer.performance.uncertainty.evidence import Margins

SAME: Final = 1e-6
"""Share of a rate by which another one is lower that is the same."""


@dataclass(frozen=True)
class PoolOptions(RowArrays):
    """What every configuration of a workload would deliver to one pool.

    Attributes:
        failed: (P, criteria) whether a configuration fails each of CONFIGURATION_CRITERIA.
        value: (P, criteria) the number that was tested; NaN where a test compares no numbers.
        limit: (P, criteria) what it was tested against.
        rate_per_s: (P,) the largest rate of one replica within the limits; 0 for those that fail a criterion
            which no load can mend, save what nobody published of them.
        limited_by: (P,) index into LIMITS of what stops a higher rate.
        beside_per_s: (P, K) the same rate where a trace of each of the workload's classes is sent beside the pool:
            promises to that class hold, too. It is the pool's own where that class is one of the pool's, or asks for
            no less.
    """

    pool: Pool
    failed: Flags
    value: Floats
    limit: Floats
    rate_per_s: Floats
    limited_by: Ints
    beside_per_s: Floats

    @property
    def passed(self) -> Flags:
        """(P,) whether a configuration passes every criterion."""
        passed: Flags = ~np.any(self.failed, axis=1)
        return passed


@dataclass(frozen=True)
class Variant:
    """A workload as one of its models would serve it.

    Attributes:
        workload_index: Position of the workload in the scenario.
        workload: The workload with that model and no others; the scenario's own where it lists no others.
        model_quality: The model's benchmark score as a share of the first model's.
        router: What sends its requests to replicas, as the policy says.
    """

    workload_index: int
    workload: Workload
    model_quality: float
    router: Router

    def mix(self, positions: Sequence[int], share: Floats) -> Mix:
        """Some of the workload's classes, in shares that need not add up to 1."""
        return mix_of(self.workload, positions, share, self.router)


@dataclass(frozen=True)
class WorkloadOptions(Variant):
    """All configurations of one workload's model (P), with what each delivers to each pool.

    A workload with alternative models has options for each of them.
    """

    model: Model
    limits: LatencyLimits
    configurations: tuple[Configuration, ...]
    distinct: Categorical[Configuration]
    """The same as categories: a configuration stands in a row for each distance at which an offer could hold it."""
    kind: Ints
    """(P,) index into `kinds`: configurations of one kind fit the same offers."""
    kinds: tuple[Kind, ...]
    """Distinct platforms with the GPUs of a replica and their distance from users; single-GPU replicas need no link."""
    fits: Flags
    """(kinds, O) whether one instance of an offer can hold a replica of the kind where the workload's own lists permit
    it, whatever the policy admits."""
    permitted: Flags
    """(O,) whether the workload's own lists of providers, regions and countries permit an offer, and where users are
    known, its distance is."""
    gpus_per_replica: Ints
    setup: Setup
    memory: MemoryUse
    quality: tuple[QualityEstimate | None, ...]
    """(P,) of the model and its precision together, against the workload's first model in 16 bit."""
    fixed: Mapping[str, Flags]
    """(P,) failures of the criteria that need no prediction."""
    pools: tuple[PoolOptions, ...]
    simplices: tuple[Simplex, ...]
    """Which pools may meet on one replica."""

    @property
    def network_ms(self) -> Floats:
        """(P,) the round trip from users to where each configuration stands."""
        return np.array([kind.network_ms for kind in self.kinds])[self.kind]


def evaluate(scenario: Scenario, catalogs: Catalogs, offers: Market, clock: Clock) -> tuple[WorkloadOptions, ...]:
    """All options of every workload with every model it may use, on all that is offered, in the order of `variants`.

    Raises:
        LimitReached: the process holds all the memory that it may.
    """
    options = []
    for variant in variants(scenario):
        options.append(_workload_options(variant, scenario.policy, catalogs, offers))
        if clock.out_of_memory:
            raise LimitReached("memory limit")
    return tuple(options)


def variants(scenario: Scenario) -> tuple[Variant, ...]:
    """Every workload with each of its models, in the scenario's order, the first model first."""
    return tuple(
        Variant(workload_index, _served_by(workload, model), quality, scenario.policy.router)
        for workload_index, workload in enumerate(scenario.workloads)
        for model, quality in ((workload.model, 1.0), *((item.model, item.quality) for item in workload.alternatives))
    )


def _served_by(workload: Workload, model: str) -> Workload:
    if not workload.alternatives:
        return workload
    return workload.model_copy(update={"model": model, "alternatives": (), "speculation": workload.drafts_of(model)})


def re_rated(options: WorkloadOptions, workload: Workload, margins_of_rows: Margins) -> WorkloadOptions:
    """The same configurations under other service levels or with the margins of another confidence."""
    limits = limits_of(workload, margins_of_rows, options.network_ms)
    held = replace(limits, counted=options.limits.counted)
    return predicted(replace(options, workload=workload, limits=held), [known.pool for known in options.pools])


def limits_of(workload: Workload, margins_of_rows: Margins, network_ms: Floats) -> LatencyLimits:
    """The workload's service levels in seconds, with each configuration's margins and its distance from users."""
    slo = workload.slo

    def in_seconds(latency: Latency | None) -> dict[str, float]:
        return {name: ms / MS_PER_S for name, ms in latency.limits_ms().items()} if latency else {}

    return LatencyLimits(
        ttft_s=in_seconds(slo.ttft_ms),
        tpot_s=in_seconds(slo.tpot_ms),
        e2e_s=in_seconds(slo.e2e_ms),
        before_s=(slo.ttft_overhead_ms + network_ms) / MS_PER_S,
        counted=CountedShares.of_all(len(network_ms)),
        margins=margins_of_rows,
    )


def names_of_joined(variant: Variant) -> tuple[str, ...]:
    """The groups of several classes that are mixed as one."""
    classes = variant.workload.classes()
    return tuple("+".join(classes[k].name for k in group) for group in groups_of(variant.workload) if len(group) > 1)


def _workload_options(variant: Variant, policy: Policy, catalogs: Catalogs, offers: Market) -> WorkloadOptions:
    """Each configuration is looked up once, then stands in a row for each distance at which an offer could hold it."""
    workload = variant.workload
    distance_ms = network_ms(workload, offers)
    known = looked_up(workload, policy, catalogs, offers.widest())
    configurations, slower = known.configurations, known.margins_at(policy.confidence, catalogs)
    quality = qualities(configurations, catalogs, variant.model_quality, by_family=workload.quality_by_family)
    fixed = known.failed_at_any_rate(workload, policy, catalogs, quality)
    rows, kind = told_apart_by_distance(known.anywhere, offers, distance_ms)
    network = kind.by_row([each.network_ms for each in kind.categories])
    allowed = permitted(workload, offers) & ~np.isnan(distance_ms)
    options = WorkloadOptions(
        **vars(variant),
        model=catalogs.model(workload.model),
        limits=limits_of(workload, slower.take(rows), network),
        configurations=tuple(map(configurations.__getitem__, rows.tolist())),
        distinct=Categorical(configurations, rows),
        kind=kind.codes,
        kinds=kind.categories,
        fits=fits_of(kind.categories, offers, distance_ms) & allowed,
        permitted=allowed,
        gpus_per_replica=kind.by_row([each.gpus for each in kind.categories], np.int64),
        setup=known.setup.take(rows),
        memory=known.memory.take(rows),
        quality=tuple(map(quality.__getitem__, rows.tolist())),
        fixed={name: failed[rows] for name, failed in fixed.items()},
        pools=(),
        simplices=simplices_of(workload),
    )
    return predicted(options, pools_of(workload, policy.router))


def predicted(options: WorkloadOptions, pools: Sequence[Pool]) -> WorkloadOptions:
    """The same with these pools, each predicted for every configuration."""
    alone = replace(options, pools=tuple(pool_options(options, pool) for pool in pools))
    return replace(alone, pools=tuple(beside_others(alone, known) for known in alone.pools))


def pool_options(options: WorkloadOptions, pool: Pool) -> PoolOptions:
    """All criteria of one pool by itself, each evaluated for every configuration whether or not another one failed.

    Only the search for the largest rate leaves out configurations that already failed: no rate would be theirs. What
    nobody published of a configuration leaves it its rate.
    """
    setup = options.setup
    value, limit = _tested_numbers(options, pool.mix)
    predicted = ~options.fixed["engine_calibrated"]
    failed = {
        **options.fixed,
        "peak_known": ~(setup.hardware.scheme_flops > 0),
        **{name: ~(value[name] <= limit[name]) & predicted for name in value},
    }
    hopeless = [bad for name, bad in failed.items() if name not in KNOWN_ANYWAY]
    hopeful = np.flatnonzero(~np.logical_or.reduce(hopeless))
    found = sustainable_rate(setup.take(hopeful), pool.mix, options.limits.take(hopeful))
    # hopeful row -> configuration
    rate, limited_by, overloaded = np.zeros(setup.rows), np.zeros(setup.rows, np.intp), np.zeros(setup.rows, np.bool_)
    rate[hopeful], limited_by[hopeful], overloaded[hopeful] = found.rate_per_s, found.limited_by, found.rate_per_s <= 0
    return PoolOptions(
        pool=pool,
        failed=_by_criterion(failed | {"load": overloaded}, np.zeros(setup.rows, np.bool_)),
        value=_by_criterion(value, np.full(setup.rows, np.nan)),
        limit=_by_criterion(limit, np.full(setup.rows, np.nan)),
        rate_per_s=rate,
        limited_by=limited_by,
        beside_per_s=np.repeat(rate[:, None], len(options.workload.classes()), axis=1),
    )


def beside_others(options: WorkloadOptions, known: PoolOptions) -> PoolOptions:
    """One of the pools with what of it is sustained beside each other class that a configuration serves at all.

    The least of these is told by traces of all of them at once, and of most configurations that is no less than
    without; so the more of a class is served, the sooner it is asked about, and mostly the last one need not be.
    """
    served = {each.pool.classes[0]: each.rate_per_s > 0 for each in options.pools if len(each.pool.classes) == 1}
    others = [k for k in served if k not in known.pool.classes]
    others.sort(key=lambda k: (-np.count_nonzero(served[k]), k))
    beside, rate = known.beside_per_s.copy(), known.rate_per_s
    for serves in list(product((False, True), repeat=len(others)))[1:]:
        asked = [k for k, whether in zip(others, serves, strict=True) if whether]
        alike = [served[k] == whether for k, whether in zip(others, serves, strict=True)]
        rows = np.flatnonzero(np.logical_and.reduce([rate > 0, *alike]))
        if not rows.size:
            continue
        least = _with_traces(options, known, asked, rows)
        falls, least = rows[least < rate[rows] * (1 - SAME)], least[least < rate[rows] * (1 - SAME)]
        for k in asked[:-1]:
            beside[falls, k] = _with_traces(options, known, [k], falls)
        told = beside[falls][:, asked[:-1]].min(axis=1, initial=np.inf) > least * (1 + SAME)
        beside[falls[told], asked[-1]] = least[told]
        beside[falls[~told], asked[-1]] = _with_traces(options, known, asked[-1:], falls[~told])
    same = beside >= rate[:, None] * (1 - SAME)
    return replace(known, beside_per_s=np.where(same, rate[:, None], beside))


def _with_traces(options: WorkloadOptions, known: PoolOptions, others: Sequence[int], rows: Ints) -> Floats:
    """(R,) the rate of some configurations where they are sent a trace of other classes, too."""
    mix = options.mix(*with_traces(known.pool.classes, known.pool.mix.share, others))
    return sustainable_rate(options.setup.take(rows), mix, options.limits.take(rows)).rate_per_s


def _by_criterion(columns: Mapping[str, NDArray[Any]], otherwise: NDArray[Any]) -> NDArray[Any]:
    """(P, criteria) one column for each of CONFIGURATION_CRITERIA, each of which is read as a whole."""
    return np.stack([columns.get(criterion.name, otherwise) for criterion in CONFIGURATION_CRITERIA]).T


def _tested_numbers(options: WorkloadOptions, mix: Mix) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """(P,) what the criteria that compare two numbers test, and against what: tokens, GiB, ms of one almost idle.

    What does not depend on the distance from users is worked out once of each configuration.
    """
    row, limits = options.distinct.codes, options.limits
    first = options.distinct.first
    setup, memory, own = options.setup.take(first), options.memory.take(first), limits.margins.take(first)
    needed = memory.usable - memory.kv_capacity + kv_bytes_per_sequence(setup, mix.longest).max(axis=1)
    value = {"context": np.full(len(row), mix.longest.max()), "memory": needed[row] / BYTES_PER_GIB}
    limit = {"context": setup.network.max_context[row], "memory": memory.usable[row] / BYTES_PER_GIB}
    limited = STATISTICS if limits.e2e_s else {**limits.ttft_s, **limits.tpot_s}
    floor = almost_idle(setup, mix, own, tuple(limited))
    for name, bounds in _latencies_when_almost_idle(floor, limits, row).items():
        if bounds:
            value[name], limit[name] = _closest(bounds)
    return value, limit


def _latencies_when_almost_idle(
    floor: OperatingPoint, limits: LatencyLimits, row: Ints
) -> dict[str, list[tuple[Floats, float]]]:
    """(P,) latency bounds of the slowest class on an almost idle replica, with limits, in seconds, by statistic.

    Args:
        floor: Of each configuration.
        limits: Of each row.
        row: (P,) its configuration.
    """
    before_s = limits.before_s
    return {
        "ttft": [(before_s + floor.ttft_s[name].max(axis=1)[row], limit) for name, limit in limits.ttft_s.items()],
        "tpot": [(floor.tpot_s[name][row], limit) for name, limit in limits.tpot_s.items()],
        "e2e": [(before_s + floor.e2e_s[name].max(axis=1)[row], limit) for name, limit in limits.e2e_s.items()],
    }


def _closest(bounds: Sequence[tuple[Floats, float]]) -> tuple[Floats, Floats]:
    """Of several values with limits, the pair whose ratio is largest, row by row, in ms."""
    values = np.column_stack([value for value, _ in bounds]) * MS_PER_S
    limits = np.array([limit for _, limit in bounds]) * MS_PER_S
    tightest = np.argmax(values / limits, axis=1)
    return np.take_along_axis(values, tightest[:, None], axis=1)[:, 0], limits[tightest]
