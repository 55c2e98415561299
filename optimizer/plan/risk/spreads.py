"""What is drawn and how far it spreads: as the scenario says, else as published series did."""

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from optimizer.base.errors import Finding, InputError
from optimizer.inputs.catalog.entries.risk_spread import RiskSpread
from optimizer.inputs.catalog.kinds import SPOT, UNCOMMITTED
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.scenario.risk import DaysSpread, Risk, Spread
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.program.risk.measure import Aim

Uncertainty: TypeAlias = Literal["demand", "prices", "commitment start", "spot capacity", "predictions"]
UNCERTAINTIES: Final[tuple[Uncertainty, ...]] = (
    "demand",
    "prices",
    "commitment start",
    "spot capacity",
    "predictions",
)
"""What is drawn, each by numbers of its own, so that one more thing of a kind changes no draw of another kind."""

STEADY: Final = Spread(p10=0.0, p50=0.0, p90=0.0)
"""Growth of which the scenario says nothing."""

ALIKE_ON_ONE_GPU: Final = ("tpot", "gpu")
"""The row of deployment_shares.csv by which errors on one GPU are drawn together."""


class PriceClass(NamedTuple):
    """Offers whose prices move together."""

    seller: str
    pricing_term: Literal["on_demand", "spot"]

    @property
    def words(self) -> str:
        """As a draw names it."""
        return f"{self.seller}/{self.pricing_term}"


@dataclass(frozen=True)
class Spreads:
    """The distributions of one scenario.

    Attributes:
        risk: What the scenario says, or the defaults where it says nothing.
        demand: Level of each workload over the scenario's rate.
        prices: Change a year of each class that has a spread; the others stay.
        spot_share: Of the time in which spot capacity is there.
        same_gpu: Correlation of errors on one GPU.
        published: The rows of the catalog that stand for what the scenario leaves away.
    """

    risk: Risk
    demand: Spread
    prices: dict[PriceClass, Spread]
    spot_share: float
    same_gpu: float
    published: tuple[RiskSpread, ...]

    @property
    def growth(self) -> Spread:
        """Percent a month of all workloads."""
        return self.risk.growth_percent_per_month or STEADY

    @property
    def aim(self) -> Aim:
        """What purchases are chosen by."""
        return Aim(self.risk.tail_weight, self.risk.tail_level)

    @property
    def start_days(self) -> DaysSpread | None:
        """From signing until machines are there."""
        return self.risk.commitment_start_days


def risk_of(scenario: Scenario) -> Risk:
    """What the scenario says of it, or the defaults."""
    return scenario.risk or Risk()


def spreads_of(scenario: Scenario, catalogs: Catalogs, offers: list[Offer]) -> Spreads:
    """The distributions of a scenario.

    Args:
        scenario: Its `risk` counts before what was published.
        catalogs: Hold what was published.
        offers: That may be bought; only what they need is drawn.

    Raises:
        InputError: something is drawn of which neither says how far it spreads. Prices of which nobody does stay.
    """
    risk, published = risk_of(scenario), _Published(catalogs)
    prices = dict[PriceClass, Spread]()
    moving = {price for offer in offers if (price := price_class(offer, catalogs)) is not None}
    for each in sorted(moving):
        stated = [rule for rule in risk.prices if _covers(rule.sellers, rule.pricing_terms, each)]
        if stated:
            prices[each] = stated[0].percent_per_year
        elif (row := published.row("price", each.seller, each.pricing_term)) is not None:
            prices[each] = _spread(row)
    return Spreads(
        risk=risk,
        demand=risk.demand_percent or _spread(published.needed("demand", "risk.demand_percent")),
        prices=prices,
        spot_share=_spot_share(risk, published, offers),
        same_gpu=_same_gpu(risk, catalogs),
        published=tuple(published.used),
    )


class _Published:
    """The catalog's spreads, and those that were used."""

    def __init__(self, catalogs: Catalogs) -> None:
        self.by_key: dict[tuple[str, str, str], RiskSpread] = {
            (row.quantity, row.seller, row.pricing_term): row for row in catalogs.terms.risk_spreads
        }
        self.used = list[RiskSpread]()

    def row(self, quantity: str, seller: str = "", term: str = "") -> RiskSpread | None:
        """The row of a quantity; None where nobody published one."""
        found = self.by_key.get((quantity, seller, term))
        if found is not None:
            self.used.append(found)
        return found

    def needed(self, quantity: str, field: str) -> RiskSpread:
        """The row of a quantity that is drawn in any case.

        Raises:
            InputError: there is none; the scenario may say it instead.
        """
        found = self.row(quantity)
        if found is None:
            raise _unknown(field, f"risk_spreads.csv has no row of {quantity}")
        return found


def _unknown(field: str, problem: str) -> InputError:
    return InputError([Finding("scenario", 0, field, problem, f"say `{field}`, or add the row")])


def _spot_share(risk: Risk, published: _Published, offers: list[Offer]) -> float:
    """Of the time in which spot capacity is there; 1 where none is for sale, so that nothing asks for it."""
    if risk.spot_available_share is not None:
        return risk.spot_available_share
    if all(offer.pricing_term != SPOT for offer in offers):
        return 1.0
    return published.needed("spot_available", "risk.spot_available_share").p50


def price_class(offer: Offer, catalogs: Catalogs) -> PriceClass | None:
    """The offers whose prices move with this one's; None where the price of today is signed for or paid already."""
    if offer.pricing_term not in UNCOMMITTED:
        return None
    seller = catalogs.terms.seller_kind(offer.provider, offer.provider_kind)
    return PriceClass(seller, "spot" if offer.pricing_term == SPOT else "on_demand")


def _covers(sellers: tuple[str, ...], terms: tuple[str, ...], each: PriceClass) -> bool:
    return (not sellers or each.seller in sellers) and (not terms or each.pricing_term in terms)


def _spread(row: RiskSpread) -> Spread:
    return Spread(p10=row.p10, p50=row.p50, p90=row.p90)


def _same_gpu(risk: Risk, catalogs: Catalogs) -> float:
    """Correlation of errors on one GPU; 0 where predictions are not drawn, so that nothing asks for it."""
    if risk.correlation.same_gpu is not None:
        return risk.correlation.same_gpu
    if not risk.prediction_errors:
        return 0.0
    shares = {(row.metric, row.alike): row.value for row in catalogs.deployment_shares}
    if ALIKE_ON_ONE_GPU not in shares:
        metric, alike = ALIKE_ON_ONE_GPU
        raise _unknown("risk.correlation.same_gpu", f"deployment_shares.csv has no row of {metric} and {alike}")
    return float(shares[ALIKE_ON_ONE_GPU])
