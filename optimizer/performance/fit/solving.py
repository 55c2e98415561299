"""Solves a fit: the constants at which the figures that may speak about each of them and its prior pull equally.

With r the residuals, J their derivatives, I those of them that count (`influence`), W the weights of the robust loss
and P the pull of the priors, the solution has, for every constant,

    Iᵀ W r + PᵀP x = 0

Close to x the residuals are linear, r(x + d) ≈ r + J d, so that one reweighted least-squares problem gives d; from
afar steps are shortened. Reference: Holland and Welsch, Robust regression using iteratively reweighted least-squares,
1977; where I is not J the equation is a cut of the joint fit (Plummer, Cuts in Bayesian graphical models, 2015).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from optimizer.base.arrays import Flags, Floats, Ints
from optimizer.performance.fit.derivatives import influence, jacobian
from optimizer.performance.fit.fitting import FIT, FitProblem, residuals

LONGEST_STEP: Final = 0.5
"""That any constant may take at once, in logarithms."""

STEPS: Final = 40
LESS: Final = 0.5
STILL: Final = 0.02
"""In logarithms: a fit to the other figures ends when no constant moves further."""

TOLERANCE: Final = 5e-5
"""A fit ends when a step changes its cost by less than this share."""


@dataclass(frozen=True)
class Linearized:
    """The fit around some constants.

    Attributes:
        x: The constants, (f,).
        slope: J, (figures, f).
        counted: I, (figures, f).
        residual: r at x, (figures,).
        weight: w of each figure.
        row: The measured row of each figure.
        penalty: PᵀP, (f, f).
        width: c of the loss.
    """

    x: Floats
    slope: Floats
    counted: Floats
    residual: Floats
    weight: Floats
    row: Ints
    penalty: Floats
    width: float

    @property
    def cost(self) -> float:
        """What the fit minimizes, at x."""
        squared = self.width**2 * np.log1p((self.residual / self.width) ** 2)
        return float(self.weight @ squared + self.x @ self.penalty @ self.x)

    @cached_property
    def _weighed(self) -> Floats:
        """Iᵀ W, (f, figures), W at x."""
        robust = self.weight / (1 + (self.residual / self.width) ** 2)
        weighed: Floats = (self.counted * robust[:, None]).T
        return weighed

    @cached_property
    def _system(self) -> tuple[Floats, Floats]:
        """Matrix and pull of the step to the solution, (f, f) and (f,)."""
        matrix = self._weighed @ self.slope + self.penalty
        return matrix, self._weighed @ self.residual + self.penalty @ self.x

    def step(self) -> Floats:
        """How far the solution is from x, (f,)."""
        return np.asarray(-np.linalg.solve(*self._system), np.float64)

    def moved(self, step: Floats) -> "Linearized":
        """The same further on, where residuals are as linear as here."""
        return replace(self, x=self.x + step, residual=self.residual + self.slope @ step)

    def without(self, left_out: Flags) -> Floats:
        """The constants that solve the fit to the other figures, (f,), each weighed by how far it is from these.

        One step is not enough: what agrees with the figures left out had more weight for it.
        """
        rest = ~left_out
        around = replace(
            self,
            slope=self.slope[rest],
            counted=self.counted[rest],
            residual=self.residual[rest],
            weight=self.weight[rest],
            row=self.row[rest],
        )
        for _ in range(STEPS):
            step = around.step()
            longest = float(np.abs(step).max())
            around = around.moved(step * min(1.0, LONGEST_STEP / longest))
            if longest < STILL:
                break
        return around.x


def linearized(fitted: FitProblem, x: Floats) -> Linearized:
    """The fit around x."""
    figures = fitted.weight > 0
    slope = jacobian(fitted, x)[: np.count_nonzero(figures)]
    return Linearized(
        x=x,
        slope=slope,
        counted=influence(fitted, slope),
        residual=residuals(fitted, x)[: len(slope)],
        weight=fitted.weight[figures],
        row=np.nonzero(figures)[1],
        penalty=fitted.parameters.precision.T @ fitted.parameters.precision,
        width=fitted.calibration.lookup(FIT, "loss_width"),
    )


def solve(fitted: FitProblem, first: Floats) -> Floats:
    """How far each free constant moves from its start, in logarithms, (f,)."""
    x, gain, last, lowest = first, 1.0, np.inf, np.inf
    for _ in range(STEPS):
        around = linearized(fitted, x)
        cost = around.cost
        if abs(last - cost) < TOLERANCE * cost:
            break
        # a step that led nowhere goes back and forth: take less of the next
        gain, last, lowest = (gain if cost < lowest else gain * LESS), cost, min(cost, lowest)
        step = around.step()
        x = x + step * min(gain, LONGEST_STEP / float(np.abs(step).max()))
    return x


def believed(fitted: FitProblem, first: Floats) -> tuple[FitProblem, Floats]:
    """The fit, and its solution with every constant that ran away from its broader group held there.

    What a few rows push more than `MOST_DEVIATIONS` away compensates something that is not modelled.
    """
    x = solve(fitted, first)
    while True:
        runaway = fitted.parameters.runaway(x)
        if not runaway.any():
            return fitted, x
        x = fitted.parameters.at_broader_group(x, runaway)
        fitted = replace(fitted, parameters=fitted.parameters.pooling(runaway))
        x = solve(fitted, x)
