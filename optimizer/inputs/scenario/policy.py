"""What a plan may buy and how close to the edge it may run: the policy of a scenario, every field optional."""

from fnmatch import fnmatchcase
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from optimizer.base.model import Strict
from optimizer.base.units import BYTES_PER_GB, HOURS_PER_MONTH, HOURS_PER_WEEK, MINUTES_PER_HOUR
from optimizer.inputs.catalog.entries.engines import draft_name
from optimizer.inputs.catalog.kinds import Confidence, PricingTerm, ProviderKind, SellerKind
from optimizer.inputs.catalog.records import Offer
from optimizer.inputs.scenario.fields import (
    MAX_NAMES,
    AllowDeny,
    Countries,
    Everywhere,
    Listed,
    NameOf,
    Names,
    Number,
    PositiveShare,
    PositiveUsd,
    PositiveWhole,
    Regions,
    Share,
    Usd,
    Whole,
    WithoutEvidence,
)

DEFAULT_MAX_UTILIZATION = 0.85
DEFAULT_CONFIDENCE = 0.9
CENTRAL_CONFIDENCE = 0.5
DEFAULT_FLAG_PRICE_AGE_DAYS = {"hyperscaler": 180, "owned": 180, "*": 90}
"""Lists of the largest clouds hardly moved in three years; others' rose by a third within one."""
DEFAULT_SIMPLICITY_PERCENT = 5.0
DEFAULT_START_UP_MINUTES = 10.0
DEFAULT_MAX_PERIODS = 24

Loss = Literal["instance", "region", "provider", "spot_offer"]
Availability = Literal["none", "instance", "region", "provider"]
Router = Literal["in_turn", "by_chance", "least_loaded"]
DEALING: Final[tuple[Router, ...]] = ("in_turn", "least_loaded")
"""Those that send no replica several requests while others wait for one."""
Hosting = Literal["rented", "owned", "serverless", "per_second"]
Minutes = Annotated[float, Number, Field(ge=0, le=10_000)]
Seconds = Annotated[float, Number, Field(ge=0, le=86_400)]
Repartition = Literal["never"] | Annotated[float, Number, Field(ge=0, le=MINUTES_PER_HOUR)]
BilledHours = Annotated[int, Number, Field(ge=1, le=HOURS_PER_WEEK)]
GramsPerKwh = Annotated[float, Number, Field(ge=0, le=5000)]


class Quota(Strict):
    """At most so many GPUs where provider, region and GPU match; a missing field matches all."""

    provider: Annotated[str, NameOf("seller")] = "*"
    region: Annotated[str, NameOf("region")] = "*"
    gpu: Annotated[str, NameOf("gpu")] = "*"
    max_gpus: Whole

    @property
    def name(self) -> str:
        """The quota as a path element."""
        return f"{self.provider}/{self.region}/{self.gpu}"

    def covers(self, provider: str, region: str, gpu: str) -> bool:
        """Whether an offer counts against this quota."""
        pairs = ((provider, self.provider), (region, self.region), (gpu, self.gpu))
        return all(fnmatchcase(value, pattern) for value, pattern in pairs)


class Survive(Strict):
    """What may be lost while all demand is still served: any one of each kind named, one loss at a time."""

    loss_of: Annotated[tuple[Loss, ...], Listed] = ()

    @property
    def words(self) -> str:
        """As people say it."""
        return f"the loss of any {' or '.join(self.loss_of)}"


class Grid(Strict):
    """What a kilowatt-hour emits, and how much power a data centre draws for each kW of its GPUs."""

    g_co2_per_kwh: Annotated[
        Annotated[dict[str, GramsPerKwh], Field(min_length=1)] | None, Everywhere, NameOf("region")
    ] = None
    """One number, or numbers by region with wildcards; the first pattern that matches counts. Without it the catalogs'
    yearly means of regions and countries."""
    pue: Annotated[float, Number, Field(ge=1, le=5)]
    """Power usage effectiveness: the facility's power over its computers'."""

    def intensity_g_per_kwh(self, region: str) -> float | None:
        """Emissions of a kWh in a region; None where no pattern covers it."""
        found = (grams for pattern, grams in (self.g_co2_per_kwh or {}).items() if fnmatchcase(region, pattern))
        return next(found, None)


class Robust(Strict):
    """Factors under each of which, all at once, the plan must still hold."""

    demand: Annotated[float, Number, Field(ge=1, le=10)] = 1.0
    throughput: Annotated[float, Number, Field(gt=0, le=1)] = 1.0
    price: Annotated[float, Number, Field(ge=1, le=10)] = 1.0

    @property
    def words(self) -> str:
        """As people say it."""
        return f"demand × {self.demand:g}, throughput × {self.throughput:g}, price × {self.price:g}"


class InForce(Strict):
    """Replicas that run today, known by what a plan calls them."""

    workload: str
    model: str
    provider: str
    region: str
    instance_type: str
    gpu: str
    gpus_per_instance: PositiveWhole
    pricing_term: str
    commitment_months: Whole = 0
    engine: str
    precision: str
    kv_precision: str
    speculation: Annotated[str, AfterValidator(draft_name)] = ""
    tensor_parallel: PositiveWhole
    pipeline_parallel: PositiveWhole
    replicas: PositiveWhole

    def runs_on(self, offer: Offer) -> bool:
        """Whether the replicas stand on instances of that offer."""
        mine = (self.provider, self.region, self.instance_type, self.gpu, self.gpus_per_instance)
        its = (offer.provider, offer.region, offer.instance_type, offer.gpu, offer.gpu_count)
        terms = (self.pricing_term, self.commitment_months) == (offer.pricing_term, offer.commitment_months)
        return mine == its and terms


class Migration(Strict):
    """The plan in force, and what moving away from it costs or how far one may."""

    from_plan: str | None = None
    """A plan as `optimizer plan --format json` writes it; read when the scenario is loaded."""
    in_force: tuple[InForce, ...] | None = None
    max_changes: Whole | None = None
    """Replicas started or stopped against the plan in force."""
    usd_per_change: Usd = 0.0

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.from_plan is None) == (self.in_force is None):
            raise ValueError("give exactly one of from_plan, in_force")
        return self


class Spot(Strict):
    """How often spot replicas are interrupted and how long each time until they serve again."""

    interruptions_per_month: Annotated[float, Number, Field(ge=0, le=10_000)]
    recovery_minutes: Minutes

    @model_validator(mode="after")
    def _some_time_is_left(self) -> Self:
        if self.lost_share >= 1:
            raise ValueError("interruptions_per_month × recovery_minutes takes the whole month")
        return self

    @property
    def lost_share(self) -> float:
        """Share of a month in which a spot replica does not serve: interruptions × recovery / 730 h."""
        return self.interruptions_per_month * self.recovery_minutes / (HOURS_PER_MONTH * MINUTES_PER_HOUR)


class Elastic(Strict):
    """How capacity follows a demand profile."""

    start_up_minutes: Minutes = DEFAULT_START_UP_MINUTES
    """From starting an instance to its first answer; a workload is only scaled to zero if its TTFT limit allows it."""
    max_periods: Annotated[int, Number, Field(ge=1, le=168)] = DEFAULT_MAX_PERIODS
    """Different hours of the week that the first plan tells apart, more of them rounded up to their neighbours; it is
    then held against the best plan of every hour."""
    minimum_billing_hours: Annotated[dict[str, BilledHours], Everywhere, NameOf("seller")] = Field(default_factory=dict)
    """Hours for which an instance that comes and goes is paid once started: one number, or numbers by provider with
    wildcards; the first pattern that matches counts, others are paid by the hour that they run."""
    repartition_minutes: Repartition = "never"
    """From taking an instance out of service to its first answer with other models, precisions or degrees on its GPUs:
    `never`, it keeps what was loaded while it is paid for; 0, it changes between two hours in no time; else it may
    change in a period in which it serves nobody, which lasts an hour at least."""

    def billed_hours(self, provider: str) -> int:
        """The least hours that an instance of a provider is paid for."""
        found = (hours for pattern, hours in self.minimum_billing_hours.items() if fnmatchcase(provider, pattern))
        return next(found, 1)

    @property
    def idling_can_pay(self) -> bool:
        """Whether an instance may cost less in an hour without work than stopped for it and started again."""
        return self.start_up_minutes > MINUTES_PER_HOUR or any(h > 1 for h in self.minimum_billing_hours.values())


class PerSecond(Strict):
    """How containers paid by the second are set up."""

    idle_timeout_s: Seconds | None = None
    """After its last request a container stays up so long; None for what the seller sets where nobody says."""
    start_up_s: Seconds | None = None
    """From nothing to the first answer; None for what the catalogs say of a server with weights of that size."""
    vcpus_per_gpu: Annotated[float, Number, Field(gt=0, le=256)] | None = None
    """Reserved: a seller who bills them apart is planned with where the scenario says how many; so the memory."""
    ram_gib_per_gpu: Annotated[float, Number, Field(gt=0, le=4096)] | None = None


class Egress(Strict):
    """How many bytes the answers send out to the internet; what a provider charges for them is in the catalogs."""

    bytes_per_output_token: Annotated[float, Number, Field(ge=0, le=1e6)]
    """As they travel: a token streamed in an event of its own takes a few hundred bytes of JSON around it."""
    bytes_per_request: Annotated[float, Number, Field(ge=0, le=1e12)] = 0.0
    """Beside the tokens: headers, the end of the stream."""

    @property
    def words(self) -> str:
        """As people say it."""
        return f"{self.bytes_per_output_token:g} bytes per output token, {self.bytes_per_request:g} per request"

    def gb_per_request(self, output_tokens: float) -> float:
        """What an answer of so many tokens sends out, GB of 10⁹ bytes."""
        return (self.bytes_per_output_token * output_tokens + self.bytes_per_request) / BYTES_PER_GB


class Policy(Strict):
    """What the plan may buy and how close to the edge it may run; every field is optional."""

    providers: Annotated[AllowDeny, NameOf("provider")] = AllowDeny()
    gpus: Annotated[AllowDeny, NameOf("gpu")] = AllowDeny()
    regions: Annotated[Regions, NameOf("region")] = Regions()
    countries: Annotated[Countries, NameOf("country")] = Countries()
    sellers: Annotated[tuple[SellerKind, ...], Field(min_length=1), Listed] = ("hyperscaler", "established")
    """Kinds of seller that one would sign with; hardware of one's own has none."""
    consumer_gpus: bool = False
    """Whether gaming cards are rented, whose driver is not licensed for data centres."""
    provider_kinds: Annotated[tuple[ProviderKind, ...], Field(min_length=1), Listed] = (
        "hyperscaler",
        "neocloud",
        "marketplace",
    )
    """Container `platform`s, which rent no machine, are opted into."""
    hosting: Annotated[tuple[Hosting, ...], Field(min_length=1), Listed] = ("rented", "owned")
    """`serverless` APIs are opted into: nobody measured their latency; so are containers paid `per_second`."""
    pricing_terms: Annotated[tuple[PricingTerm, ...], Field(min_length=1), Listed] = ("on_demand",)
    """Of what is rented; owned hardware has no term to choose."""
    price_confidence: Annotated[tuple[Confidence, ...], Field(min_length=1), Listed] = ("listed", "derived")
    """`seed` prices, quoted in articles without a price list behind them, are opted into."""
    max_price_age_days: PositiveWhole | None = None
    """Older prices are left out, counted back from the catalog's date; without it a plan takes them and says so."""
    flag_price_age_days: Annotated[dict[str, PositiveWhole], Everywhere] = Field(
        default_factory=lambda: dict(DEFAULT_FLAG_PRICE_AGE_DAYS)
    )
    """Prices of that age and older are flagged: one number, or numbers by kind of seller with wildcards; the first
    pattern that matches counts."""
    engines: Annotated[Names, NameOf("engine")] = ()
    precisions: Annotated[Names, NameOf("precision")] = ()
    kv_precisions: Annotated[Names, NameOf("kv_precision")] = ()
    max_tensor_parallel: PositiveWhole | None = None
    """GPUs that share each layer."""
    max_pipeline_parallel: PositiveWhole | None = None
    """Stages that the layers are split into."""
    unmeasured_performance: WithoutEvidence = "avoid"
    """Whether GPUs, engines and precisions serve of whose like nobody published a measurement: not where another plan
    exists, never, or as any other. Hosted APIs, which `hosting` admits, are left out where they are rejected."""
    max_monthly_usd: PositiveUsd | None = None
    max_gpus: Whole | None = None
    max_distinct_configurations: PositiveWhole | None = None
    simplicity_percent: Annotated[float, Number, Field(ge=0, le=100)] = DEFAULT_SIMPLICITY_PERCENT
    """By so much a plan of fewer configurations, then places, then instances may cost more than the cheapest; 0 asks
    for the cheapest, whatever the next says."""
    simplicity_usd_per_configuration: Usd = 0.0
    """A month for each configuration less, where that is more than the percentage."""
    max_engines: PositiveWhole | None = None
    """Distinct serving engines that operators must keep."""
    spare_replicas: Annotated[int, Number, Field(ge=0, le=100)] = 0
    spare_on_other_instances: bool = False
    """Whether each deployment must serve what it is sent without any one instance, whatever stands on it."""
    availability: Availability = "none"
    """The largest thing that may be lost while all demand is still served: `survive` in one word."""
    survive: Survive = Survive()
    min_providers: Annotated[int, Number, Field(ge=1, le=20)] = 1
    min_regions: Annotated[int, Number, Field(ge=1, le=50)] = 1
    max_provider_share: PositiveShare | None = None
    """Of served demand, at any one provider."""
    max_spot_share: Share | None = None
    quotas: Annotated[tuple[Quota, ...], Field(max_length=MAX_NAMES)] = ()
    mix_classes: bool = True
    """Whether a replica may be sent any mix of a workload's request classes; else one class, or all in their shares."""
    max_utilization: PositiveShare = DEFAULT_MAX_UTILIZATION
    router: Router = "by_chance"
    """To which replica requests go: each class to its replicas in turn, to any by chance, or to the one with the fewest
    in flight. Chance is what a plain Kubernetes Service does, and the least that any router does."""
    confidence: Annotated[float, Number, Field(ge=CENTRAL_CONFIDENCE, le=0.999)] = DEFAULT_CONFIDENCE
    robust: Robust = Robust()
    max_power_kw: Annotated[float, Number, Field(gt=0, le=1e6)] | None = None
    max_carbon_kg_per_month: Annotated[float, Number, Field(gt=0, le=1e9)] | None = None
    grid: Grid | None = None
    spot: Spot | None = None
    """Without it a spot replica counts as if it were never interrupted."""
    elastic: Elastic = Elastic()
    per_second: PerSecond = PerSecond()
    storage_gb_per_instance: Annotated[float, Number, Field(ge=0, le=1e6)] = 0.0
    """Block storage rented with every instance; providers whose price for it is unknown are left out."""
    egress: Egress | None = None
    """Without it nothing is charged for sending answers; with it providers without a known price are left out."""
    migration: Migration | None = None

    def flagged_from_days(self, seller_kind: str) -> float:
        """The age from which a price of such a seller is flagged; infinite where no pattern covers it."""
        found = (days for pattern, days in self.flag_price_age_days.items() if fnmatchcase(seller_kind, pattern))
        return next(found, float("inf"))

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What may be lost, one at a time, while all demand is still served; in whichever form it was asked."""
        return self.survive.loss_of if self.availability == "none" else (self.availability,)

    @property
    def highest_load(self) -> float:
        """The most that a replica may ever be sent of what it sustains: all of it where others may be lost."""
        lost = self.losses or self.spare_replicas or self.spare_on_other_instances
        return 1.0 if lost else self.max_utilization

    @model_validator(mode="after")
    def _losses_in_one_form(self) -> Self:
        if self.availability != "none" and self.survive.loss_of:
            raise ValueError(
                f"availability: {self.availability} and survive.loss_of: [{', '.join(self.survive.loss_of)}] ask for "
                "losses twice; give one of them"
            )
        return self

    @model_validator(mode="after")
    def _carbon_needs_a_grid(self) -> Self:
        if self.max_carbon_kg_per_month is not None and self.grid is None:
            raise ValueError(
                "max_carbon_kg_per_month needs grid: {pue: …}, and g_co2_per_kwh where the catalogs do not do"
            )
        return self
