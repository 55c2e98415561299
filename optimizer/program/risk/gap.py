"""How far purchases that are best over samples may be from the best over all there is to draw.

The optimum of a sample lies, in the mean over samples, no higher than the true one; what fixed purchases come to in
draws that they were not chosen by lies, in the mean, no lower. With m batches and one further sample of n draws,

    lower = mean of the batches' optima, ± t(m − 1) · deviation / √m
    upper = mean over the further sample, ± z · deviation / √n
    gap   = upper − lower, at most (upper + its half-width) − (lower − its half-width)

Source: Mak, Morton and Wood, Monte Carlo bounding techniques for determining solution quality in stochastic programs,
Operations Research Letters 24, 1999. Where a batch was not solved to its optimum its proven bound stands for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from optimizer.base.arrays import Floats, Ints
from optimizer.base.clock import Clock
from optimizer.program.risk.measure import Aim, value_at_risk
from optimizer.program.risk.problem import RiskProblem, outcome
from optimizer.program.risk.sample_average import Bought, best_purchases

CONFIDENCE: Final = 0.95
"""Of each of the two intervals, one side."""

STUDENT_95: Final = (6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761)
"""Quantiles of Student's distribution at `CONFIDENCE` by degrees of freedom, from 1 on."""


@dataclass(frozen=True)
class SampleMean:
    """A mean and what is to be added or taken off at `CONFIDENCE`."""

    usd: float
    half_width_usd: float


@dataclass(frozen=True)
class SampleGap:
    """What is known of the purchases beyond their sample.

    Attributes:
        lower: No purchases come to less.
        upper: What those chosen come to.
        batches: Samples that were solved.
    """

    lower: SampleMean
    upper: SampleMean
    batches: int

    @property
    def gap_usd(self) -> float:
        """The difference of the two; no less than 0."""
        return max(self.upper.usd - self.lower.usd, 0.0)

    @property
    def most_gap_usd(self) -> float:
        """The same with both half-widths."""
        return max(self.upper.usd + self.upper.half_width_usd - self.lower.usd + self.lower.half_width_usd, 0.0)


@dataclass(frozen=True, eq=False)
class Chosen:
    """The purchases that are best over all batches of those that are best over one, and how good they are.

    Attributes:
        counts: (U,).
        gap: None where fewer than two batches were solved.
        proven: Whether every batch was solved to within the gap that was asked for.
    """

    counts: Ints
    gap: SampleGap | None
    proven: bool


def chosen(
    batches: Sequence[RiskProblem], pooled: RiskProblem, judged: RiskProblem, aim: Aim, clock: Clock, gap: float
) -> Chosen | None:
    """The purchases to be judged; None where no batch has any.

    Args:
        batches: Problems over one sample each, of the same purchases.
        pooled: The problem over all of their draws, by which one of their answers is chosen.
        judged: The problem over draws of none of them.
        aim: What is minimized.
        clock: Shared evenly by what is left to solve; batches after its end are left out.
        gap: Search no further than proven within this share of a batch's optimum.
    """
    found = list[Bought]()
    for number, batch in enumerate(batches):
        if number and clock.expired:
            break
        found.append(best_purchases(batch, aim, clock.share(1 / (len(batches) - number)), gap))
    having = [each for each in found if len(each.counts)]
    if not having:
        return None
    pooled_usd = [aim.of(outcome(pooled, each.counts).cost_usd) for each in having]
    best = having[int(np.argmin(pooled_usd))]
    threshold = value_at_risk(outcome(pooled, best.counts).cost_usd, aim.level)
    by_draw = aim.by_draw(outcome(judged, best.counts).cost_usd, threshold)
    bounds = np.array([each.bound_usd for each in found])
    proven = len(found) == len(batches) and all(
        each.aim_usd - each.bound_usd <= max(gap, 1e-6) * each.aim_usd for each in found
    )
    known = None if len(found) < 2 else SampleGap(_lower(bounds), _upper(by_draw), len(found))
    return Chosen(best.counts, known, proven)


def _lower(bounds_usd: Floats) -> SampleMean:
    freedom = len(bounds_usd) - 1
    quantile = STUDENT_95[min(freedom, len(STUDENT_95)) - 1]
    return SampleMean(float(bounds_usd.mean()), quantile * float(bounds_usd.std(ddof=1)) / len(bounds_usd) ** 0.5)


def _upper(by_draw_usd: Floats) -> SampleMean:
    quantile = NormalDist().inv_cdf(CONFIDENCE)
    width = quantile * float(by_draw_usd.std(ddof=1)) / len(by_draw_usd) ** 0.5
    return SampleMean(float(by_draw_usd.mean()), width)
