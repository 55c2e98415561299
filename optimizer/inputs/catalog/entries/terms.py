"""What offers cost and where they stand on one's own terms: places, discounts, availability, hardware one owns."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from optimizer.base.model import Strict
from optimizer.base.units import DAYS_PER_YEAR, HOURS_PER_MONTH
from optimizer.inputs.catalog.entries.quantities import MOST_DISCOUNT_PERCENT, Count, GpuCount, Usd
from optimizer.inputs.catalog.entries.risk_spread import RiskSpread
from optimizer.inputs.catalog.kinds import OWNED, Link, OfferTerm, ProviderKind, SellerKind, Told

Code = Annotated[str, Field(pattern=r"^([a-z]{2})?$")]
Pattern = Annotated[str, Field(min_length=1)]


class Region(Strict):
    """Where a provider's region stands; an empty country is not known."""

    provider: str
    region: str
    country: Code = ""
    """ISO 3166 code in lower case."""
    zones: tuple[str, ...] = ()
    """Wider areas that residency rules speak of, such as `eu`."""
    account: Literal["", "separate"] = ""
    """Whether it takes an account that not everybody is given; empty where that of other regions does."""
    source: str
    as_of: date
    note: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """What the place goes by in a list of countries; nothing where the country is not known."""
        return (self.country, *self.zones) if self.country else ()


class RoundTrip(Strict):
    """How long a packet travels from where users are to a provider's region and back, between data centres."""

    geography: str
    """Where users are, `germany` or `us-east`."""
    provider: str
    region: str
    rtt_ms: Annotated[float, Field(ge=0, le=10_000)]
    statistic: str
    """Of the measurements: `p95`, or what their source says."""
    status: Literal["read", "derived"]
    """Derived where another cloud's region of the same city was measured."""
    source: str
    as_of: date
    note: str = ""


class Seller(Strict):
    """Whom one would sign with: what kind of seller a provider is, and what it says of itself."""

    provider: str
    provider_kind: ProviderKind | Literal[""] = ""
    """Of the offers that the row is about; blank for all that no row of their own kind covers."""
    kind: SellerKind
    whole_gpu: Told
    """Whether a customer has a GPU alone, the whole time."""
    serves_others: Told
    """Whether its terms let a customer serve others from it."""
    sla: str = ""
    billing_increment: str = ""
    minimum_commitment: str = ""
    source: str
    as_of: date
    note: str = ""


class Operator(Strict):
    """Who runs the machines that are listed under another provider's name."""

    provider: str
    operator: str
    source: str
    as_of: date
    note: str = ""


class GridIntensity(Strict):
    """What a kilowatt-hour emits where a provider's region stands, as a yearly mean."""

    provider: str
    region: str
    g_co2_per_kwh: Annotated[float, Field(ge=0, le=5000)]
    year: int
    source: str
    as_of: date
    note: str = ""


class PriceCheck(Strict):
    """What another source says that a GPU costs at a provider, beside the price in the offers."""

    provider: str
    gpu: str
    gpu_count: Count
    pricing_term: OfferTerm
    usd_per_gpu_hour: Annotated[Decimal, Field(gt=0)]
    source: str
    as_of: date
    note: str = ""

    def covers(self, provider: str, gpu: str, gpu_count: int, pricing_term: str) -> bool:
        """Whether the row speaks of such instances."""
        own = (self.provider, self.gpu, self.gpu_count, self.pricing_term)
        return own == (provider, gpu, gpu_count, pricing_term)


class PriceTrend(Strict):
    """What a GPU cost at a provider on two days, as two sources said it then."""

    provider: str
    gpu: str
    variant: str = ""
    """Instance type, or what the provider calls it."""
    pricing_term: Literal["on_demand", "spot"]
    first_as_of: date
    first_usd_per_gpu_hour: Annotated[Decimal, Field(gt=0)]
    first_source: str
    as_of: date
    """Later than the first."""
    usd_per_gpu_hour: Annotated[Decimal, Field(gt=0)]
    source: str
    note: str = ""

    @field_validator("as_of")
    @classmethod
    def _later(cls, day: date, others: ValidationInfo) -> date:
        if day <= others.data.get("first_as_of", date.min):
            raise ValueError("is not later than first_as_of")
        return day

    @property
    def percent_per_year(self) -> float:
        """The change, as if it had been even over the time and went on for a year."""
        years = (self.as_of - self.first_as_of).days / DAYS_PER_YEAR
        ratio = float(self.usd_per_gpu_hour / self.first_usd_per_gpu_hour)
        return float(ratio ** (1 / years) - 1) * 100


class ServerlessCheck(Strict):
    """What another source says that a hosted API costs, beside the price in `serverless.csv`."""

    provider: str
    provider_model_name: str
    usd_per_million_input_tokens: Usd
    usd_per_million_output_tokens: Usd
    source: str
    as_of: date
    note: str = ""


class OfferAlias(Strict):
    """What a GPU, a provider or a host of APIs is called in other people's price lists, and a provider by those who
    name its company, or a country by those who write no code; GPUs may share a name."""

    subject: Literal["gpu", "provider", "company", "country", "host", "router"]
    """A company is whose cloud a provider is; a router passes requests on to hosts: what it charges is no price of a
    host."""
    name: str
    """Of a router a pattern, which may hold wildcards."""
    id: str = ""
    """The catalog's own name of it; a router has none."""
    source: str
    as_of: date
    note: str = ""


class OfferPattern(Strict):
    """A row about every offer that matches; each pattern may hold wildcards."""

    patterns: ClassVar[tuple[str, ...]]
    """The row's fields that are held against an offer's."""

    def covers(self, offer: object) -> bool:
        """Whether the row is about an offer."""
        return all(fnmatchcase(getattr(offer, field), getattr(self, field)) for field in self.patterns)


class Discount(OfferPattern):
    """Percent off the list price of the offers that match."""

    patterns = ("provider", "gpu", "pricing_term")

    provider: Pattern = "*"
    gpu: Pattern = "*"
    pricing_term: Pattern = "*"
    percent: Annotated[Decimal, Field(gt=0, le=MOST_DISCOUNT_PERCENT)]
    private: bool = True
    """Whether the percentage is nobody else's business; reports then show the price alone."""
    source: str
    as_of: date
    note: str = ""

    @property
    def exactness(self) -> int:
        """Two for each name, one for each pattern, none for what matches all; the most exact discount is granted."""
        patterns = [getattr(self, field) for field in self.patterns]
        return sum(0 if pattern == "*" else 1 if set("*?[") & set(pattern) else 2 for pattern in patterns)


class AppliedDiscount(Strict):
    """What an offer cost before the discount that its price now holds."""

    list_price_usd_per_hour: Decimal
    discount: Discount


class Availability(OfferPattern):
    """At most so many instances of each offer that matches; where several rows do, the fewest count."""

    patterns = ("provider", "region", "gpu", "pricing_term")

    provider: Pattern = "*"
    region: Pattern = "*"
    gpu: Pattern = "*"
    pricing_term: Pattern = "*"
    max_instances: Annotated[int, Field(ge=0, le=10**9)]
    source: str
    as_of: date
    note: str = ""


class Owned(Strict):
    """Instances of one's own, with everything a month of one of them costs."""

    id: str
    site: str
    """Where it stands; the region of its offer."""
    gpu: str
    gpu_count: GpuCount
    link: Link | None = None
    link_gb_per_s: Annotated[float, Field(gt=0)] | None = None
    instances: Annotated[int, Field(ge=1, le=10**6)]
    """How many there are."""
    purchase_usd: Usd
    amortisation_months: Count
    resale_share: Annotated[Decimal, Field(ge=0, lt=1)]
    """Of the purchase price, had back at the end."""
    power_kw: Annotated[Decimal, Field(gt=0)] | None = None
    """Of the whole instance under load; blank: its GPUs' rated power."""
    pue: Annotated[Decimal, Field(ge=1)]
    usd_per_kwh: Usd
    cooling_usd_per_month: Usd
    """What cooling costs beyond the power that `pue` already counts; so the next two, per instance."""
    staff_usd_per_month: Usd
    space_usd_per_month: Usd
    sunk: bool = False
    """Whether its purchase is paid whatever is decided, so that only what running it costs counts."""
    source: str
    as_of: date
    note: str = ""

    def parts_usd_per_month(self, rated_power_kw: Decimal) -> dict[str, Decimal]:
        """What a month of one instance is made of.

        Purchase × (1 − resale share) / months, nothing where it is sunk; power: kW × PUE × 730 h × USD/kWh; cooling,
        staff and space as given.

        Args:
            rated_power_kw: Its GPUs' rated power, where the row does not give the instance's own.
        """
        return {
            "purchase": Decimal(0)
            if self.sunk
            else self.purchase_usd * (1 - self.resale_share) / self.amortisation_months,
            "power": (self.power_kw or rated_power_kw) * self.pue * HOURS_PER_MONTH * self.usd_per_kwh,
            "cooling": self.cooling_usd_per_month,
            "staff": self.staff_usd_per_month,
            "space": self.space_usd_per_month,
        }

    def usd_per_month(self, rated_power_kw: Decimal) -> Decimal:
        """Full cost of one instance: the sum of its parts."""
        return sum(self.parts_usd_per_month(rated_power_kw).values(), Decimal(0))


@dataclass(frozen=True)
class Terms:
    """What is known about offers besides their rows.

    Attributes:
        regions: Where a region stands, by provider and region.
        sellers: Who sells, by provider and kind of offer; an empty kind stands for all others of the provider.
        operators: Who runs the machines, by provider; one without a row runs its own.
        round_trips: From users to a region, by geography, provider and region.
        grid: What a kWh emits there, by provider and region.
        price_checks: What other sources say of prices; so the next, of hosted APIs.
        price_trends: What prices were on two days.
        risk_spreads: How far what nobody knows was seen to spread.
        discounts: What was taken off an offer's price, by its id.
        owned: The hardware behind an offer of one's own, by its id.
        available_instances: How many there are of an offer, by its id; offers without a known limit are not in it.
    """

    regions: Mapping[tuple[str, str], Region]
    sellers: Mapping[tuple[str, str], Seller]
    operators: Mapping[str, Operator]
    round_trips: Mapping[tuple[str, str, str], RoundTrip]
    grid: Mapping[tuple[str, str], GridIntensity]
    price_checks: tuple[PriceCheck, ...]
    serverless_checks: tuple[ServerlessCheck, ...]
    price_trends: tuple[PriceTrend, ...]
    risk_spreads: tuple[RiskSpread, ...]
    discounts: Mapping[str, AppliedDiscount]
    owned: Mapping[str, Owned]
    available_instances: Mapping[str, int]

    def place(self, provider: str, region: str) -> tuple[str, ...]:
        """The country of a region and its zones; nothing where nobody recorded it."""
        found = self.regions.get((provider, region))
        return () if found is None else found.names

    def is_open(self, provider: str, region: str) -> bool:
        """Whether an account of other regions does there, as far as nobody recorded another."""
        found = self.regions.get((provider, region))
        return found is None or not found.account

    def rtt_ms(self, geography: str, provider: str, region: str) -> float | None:
        """The round trip from users there to a region; None where nobody measured it."""
        found = self.round_trips.get((geography, provider, region))
        return None if found is None else found.rtt_ms

    def seller(self, provider: str, provider_kind: str) -> Seller | None:
        """Who sells a provider's offers of a kind; None where no row says."""
        return self.sellers.get((provider, provider_kind)) or self.sellers.get((provider, ""))

    def run_by(self, provider: str) -> str:
        """Whose machines a provider's are: what is lost together, whatever it is called."""
        found = self.operators.get(provider)
        return provider if found is None else found.operator

    def seller_kind(self, provider: str, provider_kind: str) -> SellerKind | Literal["owned"]:
        """What kind of seller that is; unknown where no row says, `owned` for hardware of one's own."""
        if provider == OWNED:
            return OWNED
        found = self.seller(provider, provider_kind)
        return "unknown" if found is None else found.kind
