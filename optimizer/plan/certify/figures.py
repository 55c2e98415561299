"""A purchase problem's figures in floating point: what all relaxations of its plans are made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

from optimizer.plan.verify.certificate.prices import most_drawn
from optimizer.plan.verify.certificate.problem import Stated

_ALL: Final = Fraction(1)


@dataclass(frozen=True)
class FlowTerms:
    """What replicas of an offer may be sent, and what their answers cost to send.

    Attributes:
        kept: Share of the replicas that are left.
        utilization: Share of a replica's rate that may be used.
        spare: Replicas whose rate is not counted on.
        egress: USD a request, by mix.
        after_loss: Whether something is lost.
    """

    kept: float
    utilization: Fraction
    spare: int
    egress: Mapping[str, object]
    after_loss: bool

    @classmethod
    def of(cls, problem: Stated, offer: int) -> "FlowTerms":
        """As long as nothing is lost."""
        egress = problem.offers[offer].get("egress_usd_per_request", {})
        return cls(1.0, Fraction(problem.limits["max_utilization"]), problem.spare, egress, after_loss=False)

    @classmethod
    def of_rest(cls, kept: float) -> "FlowTerms":
        """After a loss with no reserve, and at no cost, since a loss does not last."""
        return cls(kept, _ALL, 0, {}, after_loss=True)


class Figures:
    """Each is worked out once for all relaxations of the problem."""

    def __init__(self, problem: Stated) -> None:
        """Nothing is worked out yet."""
        self.problem = problem
        self._drawn = dict[tuple[int, bool, int | None], dict[int, tuple[float, float]]]()

    @cached_property
    def terms(self) -> list[FlowTerms]:
        """By offer, as long as nothing is lost."""
        return [FlowTerms.of(self.problem, offer) for offer in range(len(self.problem.offers))]

    @cached_property
    def reach(self) -> list[float]:
        """By mix."""
        return [float(each) for each in self.problem.reach]

    @cached_property
    def served(self) -> list[list[tuple[str, float]]]:
        """By mix what of each class its reach is."""
        pairs = zip(self.problem.mixes, self.problem.reach, strict=True)
        return [[(k, float(share * reach)) for k, share in mix.items()] for mix, reach in pairs]

    def drawn(self, c: int, terms: FlowTerms, most: int | None) -> dict[int, tuple[float, float]]:
        """By mix of a candidate the most that a replica is sent of it, and the replicas that its reach takes up."""
        key = (c, terms.after_loss, most)
        if key not in self._drawn:
            rates = {int(m): rate for m, rate in self.problem.candidates[c]["rates_per_s"].items()}
            reach = {m: self.problem.reach[m] for m in rates}
            self._drawn[key] = {
                m: (
                    float(most_drawn(rate, terms.utilization, terms.spare, reach[m], most)),
                    float(reach[m] / (terms.utilization * rate)),
                )
                for m, rate in rates.items()
            }
        return self._drawn[key]
