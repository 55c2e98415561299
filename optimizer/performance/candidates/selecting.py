"""Some of a workload's configurations with all that is known of them: taken by themselves, or put in their place."""

from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Flags, Ints
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.physics.own import OwnFactors


def taken(choice: WorkloadOptions, rows: Ints) -> WorkloadOptions:
    """Some of a workload's configurations, in the given order, with all that is known of them."""
    return replace(
        choice,
        limits=choice.limits.take(rows),
        configurations=tuple(choice.configurations[row] for row in rows),
        distinct=choice.distinct.take(rows),
        kind=choice.kind[rows],
        gpus_per_replica=choice.gpus_per_replica[rows],
        setup=choice.setup.take(rows),
        memory=choice.memory.take(rows),
        quality=tuple(choice.quality[row] for row in rows),
        fixed={name: failed[rows] for name, failed in choice.fixed.items()},
        pools=tuple(pool.take(rows) for pool in choice.pools),
    )


def partly(own: WorkloadOptions, other: WorkloadOptions, rows: Flags) -> WorkloadOptions:
    """The options where some configurations, (P,), are as in others of the same configurations and pools."""
    wanted = np.flatnonzero(rows)
    return with_rows(own, wanted, taken(other, wanted))


def with_rows(options: WorkloadOptions, rows: Ints, others: WorkloadOptions) -> WorkloadOptions:
    """The options with some configurations as others, in the given order, are predicted."""
    limits, moved = options.limits, others.setup.own
    own = options.setup.own if moved is None else (options.setup.own or OwnFactors.none(options.setup.rows))
    fixed = dict(options.fixed)
    for name in fixed.keys() & others.fixed.keys():
        fixed[name] = fixed[name].copy()
        fixed[name][rows] = others.fixed[name]
    return replace(
        options,
        setup=replace(options.setup, own=own if own is None or moved is None else own.put(rows, moved)),
        limits=replace(limits, margins=limits.margins.put(rows, others.limits.margins)),
        fixed=fixed,
        pools=tuple(known.put(rows, other) for known, other in zip(options.pools, others.pools, strict=True)),
    )
