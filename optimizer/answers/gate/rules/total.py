"""The month of several scenarios together, before and after."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from optimizer.answers.gate.types import Gated, Removed


@dataclass(frozen=True)
class Total:
    """US dollars a month: None before where nothing is compared with, after where a scenario has no plan.

    Attributes:
        known_usd: Of the scenarios that have a plan; all of them together cost no less.
    """

    before_usd: Decimal | None
    after_usd: Decimal | None
    known_usd: Decimal

    @property
    def change_usd(self) -> Decimal | None:
        """From before to after."""
        return None if self.before_usd is None or self.after_usd is None else self.after_usd - self.before_usd

    @property
    def change_percent(self) -> float | None:
        """Of what it cost before."""
        return percent(self.before_usd, self.change_usd)


def total(gated: Sequence[Gated], removed: Sequence[Removed], *, compared: bool) -> Total:
    """What was removed cost something before, and nothing after."""
    before = [*(each.before_usd for each in gated if each.before_usd is not None), *(r.before_usd for r in removed)]
    costs = [each.after_usd for each in gated if each.after_usd is not None]
    known_usd = sum(costs, Decimal(0))
    return Total(
        before_usd=sum(before, Decimal(0)) if compared else None,
        after_usd=known_usd if len(costs) == len(gated) else None,
        known_usd=known_usd,
    )


def percent(before: Decimal | None, change: Decimal | None) -> float | None:
    """A change as a share of what there was before, in percent; None where there was nothing."""
    return float(change / before * 100) if before and change is not None else None
