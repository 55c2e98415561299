"""What was found of each promise, and of each run that was given for it."""

from typing import Literal

from pydantic import Field

from optimizer.base.model import Strict
from optimizer.plan.record.fields import Figure

CheckVerdict = Literal["kept", "broken", "undecided", "unfit"]


class CheckedPromise(Strict):
    """One limit of a class at a deployment, and what was measured of it."""

    workload: str
    request_class: str = Field(serialization_alias="class", validation_alias="class")
    deployment: str
    also_for: list[str]
    """Deployments on the same machines, bought otherwise, of which it is as true."""
    metric: Literal["ttft_ms", "tpot_ms", "e2e_ms", "requests_per_second"]
    statistic: str
    limit: Figure
    """As the scenario states it: milliseconds, or requests a second."""
    limit_at_replica: Figure
    """What is left of it for the replica, beside which was measured."""
    promised_share: Figure | None
    """Of requests, to be within every limit of this percentile; None of a mean or a rate."""
    requests: int
    """That were sent in the runs that count."""
    share_within: Figure | None
    """Of them, within every limit of this percentile; at least so many where the files do not tell exactly."""
    lower_bound: Figure | None
    """Of the share of all requests; a share below it is ruled out at `sure`."""
    upper_bound: Figure | None
    share_within_alone: Figure | None
    """Within this limit, whatever became of the others; None where the files do not tell."""
    measured: Figure | None
    """The statistic as it was measured, over the requests of all runs together; of runs whose single requests are not
    known the mean of theirs, each weighing as many requests as it answered."""
    measured_low: Figure | None
    """Of a mean: between these it lies, each side at `sure`."""
    measured_high: Figure | None
    predicted: Figure | None
    """At the replica."""
    predicted_low: Figure | None
    predicted_high: Figure | None
    as_predicted: bool | None
    """Whether what was measured lies in the interval that holds nine of ten predictions."""
    verdict: CheckVerdict
    more_requests_needed: int | None
    """Until it is decided, if what was seen stays; None where no number of requests is known to decide it."""
    text: str


class CheckedRun(Strict):
    """A run in a result file, and whether it is one that the plan promises."""

    file: str
    place: str
    """Which run of the file; empty where it holds one."""
    tool: str
    benchmark: str | None
    """The run of the plan that it is; None where it is none."""
    fit: bool
    reasons: list[str]
    """Why it does not count, each with the measured and the promised value."""
    notes: list[str]


class CheckReport(Strict):
    """The verdict on a plan."""

    verdict: CheckVerdict
    """Unfit where any run does not count, else broken where any promise is, else undecided where any is or was not
    measured."""
    scenario: str
    plan: str
    """Its id."""
    sure: Figure
    """Of each verdict, one-sided."""
    promises: list[CheckedPromise]
    runs: list[CheckedRun]
    not_measured: list[str]
    """Runs that no file holds."""
    not_benchmarked: list[str]
    """What of the plan no run measures."""
