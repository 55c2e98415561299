"""Every configuration for every pool of requests, all criteria evaluated as arrays, nothing dropped in silence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.units import BYTES_PER_GIB, MS_PER_S
from optimizer.inputs.catalog.quality import QualityEstimate
from optimizer.inputs.catalog.records import Catalogs, Model
from optimizer.inputs.scenario.scenario import Latency, Policy, Scenario, Workload
from optimizer.performance.candidates.blends import (
    INWARD,
    Blend,
    apart,
    around_the_whole,
    corners_around,
    face_around,
    split,
)
from optimizer.performance.candidates.enumeration import BoolArray, Kind, configurations_of, fixed_failures, qualities
from optimizer.performance.candidates.predict import Limits, Mix, OperatingPoint, idle, sustainable_rate
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA
from optimizer.performance.market.market import Market, permitted
from optimizer.performance.physics.memory import MemoryUse, kv_bytes_per_sequence, memory_use
from optimizer.performance.physics.setup import Configuration, Setup, gather
from optimizer.performance.uncertainty.evidence import Margins, margins

FloatArray = Floats
WHOLE_MIX, MIXED = "all", "mixed"
MOST_SPLITS = 4
"""Mixes predicted after one plan; a week's periods may break one each, and most are close to the worst."""


@dataclass(frozen=True)
class Pool:
    """Requests that one deployment serves together: one class, the workload's whole mix in its shares, or a mix that
    was predicted because a plan ran it."""

    name: str
    classes: tuple[int, ...]
    """Positions in the workload's classes."""
    mix: Mix


@dataclass(frozen=True)
class Broken:
    """A mix between others that a plan gave a replica more of than it sustains.

    Attributes:
        home: Position of the workload in the scenario.
        share: Of each of the workload's classes, (K,).
        excess: Load over what holds, above 1.
    """

    home: int
    share: tuple[float, ...]
    excess: float


@dataclass(frozen=True)
class PoolOptions:
    """What every configuration of a workload would deliver to one pool.

    Attributes:
        failed: (P, criteria) whether a configuration fails each of CONFIGURATION_CRITERIA.
        value: (P, criteria) the number that was tested; NaN where a test compares no numbers.
        limit: (P, criteria) what it was tested against.
        rate_per_s: (P,) the largest rate of one replica within the limits; 0 for those that fail a criterion
            which no load can mend.
        limited_by: (P,) index into LIMITS of what stops a higher rate.
    """

    pool: Pool
    failed: BoolArray
    value: FloatArray
    limit: FloatArray
    rate_per_s: FloatArray
    limited_by: Ints

    @property
    def passed(self) -> BoolArray:
        """(P,) whether a configuration passes every criterion."""
        passed: BoolArray = ~np.any(self.failed, axis=1)
        return passed


@dataclass(frozen=True)
class Variant:
    """A workload as one of its models would serve it.

    Attributes:
        home: Position of the workload in the scenario.
        workload: The workload with that model and no others; the scenario's own where it lists no others.
        model_quality: The model's benchmark score as a share of the first model's.
    """

    home: int
    workload: Workload
    model_quality: float


@dataclass(frozen=True)
class WorkloadOptions:
    """All configurations of one workload's model (P), with what each delivers to each pool.

    A workload with alternative models has options for each of them.
    """

    home: int
    """Position of the workload in the scenario."""
    workload: Workload
    """As this model would serve it."""
    model_quality: float
    """The model's benchmark score as a share of the workload's first model's."""
    model: Model
    limits: Limits
    configurations: tuple[Configuration, ...]
    kind: Ints
    """(P,) index into `kinds`: configurations of one kind fit the same offers."""
    kinds: tuple[Kind, ...]
    """Distinct platforms with the GPUs of a replica; single-GPU replicas need no link."""
    fits: BoolArray
    """(kinds, O) whether one instance of an offer can hold a replica of the kind where the workload's own lists permit
    it, whatever the policy admits."""
    permitted: BoolArray
    """(O,) whether the workload's own lists of providers, regions and countries permit an offer."""
    gpus_per_replica: Ints
    setup: Setup
    memory: MemoryUse
    quality: tuple[QualityEstimate | None, ...]
    """(P,) of the model and its precision together, against the workload's first model in 16 bit."""
    fixed: Mapping[str, BoolArray]
    """(P,) failures of the criteria that need no prediction."""
    pools: tuple[PoolOptions, ...]
    blends: tuple[Blend, ...]
    """Which pools may meet on one replica."""


def evaluate(scenario: Scenario, catalogs: Catalogs, offers: Market) -> tuple[WorkloadOptions, ...]:
    """All options of every workload with every model it may use, on all that is offered, in the order of `variants`."""
    return tuple(_workload_options(variant, scenario.policy, catalogs, offers) for variant in variants(scenario))


def variants(scenario: Scenario) -> tuple[Variant, ...]:
    """Every workload with each of its models, in the scenario's order, the first model first."""
    return tuple(
        Variant(home, _served_by(workload, model), quality)
        for home, workload in enumerate(scenario.workloads)
        for model, quality in ((workload.model, 1.0), *((item.model, item.quality) for item in workload.alternatives))
    )


def _served_by(workload: Workload, model: str) -> Workload:
    return workload.model_copy(update={"model": model, "alternatives": ()}) if workload.alternatives else workload


def _fits(kinds: Sequence[Kind], offers: Market) -> BoolArray:
    """(kinds, O): the same GPU, enough of them in one instance and, for several, joined in the same way."""
    gpu = np.array([platform[0] for platform in offers.platforms], dtype=object)
    rows = []
    for platform, size in kinds:
        alike = gpu == platform[0] if size == 1 else np.array([other == platform for other in offers.platforms])
        rows.append(alike[offers.platform] & (offers.gpu_count >= size))
    return np.array(rows, dtype=bool)


def re_rated(options: WorkloadOptions, workload: Workload, confidence: float, catalogs: Catalogs) -> WorkloadOptions:
    """The same configurations under other service levels or another confidence."""
    limits = limits_of(workload, margins(catalogs, options.configurations, confidence))
    pools = tuple(
        _pool_options(known.pool, options.setup, options.memory, limits, options.fixed) for known in options.pools
    )
    return replace(options, workload=workload, limits=limits, pools=pools)


def with_mixes_predicted(options: WorkloadOptions, broken: Sequence[Broken]) -> WorkloadOptions:
    """The same where the worst of the broken mixes are predicted ones and nothing is added up across them."""
    for found in sorted(broken, key=lambda each: (-each.excess, each.share))[:MOST_SPLITS]:
        shares = np.array([_share_of_class(known.pool, len(found.share)) for known in options.pools])
        face, share = face_around(options.blends, shares, np.array(found.share)), np.array(found.share)
        if len(face) > 1:
            number = len(options.pools)
            options, inward = _with_pool(options, share), dict[int, int]()
            for corner in corners_around(options.blends, face):
                if options.pools[corner].pool.classes != options.pools[number].pool.classes:
                    inward[corner] = len(options.pools)
                    options = _with_pool(options, (1 - INWARD) * shares[corner] + INWARD * share)
            options = replace(options, blends=split(options.blends, face, number, inward))
    return options


def _share_of_class(pool: Pool, classes: int) -> FloatArray:
    share = np.zeros(classes)
    share[list(pool.classes)] = pool.mix.share
    return share


def _with_pool(options: WorkloadOptions, share: FloatArray) -> WorkloadOptions:
    """One more mix predicted, from the share of each of the workload's classes, (K,)."""
    classes = tuple(np.flatnonzero(share).tolist())
    pool = Pool(f"{MIXED}{len(options.pools)}", classes, mix_of(options.workload, classes, share[list(classes)]))
    predicted = _pool_options(pool, options.setup, options.memory, options.limits, options.fixed)
    return replace(options, pools=(*options.pools, predicted))


def with_mixes_apart(options: WorkloadOptions) -> WorkloadOptions:
    """The same where every replica serves one of the predicted mixes and nothing is added up."""
    return replace(options, blends=apart(len(options.pools)))


def limits_of(workload: Workload, margins_of_rows: Margins) -> Limits:
    """The workload's service levels in seconds, with each configuration's margins."""
    slo = workload.slo

    def in_seconds(latency: Latency | None) -> dict[str, float]:
        return {name: ms / MS_PER_S for name, ms in latency.limits_ms().items()} if latency else {}

    return Limits(
        ttft_s=in_seconds(slo.ttft_ms),
        tpot_s=in_seconds(slo.tpot_ms),
        e2e_s=in_seconds(slo.e2e_ms),
        ttft_overhead_s=slo.ttft_overhead_ms / MS_PER_S,
        margins=margins_of_rows,
    )


def pools_of(workload: Workload) -> tuple[Pool, ...]:
    """The whole mix first, then each class alone where there is more than one."""
    classes = workload.classes()
    share = np.array([item.share for item in classes])
    everything = Pool(WHOLE_MIX, tuple(range(len(classes))), mix_of(workload, range(len(classes)), share))
    if len(classes) == 1:
        return (everything,)
    return (everything, *(Pool(item.name, (k,), mix_of(workload, [k], np.ones(1))) for k, item in enumerate(classes)))


def mix_of(workload: Workload, positions: Sequence[int], share: FloatArray) -> Mix:
    """Some of a workload's classes, in shares that need not add up to 1."""
    chosen = [workload.classes()[k] for k in positions]
    return Mix(
        input_tokens=np.array([item.input_tokens for item in chosen], dtype=float),
        output_tokens=np.array([item.output_tokens for item in chosen], dtype=float),
        share=share / share.sum(),
        cached_input_share=workload.cached_input_share,
    )


def _workload_options(variant: Variant, policy: Policy, catalogs: Catalogs, offers: Market) -> WorkloadOptions:
    workload = variant.workload
    model = catalogs.model(workload.model)
    pairs = configurations_of(workload.model, catalogs, offers.widest(), policy)
    configurations = tuple(configuration for configuration, _ in pairs)
    setup = gather(catalogs, configurations)
    memory = memory_use(setup)
    quality = qualities(configurations, catalogs, variant.model_quality)
    limits = limits_of(workload, margins(catalogs, configurations, policy.confidence))
    fixed = fixed_failures(configurations, workload, policy, catalogs, quality)
    fixed["engine_calibrated"] = ~setup.constants.known
    kinds = tuple(dict.fromkeys(kind for _, kind in pairs))
    position = {kind: index for index, kind in enumerate(kinds)}
    allowed = permitted(workload, offers)
    pools = tuple(_pool_options(pool, setup, memory, limits, fixed) for pool in pools_of(workload))
    return WorkloadOptions(
        home=variant.home,
        workload=workload,
        model_quality=variant.model_quality,
        model=model,
        limits=limits,
        configurations=configurations,
        kind=np.array([position[kind] for _, kind in pairs], dtype=np.int64),
        kinds=kinds,
        fits=_fits(kinds, offers) & allowed,
        permitted=allowed,
        gpus_per_replica=np.array([size for _, (_, size) in pairs], dtype=np.int64),
        setup=setup,
        memory=memory,
        quality=quality,
        fixed=fixed,
        pools=pools,
        blends=around_the_whole(len(workload.classes())),
    )


def _pool_options(
    pool: Pool, setup: Setup, memory: MemoryUse, limits: Limits, fixed: Mapping[str, BoolArray]
) -> PoolOptions:
    """All criteria of one pool, each evaluated for every configuration whether or not another one failed.

    Only the search for the largest rate leaves out configurations that already failed: no rate would be theirs.
    """
    longest = pool.mix.input_tokens + pool.mix.output_tokens
    request_bytes = kv_bytes_per_sequence(setup, longest).max(axis=1)
    numbers = {
        "context": (np.full(setup.rows, longest.max()), setup.network.max_context),
        "memory": ((memory.usable - memory.kv_capacity + request_bytes) / BYTES_PER_GIB, memory.usable / BYTES_PER_GIB),
        **_latencies_when_idle(idle(setup, pool.mix), limits),
    }
    predicted = ~fixed["engine_calibrated"]
    failed = {
        **fixed,
        "peak_known": ~(setup.hardware.scheme_flops > 0),
        **{name: ~(value <= limit) & predicted for name, (value, limit) in numbers.items()},
    }
    hopeful = np.flatnonzero(~np.logical_or.reduce(list(failed.values())))
    found = sustainable_rate(setup.take(hopeful), pool.mix, limits.take(hopeful))
    rate, limited_by = np.zeros(setup.rows), np.zeros(setup.rows, dtype=np.intp)
    rate[hopeful], limited_by[hopeful] = found.rate_per_s, found.limited_by
    failed["load"] = np.isin(np.arange(setup.rows), hopeful) & (rate <= 0)
    held, blank = np.zeros(setup.rows, dtype=bool), np.full(setup.rows, np.nan)
    names = [criterion.name for criterion in CONFIGURATION_CRITERIA]
    return PoolOptions(
        pool=pool,
        failed=np.column_stack([failed.get(name, held) for name in names]),
        value=np.column_stack([numbers.get(name, (blank, blank))[0] for name in names]),
        limit=np.column_stack([numbers.get(name, (blank, blank))[1] for name in names]),
        rate_per_s=rate,
        limited_by=limited_by,
    )


def _latencies_when_idle(floor: OperatingPoint, limits: Limits) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Latency bounds on an idle replica in ms against their limits: the statistic and class that come closest."""
    slow_ttft, slow_tpot = limits.margins.ttft, limits.margins.tpot
    slow = np.maximum(slow_ttft, slow_tpot)
    bounds: dict[str, list[tuple[FloatArray, float]]] = {
        "ttft": [
            (limits.ttft_overhead_s + slow_ttft * floor.ttft_s[name].max(axis=1), limit)
            for name, limit in limits.ttft_s.items()
        ],
        "tpot": [(slow_tpot * floor.tpot_s[name], limit) for name, limit in limits.tpot_s.items()],
        "e2e": [
            (limits.ttft_overhead_s + slow * floor.e2e_s[name].max(axis=1), limit)
            for name, limit in limits.e2e_s.items()
        ],
    }
    return {name: _closest(found) for name, found in bounds.items() if found}


def _closest(bounds: Sequence[tuple[FloatArray, float]]) -> tuple[FloatArray, FloatArray]:
    """Of several values with limits, the pair whose ratio is largest, row by row, in ms."""
    values = np.column_stack([value for value, _ in bounds]) * MS_PER_S
    limits = np.array([limit for _, limit in bounds]) * MS_PER_S
    tightest = np.argmax(values / limits, axis=1)
    return np.take_along_axis(values, tightest[:, None], axis=1)[:, 0], limits[tightest]
