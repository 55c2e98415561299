"""What the user asks for: workloads with their service levels, under the policy a plan must respect."""

from fnmatch import fnmatchcase
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from optimizer.base.model import Strict
from optimizer.base.signs import look
from optimizer.base.units import MS_PER_S
from optimizer.inputs.catalog.entries.engines import Draft
from optimizer.inputs.scenario.demand import (
    POISSON_CV2,
    SHARE_TOLERANCE,
    ArrivalProcess,
    Deadline,
    Demand,
    RequestClass,
    RequestLengths,
    TokensPerDay,
)
from optimizer.inputs.scenario.fields import (
    AllowDeny,
    Countries,
    Everywhere,
    FieldError,
    InShort,
    ModelName,
    Name,
    NameOf,
    Names,
    NetworkMs,
    Number,
    People,
    PositiveShare,
    PositiveWhole,
    Rate,
    Tokens,
    UnknownQuality,
    Whole,
    repeated,
)
from optimizer.inputs.scenario.lifecycle import (
    Checkpoints,
    GrowthBranch,
    Horizon,
    Lifecycle,
    MeasuredRun,
    PriceChange,
    TrainingRun,
)
from optimizer.inputs.scenario.policy import (
    CENTRAL_CONFIDENCE,
    Egress,
    Elastic,
    Grid,
    Hosting,
    InForce,
    Loss,
    Migration,
    PerSecond,
    Policy,
    Quota,
    Robust,
    Spot,
    Survive,
)
from optimizer.inputs.scenario.risk import Correlations, DaysSpread, PriceSpread, Risk, Spread
from optimizer.inputs.scenario.served_by import AlternativeModel, Drafts, LoraAdapters
from optimizer.inputs.scenario.service_levels import STATISTICS, Latency, Slo

__all__ = [
    "CENTRAL_CONFIDENCE",
    "STATISTICS",
    "AllowDeny",
    "AlternativeModel",
    "ArrivalProcess",
    "Checkpoints",
    "Correlations",
    "Countries",
    "DaysSpread",
    "Deadline",
    "Demand",
    "Draft",
    "Egress",
    "Elastic",
    "Grid",
    "GrowthBranch",
    "Horizon",
    "Hosting",
    "InForce",
    "Latency",
    "Lifecycle",
    "LoraAdapters",
    "Loss",
    "MeasuredRun",
    "Migration",
    "PerSecond",
    "Policy",
    "PriceChange",
    "PriceSpread",
    "Quota",
    "RequestClass",
    "RequestLengths",
    "Risk",
    "Robust",
    "Scenario",
    "Slo",
    "Spot",
    "Spread",
    "Survive",
    "TokensPerDay",
    "TrainingRun",
    "Workload",
]
"""A scenario and every record in it, whichever file defines it."""

Thinking = Annotated[float, Number, Field(ge=1, le=1000)]
RATES = ("requests_per_second", "demand", "users", "tokens_per_day", "deadline")
"""Fields that say how much is asked."""
SHAPES = ("input_tokens", "output_tokens")


def _as_published(value: object) -> object:
    """Reads yes as what was published."""
    return {True: "published", False: None}[value] if isinstance(value, bool) else value


YesAsPublished = InShort(_as_published, lambda _: {"type": "boolean"})


class Workload(Strict):
    """A named stream of requests to one model, with its rate, lengths and promises."""

    name: Name
    model: Annotated[ModelName, NameOf("model", wildcards=False)]
    alternatives: Annotated[tuple[AlternativeModel, ...], Field(max_length=20)] = ()
    """Other models that may serve it, alone or beside the first."""
    requests_per_second: Rate | None = None
    demand: Demand | None = None
    users: People | None = None
    """People at work in the busiest hour; goes with `requests_per_user_hour`."""
    requests_per_user_hour: Annotated[float, Number, Field(gt=0, le=3600)] | None = None
    tokens_per_day: TokensPerDay | None = None
    deadline: Deadline | None = None
    """A batch that must be done by an hour of the day; when it is loaded, the rate at which it is stands beside it."""
    stated_as: tuple[str, ...] = ()
    """How users, tokens or a deadline became a rate, in words; written when the scenario is loaded."""
    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    request_classes: Annotated[tuple[RequestClass, ...], Field(min_length=1, max_length=400)] | None = None
    lengths: Annotated[str | None, NameOf("length_profile", wildcards=False)] = None
    """A profile of the catalogs, instead of lengths; its class stands in its place once they were asked."""
    trace: str | None = None
    """A CSV file with `arrived_at_s`, `input_tokens`, `output_tokens`; read when the scenario is loaded."""
    arrivals: ArrivalProcess | None = None
    """Where nothing is said, as the trace has it, and without one Poisson."""
    reasoning: Annotated[
        Literal["published"] | Thinking | None, InShort(_as_published, lambda _: {"type": "boolean"})
    ] = None
    """How many times as many tokens an answer has with its thinking: a factor, or what was published of the model."""
    lora_adapters: LoraAdapters | None = None
    speculation: Drafts = ()
    """Of its first model; what a step keeps of a draft stands beside it once the catalogs were asked."""
    cached_input_share: Annotated[float, Number, Field(ge=0, lt=1)] = 0.0
    users_in: Annotated[Names, NameOf("geography", wildcards=False)] = ()
    """Geographies of the round trips in the catalogs; any user may be served from any region of the plan."""
    network_ms: Annotated[Annotated[dict[str, NetworkMs], Field(min_length=1), Everywhere] | None, NameOf("region")] = (
        None
    )
    """The round trip by region with wildcards, the first pattern that matches counting, or one number."""
    slo: Slo = Slo()
    min_quality: PositiveShare | None = None
    """Share of the 16-bit score that the precision keeps, mean over benchmarks."""
    min_quality_worst: PositiveShare | None = None
    """The same of the benchmark on which it keeps least."""
    unknown_quality: UnknownQuality = "avoid"
    """Whether a precision serves whose quality nobody published: avoided, it passes no floor, and without one weights
    of few bits serve only where no other plan exists; rejected, it never serves."""
    min_replicas: Whole = 0
    """Replicas that run in every hour, however little is asked."""
    max_replicas: PositiveWhole | None = None
    """Replicas that run in any hour at most, over all its deployments."""
    providers: Annotated[AllowDeny, NameOf("provider")] = AllowDeny()
    """Where this workload may run, within what the policy admits; so the next two."""
    regions: Annotated[AllowDeny, NameOf("region")] = AllowDeny()
    countries: Annotated[Countries, NameOf("country")] = Countries()

    @model_validator(mode="after")
    def _one_rate_and_one_shape(self) -> Self:
        if self.trace is not None and self.requests_per_second is None and self.request_classes is None:
            rivals = [f for f in (*RATES, *SHAPES, "lengths") if getattr(self, f) is not None]
            if rivals:
                raise ValueError(f"trace already gives the rate and the lengths; remove {', '.join(rivals)}")
            return self
        self._one_rate()
        if self.lengths is not None:
            rivals = [f for f in (*SHAPES, "request_classes") if getattr(self, f) is not None]
            if rivals:
                problem = f"the profile already gives the lengths; remove {', '.join(rivals)}"
                raise FieldError("lengths", problem, "or remove lengths")
            return self
        lengths = self.input_tokens is not None and self.output_tokens is not None
        if (self.input_tokens is None) != (self.output_tokens is None) or lengths == (self.request_classes is not None):
            raise ValueError("give input_tokens with output_tokens, or request_classes, or lengths (or a trace)")
        if self.request_classes is not None:
            total = sum(item.share for item in self.request_classes)
            if abs(total - 1) > SHARE_TOLERANCE:
                raise ValueError(f"the shares of request_classes add up to {total:g}, not 1")
            if len({item.name for item in self.request_classes}) < len(self.request_classes):
                raise ValueError("two request_classes have the same lengths; add their shares")
        return self

    def _one_rate(self) -> None:
        """One field says how much is asked; users and tokens may give a profile its height."""
        if (self.users is None) != (self.requests_per_user_hour is None):
            alone = "users" if self.users is not None else "requests_per_user_hour"
            raise FieldError(alone, "users and requests_per_user_hour go together", "give both")
        of_profile = self.demand is not None and self.demand.has_no_height
        given = [field for field in RATES if getattr(self, field) is not None and (field != "demand" or not of_profile)]
        if self.deadline is not None and self.stated_as:
            given.remove("deadline")
        if not given and of_profile:
            hint = "give demand.peak_requests_per_second, users or tokens_per_day"
            raise FieldError("demand", "hourly is a shape without a height", hint)
        if not given:
            raise ValueError(f"give exactly one of {', '.join(RATES)} (or a trace)")
        if len(given) > 1:
            raise FieldError(given[-1], f"{' and '.join(given)} each say how much is asked", "keep one")
        if of_profile and given[0] not in ("users", "tokens_per_day"):
            raise FieldError("demand", f"hourly gives no shape to {given[0]}", "remove demand")
        if self.reasoning is not None and (self.tokens_per_day or (self.deadline and self.deadline.tokens)):
            problem = "tokens are counted as they are generated, thinking included"
            raise FieldError("reasoning", problem, "give output_tokens with their thinking, and remove reasoning")
        if self.reasoning == "published" and self.alternatives:
            problem = "each of several models thinks at a length of its own"
            raise FieldError("reasoning", problem, "say one factor for all of them")
        if self.deadline is not None and self.slo.limits_latency:
            problem = "nobody waits for a single answer of a batch with a deadline"
            raise FieldError("slo", problem, "remove its latency limits, or the deadline")

    @model_validator(mode="after")
    def _replicas_leave_a_choice(self) -> Self:
        if self.max_replicas is not None and self.max_replicas < self.min_replicas:
            raise ValueError(f"max_replicas {self.max_replicas} is below min_replicas {self.min_replicas}")
        return self

    @model_validator(mode="after")
    def _models_are_distinct(self) -> Self:
        twice = repeated([self.model, *(item.model for item in self.alternatives)])
        if twice:
            raise ValueError(f"{twice} stands twice among model and alternatives")
        return self

    def drafts_of(self, model: str) -> Drafts:
        """Speculative decoding that replicas of one of its models may run with."""
        own = {self.model: self.speculation} | {item.model: item.speculation for item in self.alternatives}
        return own[model]

    def classes(self) -> tuple[RequestClass, ...]:
        """The request classes in order of prompt length; one class when only means were given."""
        if self.request_classes is not None:
            return tuple(sorted(self.request_classes, key=lambda item: (item.input_tokens, item.output_tokens)))
        if self.lengths is not None:
            raise ValueError(f"the catalogs were not asked for the lengths of workload {self.name}")
        if self.input_tokens is None or self.output_tokens is None:
            raise ValueError(f"the trace of workload {self.name} was not loaded")
        return (RequestClass(share=1.0, input_tokens=self.input_tokens, output_tokens=self.output_tokens),)

    @property
    def arrival_cv2(self) -> float:
        """Squared variation of the gaps between requests."""
        return POISSON_CV2 if self.arrivals is None else self.arrivals.cv2 or POISSON_CV2

    @property
    def longest_wait_s(self) -> float | None:
        """Seconds that a request may wait: the limit on its first token, else on the whole of it, else what its answer
        takes at the limit on each token; None where nothing is promised."""
        slo = self.slo
        allowed = slo.ttft_ms or slo.e2e_ms or slo.tpot_ms
        if allowed is None:
            return None
        longest_ms = max(allowed.limits_ms().values())
        tokens = sum(each.share * each.output_tokens for each in self.classes()) if allowed is slo.tpot_ms else 1
        return longest_ms * tokens / MS_PER_S

    @property
    def has_quality_floor(self) -> bool:
        """Whether a precision must keep a share of the 16-bit score, on the mean or on its worst benchmark."""
        return self.min_quality is not None or self.min_quality_worst is not None

    @property
    def quality_by_family(self) -> bool:
        """Whether the low end of what models of its size keep stands in for what nobody published."""
        return self.unknown_quality == "family"

    @property
    def peak_is_known(self) -> bool:
        """Whether the demand is a rate already."""
        return self.requests_per_second is not None or (self.demand is not None and not self.demand.has_no_height)

    @property
    def knows_where_users_are(self) -> bool:
        """Whether the network between users and replicas is counted."""
        return bool(self.users_in) or self.network_ms is not None

    def own_network_ms(self, region: str) -> float | None:
        """The round trip to a region as the scenario itself says; None where it does not."""
        found = (ms for pattern, ms in (self.network_ms or {}).items() if fnmatchcase(region, pattern))
        return next(found, None)

    def peak_requests_per_second(self) -> float:
        """The rate that a plan must serve."""
        if self.requests_per_second is not None:
            return self.requests_per_second
        if self.demand is None:
            raise ValueError(f"the demand of workload {self.name} was not loaded")
        return self.demand.weekly_peak()

    def least_requests_per_second(self) -> float:
        """The rate of its quietest hour in which there are requests."""
        if self.demand is None:
            return self.peak_requests_per_second()
        return min(rate for rate in self.demand.weekly() if rate > 0)


class Scenario(Strict):
    """One question to the optimizer: these workloads, under this policy."""

    name: Name
    description: Annotated[str, Field(max_length=4000)] = ""
    workloads: Annotated[tuple[Workload, ...], Field(min_length=1, max_length=100)]
    policy: Policy = Policy()
    lifecycle: Lifecycle | None = None
    """Read by `optimizer lifecycle` and `optimizer horizon` alone; a plan does not depend on it."""
    risk: Risk | None = None
    """Read by `optimizer risk` alone; a plan does not depend on it."""

    @property
    def promises_latency(self) -> bool:
        """Whether any workload does."""
        return any(workload.slo.limits_latency for workload in self.workloads)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        twice = repeated(look(workload.name) for workload in self.workloads)
        if twice:
            raise FieldError("workloads", f"two are named {twice}", "give each a name of its own")
        return self
