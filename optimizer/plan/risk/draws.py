"""States of the month ahead, drawn together: demand, prices, what is there, and how far predictions are off.

Everything is driven by independent standard normal numbers, of each uncertainty its own. What moves together shares
one: √r · common + √(1 − r) · own has correlation r with its like (Gaussian copula). A number beyond `MOST_DEVIATIONS`
counts as that many. A spread of three points in percent is a factor whose logarithm is normal below and above its
middle:

    log factor = log(1 + p50) + z / z90 · (log(1 + p90) − log(1 + p50) where z > 0, else log(1 + p50) − log(1 + p10))
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np

from optimizer.base.arrays import Flags, Floats
from optimizer.base.units import DAYS_PER_YEAR, MONTHS_PER_YEAR
from optimizer.inputs.scenario.risk import DaysSpread, Spread
from optimizer.performance.physics.setup import Configuration
from optimizer.plan.risk.spreads import UNCERTAINTIES, PriceClass, Spreads, Uncertainty

MOST_DEVIATIONS: Final = 3.0
Z90: Final = NormalDist().inv_cdf(0.9)


class ErrorKind(NamedTuple):
    """Configurations whose predictions are off alike."""

    gpu: str
    model: str
    engine: str
    precision: str

    @property
    def words(self) -> str:
        """As a draw names it."""
        return f"{self.model} {self.precision} on {self.gpu} with {self.engine}"


def kind_of(configuration: Configuration) -> ErrorKind:
    """Those that a configuration belongs to."""
    return ErrorKind(*(getattr(configuration, name) for name in ErrorKind._fields))


@dataclass(frozen=True)
class Drawn:
    """What has a number of its own in every draw, each list sorted.

    Attributes:
        workloads: (W,) names, in the scenario's order.
        prices: (P,).
        regions: (R,) in which spot capacity comes and goes together, `provider/region`.
        kinds: (K,).
    """

    workloads: tuple[str, ...]
    prices: tuple[PriceClass, ...]
    regions: tuple[str, ...]
    kinds: tuple[ErrorKind, ...]

    @property
    def gpus(self) -> tuple[str, ...]:
        """(G,) of the kinds, sorted."""
        return tuple(sorted({kind.gpu for kind in self.kinds}))

    def normals(self, seed: int, stream: int, count: int) -> dict[Uncertainty, Floats]:
        """(numbers of each uncertainty, S) independent standard normal numbers.

        Args:
            seed: Of the whole answer.
            stream: Samples of different streams are independent.
            count: S.
        """
        sizes = (
            2 + len(self.workloads),
            1 + len(self.prices),
            1,
            1 + len(self.regions),
            len(self.gpus) + len(self.kinds),
        )
        return {
            name: np.random.default_rng([seed, stream, number]).standard_normal((count, size)).T
            for number, (name, size) in enumerate(zip(UNCERTAINTIES, sizes, strict=True))
        }


@dataclass(frozen=True, eq=False)
class States:
    """S equally likely states of the month ahead.

    Attributes:
        demand_factor: (W, S) over the scenario's rates.
        price_factor: (P, S) over today's prices.
        begun: (S,) whether commitments have begun.
        there: (R, S) whether a region has spot capacity.
        deviation: (K, S) by how many standard deviations configurations lie behind their prediction.
    """

    demand_factor: Floats
    price_factor: Floats
    begun: Flags
    there: Flags
    deviation: Floats


def states(drawn: Drawn, spreads: Spreads, normals: Mapping[Uncertainty, Floats]) -> States:
    """What the numbers stand for."""
    correlation, months = spreads.risk.correlation, spreads.risk.months_ahead
    demand = normals["demand"]
    level = percent_factor(spreads.demand, _together(demand[0], demand[2:], correlation.workloads))
    growth = percent_factor(spreads.growth, demand[1]) ** months
    return States(
        demand_factor=level * growth,
        price_factor=_price_factor(drawn, spreads, normals["prices"], demand[0]),
        begun=_begun(spreads.start_days, months, normals["commitment start"][0]),
        there=_there(spreads, normals["spot capacity"]),
        deviation=_deviations(drawn, spreads, normals["predictions"]),
    )


def _price_factor(drawn: Drawn, spreads: Spreads, normals: Floats, of_demand: Floats) -> Floats:
    """(P, S) over today's prices, given (S,) what all demand has in common."""
    correlation, years = spreads.risk.correlation, spreads.risk.months_ahead / MONTHS_PER_YEAR
    # what prices have in common follows what demand has in common as far as the two are correlated
    shared = correlation.demand_and_prices
    common = shared * of_demand + np.sqrt(1 - shared**2) * normals[0]
    moved = _together(common, normals[1:], max(correlation.sellers, shared))
    per_year = [percent_factor(spreads.prices[each], row) for each, row in zip(drawn.prices, moved, strict=True)]
    return np.array(per_year).reshape(len(per_year), len(of_demand)) ** years


def _there(spreads: Spreads, normals: Floats) -> Flags:
    """(R, S) whether a region has spot capacity."""
    spot = _together(normals[0], normals[1:], spreads.risk.correlation.regions)
    share = min(max(spreads.spot_share, 1e-12), 1 - 1e-12)
    limit = np.inf if spreads.spot_share >= 1 else NormalDist().inv_cdf(share)
    return np.asarray(spot <= limit)


def percent_factor(spread: Spread, normal: Floats) -> Floats:
    """1 + percent of a spread at standard normal numbers, of their shape."""
    normal = np.clip(normal, -MOST_DEVIATIONS, MOST_DEVIATIONS) / Z90
    low, middle, high = (np.log1p(percent / 100) for percent in (spread.p10, spread.p50, spread.p90))
    return np.asarray(np.exp(middle + np.where(normal > 0, (high - middle) * normal, (middle - low) * normal)))


def _together(common: Floats, own: Floats, correlation: float) -> Floats:
    """(n, S) numbers of which any two have the correlation."""
    return np.asarray(np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own)


def _begun(days: DaysSpread | None, months: int, normal: Floats) -> Flags:
    """(S,) whether what is signed today has begun in the month ahead."""
    if days is None:
        return np.ones(len(normal), dtype=np.bool_)
    normal = np.clip(normal, -MOST_DEVIATIONS, MOST_DEVIATIONS) / Z90
    rise = np.where(normal > 0, days.p90 - days.p50, days.p50 - days.p10)
    return np.asarray(np.maximum(days.p50 + rise * normal, 0.0) <= months * DAYS_PER_YEAR / MONTHS_PER_YEAR)


def _deviations(drawn: Drawn, spreads: Spreads, normals: Floats) -> Floats:
    """(K, S) errors of each kind, of which those on one GPU have something in common."""
    gpus = drawn.gpus
    if not spreads.risk.prediction_errors:
        return np.zeros((len(drawn.kinds), normals.shape[1]))
    of_gpu = normals[_positions(gpus, [kind.gpu for kind in drawn.kinds])]
    together = _together(of_gpu, normals[len(gpus) :], spreads.same_gpu)
    return np.clip(together, -MOST_DEVIATIONS, MOST_DEVIATIONS)


def _positions(names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    position = {name: number for number, name in enumerate(names)}
    return [position[name] for name in wanted]
