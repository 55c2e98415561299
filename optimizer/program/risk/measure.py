"""What a sample of costs comes to: its mean, its tail, and the two weighted.

The tail at a level a is the mean of the dearest share 1 − a of the draws (conditional value at risk),

    tail = min over c of  c + mean(max(cost − c, 0)) / (1 − a)

with its minimum at the value at risk. Source: Rockafellar and Uryasev, Optimization of Conditional Value-at-Risk,
Journal of Risk 2(3), 2000.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np

from optimizer.base.arrays import Floats


@dataclass(frozen=True)
class Aim:
    """What is minimized: (1 − weight) · mean + weight · tail.

    Attributes:
        weight: Of the tail.
        level: Share of the draws that it leaves out.
    """

    weight: float
    level: float

    def by_draw(self, cost_usd: Floats, threshold_usd: float) -> Floats:
        """(S,) what each draw adds: their mean is what is minimized at the value at risk, more at other thresholds."""
        beyond = np.maximum(cost_usd - threshold_usd, 0.0)
        return (1 - self.weight) * cost_usd + self.weight * (threshold_usd + beyond / (1 - self.level))

    def of(self, cost_usd: Floats) -> float:
        """What is minimized, of one sample."""
        return float((1 - self.weight) * cost_usd.mean() + self.weight * self.tail(cost_usd))

    def tail(self, cost_usd: Floats) -> float:
        """The mean of the dearest draws."""
        threshold = value_at_risk(cost_usd, self.level)
        beyond = np.maximum(cost_usd - threshold, 0.0)
        return float(threshold + beyond.mean() / (1 - self.level))


def value_at_risk(cost_usd: Floats, level: float) -> float:
    """The least cost that a share of the draws does not exceed."""
    position = max(ceil(level * len(cost_usd) - 1e-9) - 1, 0)
    return float(np.sort(cost_usd)[position])
