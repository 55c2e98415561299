"""Rates that a simulation found too high: what replicas sustain of a workload, lowered to what they hold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.performance.candidates.options import PoolOptions, WorkloadOptions
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA
from optimizer.performance.physics.setup import Configuration

LOAD = [criterion.name for criterion in CONFIGURATION_CRITERIA].index("load")


class Kin(NamedTuple):
    """What configurations agree in whose predictions are taken to be off alike: engine and cache may differ."""

    model: str
    gpu: str
    precision: str
    tensor_parallel: int
    pipeline_parallel: int
    speculation: str = ""


def kin_of(configuration: Configuration) -> Kin:
    """Those that a configuration belongs to."""
    return Kin(*(getattr(configuration, field) for field in Kin._fields))


@dataclass(frozen=True)
class LoweredRate:
    """What a replica holds of a workload.

    Attributes:
        workload: Its name.
        kin: Configurations alike; None for all of which nothing else is known.
        counted_share: Of the rate that formulas predict, of every mix of the workload's classes; 0 where none holds.
        at_load: Of that, the most that a plan sends a replica, so that this is just what it holds.
    """

    workload: str
    kin: Kin | None
    counted_share: float
    at_load: float

    def counted_at(self, highest_load: float) -> float:
        """The share under a policy that lets a plan send a replica more or less: what it holds stays what it is."""
        if highest_load == self.at_load:
            return self.counted_share
        return min(self.counted_share * self.at_load / highest_load, 1.0)


def others_lowered(lowered: Sequence[LoweredRate]) -> tuple[LoweredRate, ...]:
    """What is counted on of all other configurations, where two unlike ones held less of a workload than predicted.

    The most that any of them held is taken for the rest. It ends rounds in which the next best that nobody simulated is
    chosen and breaks the same promise, and costs what a simulation would have let the rest do: see
    `answers.planning.tried`.
    """
    known: dict[str, dict[Kin, LoweredRate]] = {}
    for each in lowered:
        if each.kin is not None:
            known.setdefault(each.workload, {})[each.kin] = each
    most = [max(own.values(), key=attrgetter("counted_share")) for own in known.values() if len(own) > 1]
    return tuple(replace(each, kin=None) for each in most)


def with_lowered(options: WorkloadOptions, lowered: Sequence[LoweredRate], highest_load: float) -> WorkloadOptions:
    """The same candidates, of which some sustain only what a simulation found; of several findings the last counts.

    Args:
        options: Of one workload.
        lowered: What was found.
        highest_load: The most that the policy lets a plan send a replica, of what it sustains.
    """
    own = {each.kin: each.counted_at(highest_load) for each in lowered if each.workload == options.workload.name}
    if not own:
        return options
    otherwise = own.get(None, 1.0)
    distinct = options.distinct
    held = distinct.by_row([own.get(kin_of(configuration), otherwise) for configuration in distinct.categories])
    fall = held / np.where(options.limits.counted_share > 0, options.limits.counted_share, 1.0)
    limits = replace(options.limits, counted_share=held)
    return replace(options, limits=limits, pools=tuple(_fallen(pool, fall) for pool in options.pools))


def _fallen(pool: PoolOptions, fall: Floats) -> PoolOptions:
    failed = pool.failed.copy()
    failed[:, LOAD] |= fall <= 0
    return replace(pool, rate_per_s=pool.rate_per_s * fall, failed=failed)
