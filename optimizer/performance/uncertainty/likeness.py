"""What measurements tell of predictions near them: the normal model by which errors of one's own deployments spread.

The logarithms of measured over predicted are taken as jointly normal around 0. Of one engine on one GPU they correlate
the more the more two rows have in common (`deployment_shares` in the catalogs); of other engines or GPUs not at all.
With K the correlations of n measurements e among each other and k those with a row that is asked about,

    mean = kᵀ K⁻¹ e        deviation left = min(1, c · √(1 − kᵀ K⁻¹ k)) of what it was

Errors have heavier tails than the normal model's; c widens what is left so that intervals keep their word (`spread`).
Levels are nested and the kind of load is a factor, so K is positive definite. Source: best linear unbiased prediction
of nested random effects, Robinson, That BLUP is a good thing, Statistical Science, 1991.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from optimizer.base.arrays import Floats, Names
from optimizer.inputs.catalog.records import DeploymentShare
from optimizer.performance.physics.row_arrays import RowArrays

LEVELS: Final = ("gpu", "model", "configuration")
"""From the least in common to the most; each holds those before it."""

LOAD: Final = "load"
SPREAD: Final = "spread"

Shares = Mapping[tuple[str, str], float]
"""By metric and what is alike."""


@dataclass(frozen=True)
class Strata(RowArrays):
    """Where rows stand, (n,): names that are equal where rows have that in common, and the kind of their load."""

    gpu: Names
    model: Names
    configuration: Names
    load: Names


class Told(NamedTuple):
    """What measurements tell of m rows: the mean error, and what is left of its deviation as a share, (m,)."""

    mean: Floats
    left: Floats


def shares_of(rows: Iterable[DeploymentShare]) -> Shares:
    """The shares of the catalog."""
    return {(row.metric, row.alike): row.value for row in rows}


def correlations(shares: Shares, metric: str, rows: Strata, others: Strata) -> Floats:
    """Of the errors of rows with those of other rows, (m, n)."""
    found = np.zeros((len(rows.load), len(others.load)))
    for level in LEVELS:
        same = getattr(rows, level)[:, None] == getattr(others, level)[None, :]
        found = np.where(same, shares[metric, level], found)
    same_load = rows.load[:, None] == others.load[None, :]
    return np.asarray(found * np.where(same_load, 1.0, shares[metric, LOAD]))


def told(shares: Shares, metric: str, errors: Floats, measured: Strata, rows: Strata) -> Told:
    """What n measured rows tell of others.

    Args:
        shares: Of the catalog.
        metric: `tpot`, `ttft` or `throughput`.
        errors: log measured − log predicted, (n,).
        measured: Where the measured rows stand.
        rows: Where the others stand, m of them.
    """
    among, across = _among(shares, metric, measured), correlations(shares, metric, rows, measured)
    weights = np.linalg.solve(among, across.T).T
    return Told(weights @ errors, _widened(shares, metric, 1 - np.sum(weights * across, axis=1)))


def told_by_the_others(shares: Shares, metric: str, errors: Floats, measured: Strata) -> Told:
    """What all other measured rows tell of each, (n,): with P = K⁻¹ row i is e − (P e)_i / P_ii and 1/P_ii is left.

    Source: leave-one-out formulas of Gaussian processes, Rasmussen and Williams, 2006, equation 5.12.
    """
    precision = np.linalg.inv(_among(shares, metric, measured))
    own = np.diag(precision)
    return Told(errors - (precision @ errors) / own, _widened(shares, metric, 1 / own))


def told_once_more(shares: Shares, metric: str, errors: Floats, left: Floats) -> Told:
    """What one more point tells of others of its configuration under its load, of which something may be known, (n,).

    With ρ what such points have in common and v the variance left of each of them, 1 − ρ of it is nobody else's:

        mean = e (v − 1 + ρ) / v        variance left = v − (v − 1 + ρ)² / v

    Args:
        shares: Of the catalog.
        metric: `tpot` or `ttft`.
        errors: log measured − log predicted, of predictions that all earlier points moved.
        left: What these left of the deviation; 1 where there are none.
    """
    known = (left / shares.get((metric, SPREAD), 1.0)) ** 2
    variance = np.where(left < 1, np.minimum(known, 1.0), 1.0)
    common = np.maximum(variance - 1 + shares[metric, LEVELS[-1]], 0.0)
    after = _widened(shares, metric, variance - common**2 / variance)
    return Told(errors * common / variance, np.minimum(after, left))


def _among(shares: Shares, metric: str, measured: Strata) -> Floats:
    found = correlations(shares, metric, measured, measured)
    # a measurement tells all of itself
    np.fill_diagonal(found, 1.0)
    return found


def _widened(shares: Shares, metric: str, variance: Floats) -> Floats:
    """What is left of a deviation, whose variance is this share, with the tails that errors have."""
    return np.minimum(shares.get((metric, SPREAD), 1.0) * np.sqrt(variance), 1.0)
