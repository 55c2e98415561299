"""The course of demand and prices in one branch, worked out again, month by month."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import median

from optimizer.base.units import MONTHS_PER_YEAR
from optimizer.inputs.catalog.kinds import OWNED
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.scenario.lifecycle import GrowthBranch, Horizon, PriceChange


@dataclass(frozen=True)
class Course:
    """A branch from the first month on.

    Attributes:
        branch: The branch.
        horizon: What all branches have in common.
        growth_percent_per_month: Before it parts.
        catalogs: What is known of sellers and of prices of the past.
    """

    branch: GrowthBranch
    horizon: Horizon
    growth_percent_per_month: float
    catalogs: Catalogs

    def demand_factor(self, month: int) -> float:
        """Demand of a month, counted from 1, over that of the first."""
        before = min(month, self.branch.from_month - 1) - 1
        after = month - 1 - before
        own = self.branch.growth_percent_per_month
        return float((1 + self.growth_percent_per_month / 100) ** before * (1 + own / 100) ** after)

    def price_factor(self, offer: Offer, month: int) -> float:
        """Price of an offer in a month over today's."""
        factor, own = 1.0, self.catalogs.terms.owned.get(offer.id)
        if own is not None and own.sunk:
            return factor
        for now in range(2, month + 1):
            parted = now >= self.branch.from_month
            rules = (*(self.branch.price_changes if parted else ()), *self.horizon.price_changes)
            change = next((rule for rule in rules if self._covers(rule, offer)), None)
            if change is not None:
                factor *= self._risen(change, offer, now)
        return factor

    def _risen(self, change: PriceChange, offer: Offer, month: int) -> float:
        percent = self._observed(offer) if change.percent_per_year == "observed" else change.percent_per_year
        if change.until_month is not None and month > change.until_month:
            percent = 0.0
        step = change.step_percent if change.step_month == month and change.step_percent is not None else 0.0
        return float((1 + percent / 100) ** (1 / MONTHS_PER_YEAR) * (1 + step / 100))

    def _covers(self, rule: PriceChange, offer: Offer) -> bool:
        return (
            _listed(offer.gpu, rule.gpus)
            and _listed(offer.provider, rule.providers)
            and (not rule.sellers or self._seller(offer.provider, offer.provider_kind) in rule.sellers)
            and (not rule.pricing_terms or offer.pricing_term in rule.pricing_terms)
        )

    def _seller(self, provider: str, kind: str) -> str:
        return self.catalogs.terms.seller_kind(provider, kind)

    def _observed(self, offer: Offer) -> float:
        """Median change a year of prices of the same generation at the same kind of seller."""
        kind, gpus = self._seller(offer.provider, offer.provider_kind), self.catalogs.gpus
        term = "spot" if offer.pricing_term == "spot" else "on_demand"
        alike = [
            trend.percent_per_year
            for trend in self.catalogs.terms.price_trends
            if trend.pricing_term == term
            and gpus[trend.gpu].architecture == gpus[offer.gpu].architecture
            and self._seller(trend.provider, "") == kind
        ]
        return median(alike) if alike else 0.0


def disk_usd_per_month(catalogs: Catalogs, offer: Offer, gigabytes: float) -> float:
    """Block storage rented with an instance, at the provider's lowest price."""
    if not gigabytes or offer.provider == OWNED:
        return 0.0
    prices = [row.value for row in catalogs.ancillary if (row.provider, row.unit) == (offer.provider, "USD/GB-month")]
    return float(min(prices)) * gigabytes


def _listed(name: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
