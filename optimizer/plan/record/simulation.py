"""What a plan's percentiles are when requests really arrive, one by one."""

import operator
from typing import Final, Literal

from pydantic import Field

from optimizer.base.model import Strict
from optimizer.plan.record.autoscaling import Autoscaling
from optimizer.plan.record.fields import ByStatistic, Figure, Ms, UnitUsd, Usd

Verdict = Literal["holds", "broken", "undecided"]


BY_FORMULAS: Final = (
    "plans hold by formulas here; `plan` simulates its own, and buys more where requests that arrive one by one break "
    "a promise"
)
"""What is to be said of plans that nobody simulated."""


class MeasuredLimit(Strict):
    """One promise, what was measured of it, and between which two values that lies."""

    metric: Literal["ttft_ms", "tpot_ms", "e2e_ms"]
    statistic: str
    limit_ms: Ms
    value_ms: Ms
    """At the rate and the lengths that were asked, where it is known what the sample had luck with; what was sampled
    stands with the class."""
    low_ms: Ms
    high_ms: Ms | None
    """None where the sample is too small to bound it."""
    verdict: Verdict
    hour: int | None = None
    """Over days: the hour from their beginning, 0 the first, whose requests alone break it, and of which the figures
    are; None where they are of all hours."""


class FoundPrefixes(Strict):
    """Shares of the tokens of prompts whose blocks a trace says."""

    found_share: Figure
    """In the prefix cache of the replica that each was sent to."""
    repeated_share: Figure
    """At the beginning of a prompt that an earlier request of the trace had, too: found in one cache for all that
    forgets nothing."""
    planned_share: Figure
    """That the plan counts on: `cached_input_share` of the workload."""


class SimulatedClass(Strict):
    """A request class of a workload over all its replicas."""

    workload: str
    request_class: str = Field(serialization_alias="class", validation_alias="class")
    requests: int
    """Looked at, those of the warm-up left out."""
    share_within_limits: Figure
    """Of requests, within all limits at once; a limit on a mean is held against each request's own figure. At the rate
    and the lengths that were asked, like `value_ms` of a limit."""
    interval: tuple[Figure, Figure]
    """Of that share."""
    ttft_ms: ByStatistic
    """Stages before the model included."""
    tpot_ms: ByStatistic
    e2e_ms: ByStatistic
    limits: list[MeasuredLimit]
    prefix_cache: FoundPrefixes | None = Field(default=None, exclude_if=operator.not_)
    """What was found of the prompts; left out where no trace says their blocks."""


class SimulatedDeployment(Strict):
    """The replicas of a deployment that were looked at, on average."""

    workload: str
    gpu: str
    provider: str
    replicas: int
    replicas_simulated: int
    busy_share: Figure
    """Of the time, in which the engine ran steps."""
    concurrency: Figure
    """Sequences running on average."""
    waiting: Figure | None = None
    """Requests that wait or whose prompts are read, on average; None in plans written before it was told."""
    preempted: int
    """Running sequences that a full KV cache took back to the queue."""
    kv_cache_tokens: int | None = Field(default=None, exclude_if=operator.not_)
    """That the KV cache of a replica holds, of running requests and of prompts that may be found again; left out where
    no trace says the blocks of prompts."""


class SimulatedPart(Strict):
    """A part of the simulated time: the requests of a workload that came in it."""

    workload: str
    from_s: Figure
    to_s: Figure
    """From the first request."""
    requests: int
    share_within_limits: Figure
    """Of them, within all limits at once."""
    ttft_p95_ms: Ms | None
    """None where it is that of requests which were never answered."""


Phase = Literal["before", "lost", "after"]


class LossPhase(SimulatedPart):
    """The same of requests that came before a loss, while it lasted, or since."""

    phase: Phase


class BrokenSpell(Strict):
    """A stretch of time in which a promise was broken: each of its parts alone leaves no doubt of it."""

    workload: str
    request_class: str = Field(serialization_alias="class", validation_alias="class")
    metric: Literal["ttft_ms", "tpot_ms", "e2e_ms"]
    statistic: str
    limit_ms: Ms
    from_s: Figure
    to_s: Figure
    """From the first request."""
    requests: int
    share_within_limit: Figure
    """Of them, each held against the limit by itself."""
    worst_ms: Ms | None
    """The statistic in the worst of its parts; None where that is of requests which were never answered."""


class SimulatedCost(Strict):
    """What a request of a workload costs on the plan's replicas."""

    workload: str
    cost_per_request_usd: UnitUsd
    """As the plan has it: its replicas' month over the requests of a month."""
    cost_per_request_within_limits_usd: UnitUsd | None
    """The same over requests that kept all limits in the simulation; None where none did."""


class HeldRate(Strict):
    """What a replica was found to hold of a mix of classes, where that is less than predicted; so of configurations
    alike."""

    workload: str
    model: str
    gpu: str
    precision: str
    tensor_parallel: int
    pipeline_parallel: int
    speculation: str = Field(default="", exclude_if=operator.not_)
    predicted_requests_per_second: Figure
    """To be sustained by the formulas, of the mix of classes that the plan sends it."""
    held_requests_per_second: Figure
    """The most at which a simulation leaves no doubt that every promise is kept."""
    counted_share: float
    """Of what is predicted: so much that at the highest load that the policy admits a replica is sent what it holds."""
    request_share: dict[str, float] = Field(default_factory=dict, exclude_if=operator.not_)
    """By class, of the requests that it was sent: the share is counted on of this mix, more of it the more another
    one differs; left out where it is of every mix, as over a week, of which the busiest hours alone are simulated."""
    in_doubt: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """Of these classes, those whose promises were in doubt: of mixes without them what is predicted is counted on."""
    text: str


class SimulationRound(Strict):
    """A plan that did not hold under simulated load, and what was lowered before the question was solved again."""

    monthly_cost_usd: Usd
    """Of that plan."""
    workload: str
    request_class: str = Field(serialization_alias="class", validation_alias="class")
    limit: MeasuredLimit
    """The promise with the least to spare: broken, or undecided after the larger sample."""
    lowered: list[HeldRate]
    others_counted_share: dict[str, float] = Field(default_factory=dict)
    """By workload, of what is predicted of every other configuration: where several plans broke promises, the most
    that any of two unlike configurations held is counted on."""
    left_no_plan: bool = False
    """Whether no plan was found at the lowered rates, so that the one before stands."""


class Simulation(Strict):
    """The plan under simulated load at the hours in which its replicas have most to do."""

    requests: int
    arrivals: str
    lengths: str | None = None
    """The profile whose lengths requests have; None where they are those of the scenario or of a trace."""
    assumed: tuple[str, ...] = ()
    """Workloads of which the scenario does not say how requests arrive, taken to know nothing of each other."""
    from_trace: tuple[str, ...] = ()
    """Workloads of which it was read from a trace how unevenly requests arrive."""
    recorded: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """Of these, those whose requests were sent as they were recorded; of others they were drawn."""
    days: int | None = None
    """Of the scenario's week, hour by hour; None for the hours in which replicas have most to do."""
    seeds: int
    confidence: Figure
    """The step times are the bound that is this likely to be kept."""
    likely: Figure
    """With which probability every interval holds what it is said of."""
    holds: bool | None
    """None where some promise can't be decided with so many requests."""
    classes: list[SimulatedClass]
    deployments: list[SimulatedDeployment]
    over_time: tuple[SimulatedPart, ...] = ()
    """What requests met in equal parts of the time; empty beside a plan."""
    lost: tuple[str, ...] = ()
    """Instances that were lost for a part of it, in words; `holds` and `classes` are then of requests that came while
    the loss lasted."""
    phases: tuple[LossPhase, ...] = ()
    """What requests met before a loss, while it lasted, and since."""
    broken_spells: tuple[BrokenSpell, ...] = ()
    """What broke, and when; empty beside a plan."""
    costs: tuple[SimulatedCost, ...] = ()
    """Of each workload; empty beside a plan."""
    not_simulated: list[str]
    """Parts of the plan that nothing is known of by simulation, such as hosted APIs."""
    rounds: tuple[SimulationRound, ...] = ()
    """Plans before this one that did not hold."""
    autoscaling: Autoscaling | None = Field(default=None, exclude_if=operator.not_)
    """Where a scaler adds and removes replicas by what arrived: all else is then of its replicas. Left out where the
    plan's own hours have them."""
