"""Rates that a simulation found too high: what replicas sustain of a workload, lowered to what they hold."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final, NamedTuple

import numpy as np

from optimizer.base.arrays import Floats
from optimizer.base.once_of import OnceOf
from optimizer.inputs.scenario.scenario import Workload
from optimizer.performance.candidates.counted import CountedShares, FoundMix
from optimizer.performance.candidates.options import PoolOptions, WorkloadOptions
from optimizer.performance.candidates.pools import with_traces
from optimizer.performance.market.criteria import CONFIGURATION_CRITERIA
from optimizer.performance.physics.categorical import Categorical
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


_KIN: Final = OnceOf[Categorical[Configuration], list[Kin]](
    lambda distinct: [kin_of(each) for each in distinct.categories]
)


class SimulatedMix(NamedTuple):
    """A mix of a workload's classes, by name: their shares, and those whose promises were in doubt."""

    share: tuple[tuple[str, float], ...]
    in_doubt: tuple[str, ...]


@dataclass(frozen=True)
class LoweredRate:
    """What a replica holds of a workload.

    Attributes:
        workload: Its name.
        kin: Configurations alike; None for all of which nothing else is known.
        counted_share: Of the rate that formulas predict; 0 where none holds.
        at_load: Of that, the most that a plan sends a replica, so that this is just what it holds.
        mix: What was simulated; None where that speaks for every mix of the workload's classes.
    """

    workload: str
    kin: Kin | None
    counted_share: float
    at_load: float
    mix: SimulatedMix | None = None

    def counted_at(self, highest_load: float) -> float:
        """The share under a policy that lets a plan send a replica more or less: what it holds stays what it is."""
        if highest_load == self.at_load:
            return self.counted_share
        return min(self.counted_share * self.at_load / highest_load, 1.0)


def last_of_each(lowered: Iterable[LoweredRate]) -> tuple[LoweredRate, ...]:
    """Of several findings of the same the last one."""
    return tuple({(each.workload, each.kin, each.mix): each for each in lowered}.values())


def counted_shares(
    lowered: Sequence[LoweredRate], workload: Workload, kin: Sequence[Kin], highest_load: float
) -> CountedShares:
    """What is counted on of configurations; of several findings that count for every mix the last does.

    Args:
        lowered: What was found.
        workload: Theirs.
        kin: (P,) whom each configuration belongs to.
        highest_load: The most that the policy lets a plan send a replica, of what it sustains.
    """
    own = [each for each in lowered if each.workload == workload.name]
    everywhere = {each.kin: each.counted_at(highest_load) for each in own if each.mix is None}
    of_mixes = [(each, each.mix) for each in own if each.mix is not None]
    otherwise = everywhere.get(None, 1.0)
    names = [item.name for item in workload.classes()]
    return CountedShares(
        np.array([everywhere.get(each, otherwise) for each in kin]),
        np.array(
            [[each.counted_at(highest_load) if each.kin == k else 1.0 for each, _ in of_mixes] for k in kin]
        ).reshape(len(kin), len(of_mixes)),
        tuple(_found_mix(mix, names) for _, mix in of_mixes),
    )


def _found_mix(mix: SimulatedMix, names: Sequence[str]) -> FoundMix:
    """The same by the position of the workload's classes."""
    share = dict(mix.share)
    return FoundMix(
        np.array([share.get(name, 0.0) for name in names]), np.array([name in mix.in_doubt for name in names])
    )


def others_lowered(lowered: Sequence[LoweredRate]) -> tuple[LoweredRate, ...]:
    """What is counted on of all other configurations, where two unlike ones held less of a workload than predicted.

    The most that any of them held is taken for the rest. It ends rounds in which the next best that nobody simulated is
    chosen and breaks the same promise, and costs what a simulation would have let the rest do: see
    `answers.planning.tried`.
    """
    known: dict[str, dict[Kin, LoweredRate]] = {}
    for each in lowered:
        if each.kin is not None:
            own = known.setdefault(each.workload, {})
            # of several mixes the most, of one what was found last
            more = (
                each.kin in own and each.mix != own[each.kin].mix and each.counted_share < own[each.kin].counted_share
            )
            own[each.kin] = own[each.kin] if more else each
    most = [max(own.values(), key=attrgetter("counted_share")) for own in known.values() if len(own) > 1]
    return tuple(replace(each, kin=None, mix=None) for each in most)


def with_lowered(options: WorkloadOptions, lowered: Sequence[LoweredRate], highest_load: float) -> WorkloadOptions:
    """The same candidates, of which some sustain only what a simulation found.

    Args:
        options: Of one workload.
        lowered: What was found.
        highest_load: The most that the policy lets a plan send a replica, of what it sustains.
    """
    if options.workload.name not in {each.workload for each in lowered}:
        return options
    kin, before = _KIN(options.distinct), options.limits.counted
    counted = counted_shares(lowered, options.workload, kin, highest_load)
    counted = counted.take(options.distinct.codes)
    pools = tuple(_fallen(pool, before, counted) for pool in options.pools)
    return replace(options, limits=replace(options.limits, counted=counted), pools=pools)


def _fallen(known: PoolOptions, before: CountedShares, now: CountedShares) -> PoolOptions:
    """The same where less is counted on; of a trace of another class beside the mix, what is of both."""
    mix = known.pool.mix
    fall = _fall(before, now, mix.classes, mix.share)
    failed = known.failed.copy()
    failed[:, LOAD] |= fall <= 0
    rate, beside = known.rate_per_s * fall, known.beside_per_s * fall[:, None]
    for k in set(range(beside.shape[1])) - set(mix.classes):
        with_k = known.beside_per_s[:, k] * _fall(before, now, *with_traces(mix.classes, mix.share, [k]))
        beside[:, k] = np.minimum(rate, with_k)
    return replace(known, rate_per_s=rate, beside_per_s=beside, failed=failed)


def _fall(before: CountedShares, now: CountedShares, classes: Sequence[int], share: Floats) -> Floats:
    """(P,) what is counted on of a mix over what was."""
    own, other = (each.at(classes, share) for each in (before, now))
    fall: Floats = other / np.where(own > 0, own, 1.0)
    return fall
