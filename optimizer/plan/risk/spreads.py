"""What is drawn and how far it spreads: as the scenario says, else as published series did."""

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from optimizer.inputs.catalog.kinds import SPOT, UNCOMMITTED
from optimizer.inputs.catalog.records import Catalogs, Offer
from optimizer.inputs.catalog.risk_spread import RiskSpread
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
        spot_share: Of the time in which spot capacity is there; 1 where nobody says.
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
    """
    risk, rows = risk_of(scenario), catalogs.terms.risk_spreads
    published = list[RiskSpread]()

    def of(quantity: str, seller: str = "", term: str = "") -> RiskSpread | None:
        found = next(
            (row for row in rows if (row.quantity, row.seller, row.pricing_term) == (quantity, seller, term)), None
        )
        if found is not None:
            published.append(found)
        return found

    demand = risk.demand_percent or _spread(of("demand")) or STEADY
    prices = dict[PriceClass, Spread]()
    moving = {price for offer in offers if (price := price_class(offer, catalogs)) is not None}
    for each in sorted(moving):
        own = next(
            (rule.percent_per_year for rule in risk.prices if _covers(rule.sellers, rule.pricing_terms, each)), None
        )
        spread = own or _spread(of("price", each.seller, each.pricing_term))
        if spread is not None:
            prices[each] = spread
    share = risk.spot_available_share
    if share is None and any(offer.pricing_term == SPOT for offer in offers):
        row = of("spot_available")
        share = None if row is None else row.p50
    return Spreads(risk, demand, prices, 1.0 if share is None else share, _same_gpu(risk, catalogs), tuple(published))


def price_class(offer: Offer, catalogs: Catalogs) -> PriceClass | None:
    """The offers whose prices move with this one's; None where the price of today is signed for or paid already."""
    if offer.pricing_term not in UNCOMMITTED:
        return None
    seller = catalogs.terms.seller_kind(offer.provider, offer.provider_kind)
    return PriceClass(seller, "spot" if offer.pricing_term == SPOT else "on_demand")


def _covers(sellers: tuple[str, ...], terms: tuple[str, ...], each: PriceClass) -> bool:
    return (not sellers or each.seller in sellers) and (not terms or each.pricing_term in terms)


def _spread(row: RiskSpread | None) -> Spread | None:
    return None if row is None else Spread(p10=row.p10, p50=row.p50, p90=row.p90)


def _same_gpu(risk: Risk, catalogs: Catalogs) -> float:
    own = risk.correlation.same_gpu
    if own is not None:
        return own
    shares = {(row.metric, row.alike): row.value for row in catalogs.deployment_shares}
    return float(shares.get(ALIKE_ON_ONE_GPU, 0.0))
