"""Configurations of which nobody published something, kept out or let in again: their rates stay known."""

from dataclasses import replace
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags
from optimizer.inputs.catalog.quality import unpublished_few_bits
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA
from optimizer.performance.uncertainty.evidence import unmeasured

NAMES: Final = tuple(criterion.name for criterion in CONFIGURATION_CRITERIA)


def keeping_to_measured(options: WorkloadOptions, catalogs: Catalogs) -> WorkloadOptions:
    """The options where nothing serves that nobody measured the like of."""
    distinct = options.distinct
    return _failing(options, "measured", distinct.by_row(unmeasured(catalogs, distinct.categories), np.bool_))


def keeping_to_published(options: WorkloadOptions, catalogs: Catalogs) -> WorkloadOptions:
    """The options where no weights of few bits serve whose quality nobody published."""
    precision = options.distinct.grouped([each.precision for each in options.distinct.categories])
    model, by_family = options.workload.model, options.workload.quality_by_family
    unknown = precision.passing(lambda name: unpublished_few_bits(catalogs, model, name, by_family=by_family))
    return _failing(options, "published", unknown)


def letting_in(options: WorkloadOptions, criterion: str) -> WorkloadOptions:
    """The options where one of the two is not held against them."""
    return _failing(options, criterion, np.zeros(len(options.configurations), dtype=np.bool_))


def _failing(options: WorkloadOptions, criterion: str, rows: Flags) -> WorkloadOptions:
    column = NAMES.index(criterion)
    pools = []
    for pool in options.pools:
        failed = pool.failed.copy()
        failed[:, column] = rows
        pools.append(replace(pool, failed=failed))
    return replace(options, fixed={**options.fixed, criterion: rows}, pools=tuple(pools))
