"""Configurations as a measurement would show them: other margins, and admitted where only measured ones are."""

from dataclasses import replace

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.performance.candidates.avoiding import letting_in
from optimizer.performance.candidates.options import PoolOptions, WorkloadOptions, pool_options
from optimizer.performance.uncertainty.evidence import Margins


def once_measured(options: WorkloadOptions, margins: Margins) -> WorkloadOptions:
    """The same configurations, each measured by itself and predicted again with the margins that this leaves, (P,)."""
    known = letting_in(options, "measured")
    known = replace(known, limits=replace(known.limits, margins=margins))
    return replace(known, pools=tuple(pool_options(known, each.pool) for each in options.pools))


def partly(own: WorkloadOptions, other: WorkloadOptions, rows: Flags) -> WorkloadOptions:
    """The options where some configurations, (P,), are as in others of the same configurations and pools."""
    pairs = zip(own.pools, other.pools, strict=True)
    of_own, of_other = own.limits.margins, other.limits.margins
    mixed = Margins(*(np.where(rows, vars(of_other)[name], each) for name, each in vars(of_own).items()))
    return replace(
        own,
        limits=replace(own.limits, margins=mixed),
        fixed={name: np.where(rows, other.fixed.get(name, failed), failed) for name, failed in own.fixed.items()},
        pools=tuple(_mixed(pool, another, rows) for pool, another in pairs),
    )


def _mixed(own: PoolOptions, other: PoolOptions, rows: Flags) -> PoolOptions:
    return replace(
        own,
        failed=np.where(rows[:, None], other.failed, own.failed),
        value=np.where(rows[:, None], other.value, own.value),
        rate_per_s=np.where(rows, other.rate_per_s, own.rate_per_s),
        limited_by=np.where(rows, other.limited_by, own.limited_by),
    )
