"""What the user asks for: workloads with their service levels, and the policy a plan must respect."""

from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from optimizer.base.model import Strict
from optimizer.inputs.catalog import Confidence, PricingTerm, ProviderKind

STATISTICS = ("mean", "p50", "p90", "p95", "p99")
DEFAULT_MAX_UTILIZATION = 0.85
DEFAULT_CONFIDENCE = 0.9
CENTRAL_CONFIDENCE = 0.5
DEFAULT_MAX_PRICE_AGE_DAYS = 365
DEFAULT_FLAG_PRICE_AGE_DAYS = 180
SHARE_TOLERANCE = 1e-6
MAX_NAMES = 1000
"""Of one list: more than any catalog holds and few enough to check each with suggestions."""


def _no_truth_value(value: object) -> object:
    """Refuses yes/no where a number is meant: YAML would otherwise read `yes` as 1."""
    if isinstance(value, bool):
        raise ValueError("expected a number, not yes/no")
    return value


Number = BeforeValidator(_no_truth_value)
Rate = Annotated[float, Number, Field(gt=0, le=1e6)]
HourlyRate = Annotated[float, Number, Field(ge=0, le=1e6)]
Tokens = Annotated[int, Number, Field(ge=1, le=10_000_000)]
Milliseconds = Annotated[float, Number, Field(gt=0, le=1e8)]
Share = Annotated[float, Number, Field(ge=0, le=1)]
PositiveShare = Annotated[float, Number, Field(gt=0, le=1)]
Whole = Annotated[int, Number, Field(ge=0, le=1_000_000)]
PositiveWhole = Annotated[int, Number, Field(ge=1, le=1_000_000)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=80)]


class Latency(Strict):
    """Limits on one latency, by statistic; at least one is given."""

    mean: Milliseconds | None = None
    p50: Milliseconds | None = None
    p90: Milliseconds | None = None
    p95: Milliseconds | None = None
    p99: Milliseconds | None = None

    @model_validator(mode="after")
    def _at_least_one(self) -> Self:
        if not self.limits_ms():
            raise ValueError(f"give at least one of {', '.join(STATISTICS)}")
        return self

    def limits_ms(self) -> dict[str, float]:
        """The limits that were given, by statistic."""
        return {name: limit for name in STATISTICS if (limit := getattr(self, name)) is not None}


def _bare_means(statistic: str) -> BeforeValidator:
    """Reads a bare number as the limit on that statistic."""
    return BeforeValidator(lambda value: value if isinstance(value, dict | Latency) else {statistic: value})


class Slo(Strict):
    """What every request class of a workload is promised."""

    ttft_ms: Annotated[Latency, _bare_means("p95")] | None = None
    tpot_ms: Annotated[Latency, _bare_means("mean")] | None = None
    e2e_ms: Annotated[Latency, _bare_means("p95")] | None = None
    ttft_overhead_ms: Annotated[float, Number, Field(ge=0, le=1e7)] = 0.0
    """Pipeline stages before the model: gateway, embedding, retrieval."""


class RequestClass(Strict):
    """A share of a workload's requests with lengths of its own."""

    share: PositiveShare
    input_tokens: Tokens
    output_tokens: Tokens

    @property
    def name(self) -> str:
        """The class as people write it: prompt length by answer length."""
        return f"{self.input_tokens}x{self.output_tokens}"


class Demand(Strict):
    """A rate that changes over the week; plans cover its peak."""

    hourly: Annotated[tuple[HourlyRate, ...], Field(min_length=24, max_length=24)] | None = None
    weekend_factor: Annotated[float, Number, Field(ge=0, le=10)] = 1.0
    peak_requests_per_second: Rate | None = None
    profile: str | None = None
    """A CSV file with `hour_of_week`, `requests_per_second`; read when the scenario is loaded."""
    weekly_requests_per_second: Annotated[tuple[HourlyRate, ...], Field(min_length=168, max_length=168)] | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        given = [
            form for form in ("hourly", "profile", "weekly_requests_per_second") if getattr(self, form) is not None
        ]
        if len(given) != 1:
            raise ValueError("give exactly one of hourly, profile, weekly_requests_per_second")
        if (self.hourly is None) != (self.peak_requests_per_second is None):
            raise ValueError("hourly and peak_requests_per_second go together")
        if not self.profile and self.weekly_peak() <= 0:
            raise ValueError("demand is zero in every hour")
        return self

    def weekly(self) -> tuple[float, ...]:
        """Requests per second in each of the week's 168 hours, Monday first."""
        if self.weekly_requests_per_second is not None:
            return self.weekly_requests_per_second
        if self.hourly is None or self.peak_requests_per_second is None:
            raise ValueError("the profile was not loaded")
        week = [rate * (self.weekend_factor if day >= 5 else 1.0) for day in range(7) for rate in self.hourly]
        highest = max(week) or 1.0
        return tuple(rate / highest * self.peak_requests_per_second for rate in week)

    def weekly_peak(self) -> float:
        """The highest hour's requests per second."""
        return max(self.weekly())


class Workload(Strict):
    """A named stream of requests to one model, with its rate, lengths and promises."""

    name: Name
    model: Annotated[str, Field(min_length=1, max_length=200)]
    requests_per_second: Rate | None = None
    demand: Demand | None = None
    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    request_classes: Annotated[tuple[RequestClass, ...], Field(min_length=1, max_length=400)] | None = None
    trace: str | None = None
    """A CSV file with `arrived_at_s`, `input_tokens`, `output_tokens`; read when the scenario is loaded."""
    cached_input_share: Annotated[float, Number, Field(ge=0, lt=1)] = 0.0
    slo: Slo = Slo()
    min_quality: PositiveShare | None = None
    unknown_quality: Literal["reject", "accept"] = "reject"
    """Whether a precision whose quality nobody published passes `min_quality`."""

    @model_validator(mode="after")
    def _one_rate_and_one_shape(self) -> Self:
        if self.trace is not None and self.requests_per_second is None and self.request_classes is None:
            rivals = [f for f in ("demand", "input_tokens", "output_tokens") if getattr(self, f) is not None]
            if rivals:
                raise ValueError(f"trace already gives the rate and the lengths; remove {', '.join(rivals)}")
            return self
        if (self.requests_per_second is None) == (self.demand is None):
            raise ValueError("give exactly one of requests_per_second, demand (or a trace)")
        lengths = self.input_tokens is not None and self.output_tokens is not None
        if (self.input_tokens is None) != (self.output_tokens is None) or lengths == (self.request_classes is not None):
            raise ValueError("give input_tokens with output_tokens, or request_classes (or a trace)")
        if self.request_classes is not None:
            total = sum(item.share for item in self.request_classes)
            if abs(total - 1) > SHARE_TOLERANCE:
                raise ValueError(f"the shares of request_classes add up to {total:g}, not 1")
            if len({item.name for item in self.request_classes}) < len(self.request_classes):
                raise ValueError("two request_classes have the same lengths; add their shares")
        return self

    def classes(self) -> tuple[RequestClass, ...]:
        """The request classes in order of prompt length; one class when only means were given."""
        if self.request_classes is not None:
            return tuple(sorted(self.request_classes, key=lambda item: (item.input_tokens, item.output_tokens)))
        if self.input_tokens is None or self.output_tokens is None:
            raise ValueError(f"the trace of workload {self.name} was not loaded")
        return (RequestClass(share=1.0, input_tokens=self.input_tokens, output_tokens=self.output_tokens),)

    def peak_requests_per_second(self) -> float:
        """The rate that a plan must serve."""
        if self.requests_per_second is not None:
            return self.requests_per_second
        if self.demand is None:
            raise ValueError(f"the trace of workload {self.name} was not loaded")
        return self.demand.weekly_peak()


def _listed(value: Any) -> Any:
    """Reads a bare string where a list is meant."""
    return [value] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_listed), Field(max_length=MAX_NAMES)]


class AllowDeny(Strict):
    """Names or wildcards; an empty allow list allows all, deny wins."""

    allow: Names = ()
    deny: Names = ()

    def permits(self, name: str) -> bool:
        """Whether the name passes both lists."""
        allowed = not self.allow or any(fnmatchcase(name, pattern) for pattern in self.allow)
        return allowed and not any(fnmatchcase(name, pattern) for pattern in self.deny)


class Quota(Strict):
    """At most so many GPUs where provider, region and GPU match; a missing field matches all."""

    provider: str = "*"
    region: str = "*"
    gpu: str = "*"
    max_gpus: Whole

    @property
    def name(self) -> str:
        """The quota as a path element."""
        return f"{self.provider}/{self.region}/{self.gpu}"

    def covers(self, provider: str, region: str, gpu: str) -> bool:
        """Whether an offer counts against this quota."""
        pairs = ((provider, self.provider), (region, self.region), (gpu, self.gpu))
        return all(fnmatchcase(value, pattern) for value, pattern in pairs)


class Policy(Strict):
    """What the plan may buy and how close to the edge it may run; every field is optional."""

    providers: AllowDeny = AllowDeny()
    gpus: AllowDeny = AllowDeny()
    regions: AllowDeny = AllowDeny()
    provider_kinds: Annotated[tuple[ProviderKind, ...], BeforeValidator(_listed)] = ("hyperscaler", "neocloud")
    """`marketplace` hosts and container `platform`s are opted into."""
    pricing_terms: Annotated[tuple[PricingTerm, ...], BeforeValidator(_listed)] = ("on_demand",)
    price_confidence: Annotated[tuple[Confidence, ...], BeforeValidator(_listed)] = ("listed", "derived")
    """`seed` prices, quoted in articles without a price list behind them, are opted into."""
    max_price_age_days: PositiveWhole | None = DEFAULT_MAX_PRICE_AGE_DAYS
    """Older prices are left out, counted back from the catalog's date; null takes them all."""
    flag_price_age_days: PositiveWhole = DEFAULT_FLAG_PRICE_AGE_DAYS
    """Older prices in a plan carry a warning."""
    engines: Names = ()
    precisions: Names = ()
    kv_precisions: Names = ()
    max_monthly_usd: Annotated[float, Number, Field(gt=0, le=1e12)] | None = None
    max_gpus: Whole | None = None
    max_distinct_configurations: PositiveWhole | None = None
    spare_replicas: Annotated[int, Number, Field(ge=0, le=100)] = 0
    min_providers: Annotated[int, Number, Field(ge=1, le=20)] = 1
    min_regions: Annotated[int, Number, Field(ge=1, le=50)] = 1
    max_spot_share: Share | None = None
    quotas: Annotated[tuple[Quota, ...], Field(max_length=MAX_NAMES)] = ()
    max_utilization: PositiveShare = DEFAULT_MAX_UTILIZATION
    confidence: Annotated[float, Number, Field(ge=CENTRAL_CONFIDENCE, le=0.999)] = DEFAULT_CONFIDENCE
    max_power_kw: Annotated[float, Number, Field(gt=0, le=1e6)] | None = None


class Scenario(Strict):
    """One question to the optimizer: these workloads, under this policy."""

    name: Name
    description: Annotated[str, Field(max_length=4000)] = ""
    workloads: Annotated[tuple[Workload, ...], Field(min_length=1, max_length=100)]
    policy: Policy = Policy()

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [workload.name for workload in self.workloads]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"two workloads are named {', '.join(repeated)}")
        return self
