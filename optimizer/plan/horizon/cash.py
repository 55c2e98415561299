"""What an instance costs over its term: when it is paid, what it is sold for, and what that counts today."""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, Literal, TypeAlias

from optimizer.base.units import HOURS_PER_MONTH, MONTHS_PER_YEAR
from optimizer.inputs.catalog.entries.terms import Owned
from optimizer.inputs.scenario.lifecycle import Horizon

Payment: TypeAlias = Literal["monthly", "upfront", "bought"]
"""Rent paid each month, the whole rent paid when it is signed, or a machine bought, run and resold."""

SOLD_AFTER_MONTHS: Final = MONTHS_PER_YEAR
"""Machines that are bought are sold at whole years, at the end of their life or with the last month."""


@dataclass(frozen=True)
class Cash:
    """What one instance costs that is held from a month on, for as much of its term as the horizon has.

    Attributes:
        upfront_usd: When it is signed or bought.
        monthly_usd: In each month of the term.
        months: Of the term.
        months_after: Of those, beyond the last month of the horizon.
        left_usd: What is got back: the resale, or what is owed beyond the last month and counts as still of use.
        left_after_months: When, counted from the signing.
    """

    upfront_usd: float
    monthly_usd: float
    months: int
    months_after: int
    left_usd: float
    left_after_months: int

    def present_usd(self, yearly_discount: float) -> float:
        """What it counts when it is signed: each month is paid at its beginning."""
        rate = float((1 + yearly_discount) ** (-1 / MONTHS_PER_YEAR))
        paid = sum(rate**month for month in range(self.months)) * self.monthly_usd
        return self.upfront_usd + paid - self.left_usd * float(rate**self.left_after_months)

    @property
    def whole(self) -> "Cash":
        """The whole term, whatever of it is still of use beyond the last month; what is sold is sold."""
        return replace(self, left_usd=0.0) if self.months_after else self

    @property
    def usd_per_month(self) -> float:
        """The whole term spread evenly, nothing discounted."""
        return self.monthly_usd + (self.upfront_usd - self.whole.left_usd) / self.months


def rented(usd_per_hour: float, term_months: int, payment: Payment, left_months: int, horizon: Horizon) -> Cash:
    """A commitment at a price, signed with so many months left to the end of the horizon."""
    monthly = usd_per_hour * HOURS_PER_MONTH
    after = max(term_months - left_months, 0)
    if payment == "upfront":
        whole = monthly * term_months * (1 - (horizon.prepayment_discount_percent or 0.0) / 100)
        useful = whole * after / term_months * horizon.used_after_share
        return Cash(whole, 0.0, term_months, after, useful, term_months - after)
    return Cash(0.0, monthly, term_months, after, monthly * after * horizon.used_after_share, term_months - after)


def bought(own: Owned, rated_power_kw: float, price_factor: float, term_months: int, left_months: int) -> Cash:
    """A machine bought, run and sold at its book value: from its price in a straight line to its resale share.

    It is sold at the end of the horizon at the latest.
    """
    purchase = float(own.purchase_usd) * price_factor
    held = min(term_months, left_months)
    share = float(own.resale_share)
    book = max(share, 1 - (1 - share) * held / own.amortisation_months)
    return Cash(purchase, running_usd_per_month(own, rated_power_kw), held, 0, purchase * book, held)


def running_usd_per_month(own: Owned, rated_power_kw: float) -> float:
    """Power, cooling, staff and space of a machine of one's own."""
    parts = own.parts_usd_per_month(Decimal(repr(rated_power_kw)))
    return float(sum(usd for name, usd in parts.items() if name != "purchase"))


def terms_of_purchase(own: Owned) -> tuple[int, ...]:
    """After how many months a machine that is bought may be sold."""
    if own.sunk:
        return (1,)
    return (*range(SOLD_AFTER_MONTHS, own.amortisation_months, SOLD_AFTER_MONTHS), own.amortisation_months)
