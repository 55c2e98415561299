"""What may be asked beside a scenario, by kind of question: the options of the command of that name, in their units."""

from decimal import Decimal
from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue

from optimizer.base.model import Strict

MAX_TIME_LIMIT_S: Final = 600.0
"""For a question; whoever wants to wait longer has the command line."""
MAX_TOKENS: Final = 10_000_000
MAX_AMOUNT: Final = 10**12
"""US dollars or percent, as on the command line: more is a slip."""

TimeLimit = Annotated[float, Field(ge=0.001, le=MAX_TIME_LIMIT_S, description="Seconds for the whole question.")]
WorkLimit = Annotated[int, Field(ge=1, description="The same in simplex iterations; it ends at the same place always.")]
Degree = Annotated[int, Field(ge=1, le=1024)]
Amount = Annotated[Decimal, Field(ge=0, le=MAX_AMOUNT)]


class Options(Strict):
    """What is common to them all: nothing."""

    @property
    def brings_scenario(self) -> bool:
        """Whether the scenario stands in what is asked, so that none is given beside it."""
        return False


class Limited(Options):
    """Where a search ends, as for the command."""

    time_limit_s: TimeLimit = 60.0
    work_limit: WorkLimit | None = None


class PlanOptions(Limited):
    """Of `optimizer plan`."""

    verbose: bool = Field(default=False, description="Varies every limit and price, which takes tens of seconds.")


class WhyNotOptions(Limited):
    """Of `optimizer why-not`: the choice that is proposed instead; names may hold wildcards."""

    gpu: str | None = None
    provider: str | None = None
    precision: str | None = None
    tensor_parallel: Degree | None = None
    pricing_term: str | None = None
    engine: str | None = None
    region: str | None = None
    workload: str | None = Field(default=None, description="Force GPU, precision and engine on this workload alone.")


class FrontierOptions(Limited):
    """Of `optimizer frontier`."""

    sweep: tuple[str, ...] = Field(
        min_length=1, max_length=2, description="One or two of FIELD=A:B:N.", examples=[["ttft_ms=200:1000:5"]]
    )


class CompareOptions(Limited):
    """Of `optimizer compare`."""

    by: Literal["provider", "gpu", "precision", "pricing_term", "region", "hosting"]


class SimulateOptions(Limited):
    """Of `optimizer simulate`, asked of a scenario, which is planned first, or of a plan."""

    plan: dict[str, JsonValue] | None = Field(
        default=None, description="A plan, as `plan` answers, in the scenario's place: it holds its scenario."
    )

    arrivals: str | None = Field(
        default=None,
        description="poisson, gamma:CV2, ramp:FROM-TO or together:SECONDS, week:DAYS; else as the scenario says.",
    )
    lengths: str | None = Field(
        default=None, description="A profile of the catalog length-profiles, whose lengths requests have instead."
    )
    seeds: int = Field(default=1, ge=1, le=1000, description="How often to repeat it with other luck.")
    requests: int = Field(default=50_000, ge=100, le=1_000_000, description="Of each workload and seed.")
    confidence: float | None = Field(default=None, ge=0.5, le=0.999, description="Step times at this bound.")
    by_chance: bool = Field(
        default=False, description="Requests go to any replica at random, whatever policy.router says."
    )
    router: Literal["in_turn", "by_chance", "least_loaded"] | None = Field(
        default=None, description="What sends requests to replicas, whatever policy.router says."
    )
    lose_instance: bool = Field(default=False, description="Half-way an instance of each workload is lost for a time.")
    lose_region: str | None = Field(default=None, description="The same of all replicas in a region.")
    lose_spot: bool = Field(default=False, description="The same of all spot replicas in a region.")
    lost_minutes: float | None = Field(
        default=None, ge=0.1, le=10_000, description="How long it lasts; else as the scenario or the catalogs say."
    )
    autoscale: float | None = Field(
        default=None, ge=0.05, le=1, description="Over week:DAYS a scaler aims at this share of what replicas sustain."
    )

    @property
    def brings_scenario(self) -> bool:
        """A plan does."""
        return self.plan is not None


class GateOptions(Options):
    """Of `optimizer gate`, asked of one scenario."""

    max_monthly_usd: Amount | None = None
    max_increase_percent: Amount | None = Field(default=None, description="Over the baseline.")
    max_increase_usd: Amount | None = Field(default=None, description="Over the baseline.")
    baseline: dict[str, JsonValue] | None = Field(default=None, description="A plan of before, as `plan` answers.")
    max_price_age_days: int | None = Field(default=None, ge=1)
    time_limit_s: TimeLimit | None = None
    work_limit: WorkLimit = 200_000


class PredictOptions(Options):
    """Of `optimizer predict`: one deployment, and either requests in flight or requests per second."""

    model: str
    gpu: str
    precision: str
    input_tokens: int = Field(ge=1, le=MAX_TOKENS)
    output_tokens: int = Field(ge=1, le=MAX_TOKENS)
    concurrency: int | None = Field(default=None, ge=1, le=1_000_000, description="Requests in flight.")
    request_rate: float | None = Field(default=None, ge=1e-9, le=1e6, description="Requests/s, instead.")
    tensor_parallel: Degree = 1
    pipeline_parallel: Degree = 1
    kv_precision: str = Field(default="", description="Of the KV cache; 16 bits unless given.")
    engine: str = "vllm"
    engine_version: str = Field(default="", description="The newest known unless given.")
    speculation: str = Field(default="", description="A method, tokens drafted a step, or both: mtp, 2, eagle3:3.")
    accepted_tokens: float | None = Field(default=None, ge=1, le=64, description="What a step keeps; else as counted.")
