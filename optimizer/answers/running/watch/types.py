"""What was found of each quantity that was planned, and of the bill."""

from typing import Literal

from optimizer.base.model import Strict
from optimizer.plan.record.fields import Figure, UnitUsd, Usd

WatchVerdict = Literal["within", "drifted", "undecided"]
WatchedQuantity = Literal[
    "requests_per_second",
    "input_tokens",
    "output_tokens",
    "cached_input_share",
    "ttft_ms",
    "tpot_ms",
    "e2e_ms",
    "kv_cache_share",
]


class WatchedFigure(Strict):
    """One quantity of a deployment, as planned and as its servers tell it."""

    quantity: WatchedQuantity
    statistic: str
    """`mean`, or the percentile that is promised."""
    metric: str | None
    """What the servers call it; None where nobody recorded a name."""
    planned_low: Figure | None
    """As planned from here on, the tolerance included; None where less is as planned, too."""
    planned_high: Figure | None
    """As planned up to here, the tolerance included: of a latency its limit at the replica; None where more is as
    planned, too."""
    requests: int
    """That it was told of."""
    measured: Figure | None
    """A mean, exactly as the servers tell it; None of a percentile, which buckets bound and do not tell."""
    measured_low: Figure | None
    """It is no less: of a mean at `sure`, of a percentile by its bucket."""
    measured_high: Figure | None
    """It is no more; None where it may be anything above."""
    verdict: WatchVerdict
    text: str


class WatchedBill(Strict):
    """What tokens cost at the load that was seen, as long as it stays."""

    usd_per_month: Usd
    """Of the deployment, as planned."""
    usd_per_month_of_seen: Usd
    """Of as many replicas as told of themselves, if they run all month."""
    usd_per_replica_hour: UnitUsd
    requests_per_second: Figure
    """Of one replica, like the next."""
    tokens_per_second: Figure
    usd_per_million_tokens: UnitUsd
    planned_usd_per_million_tokens: UnitUsd | None
    usd_per_million_output_tokens: UnitUsd | None
    planned_usd_per_million_output_tokens: UnitUsd | None


class WatchReport(Strict):
    """Whether what runs is what was planned."""

    verdict: WatchVerdict
    """Drifted where anything is, else undecided where anything is."""
    scenario: str
    plan: str
    """Its id."""
    deployment: str
    engine: str
    engine_version: str
    """Of which the names of metrics are taken."""
    moments: int
    """Two, or one: then all is told since the servers started."""
    seconds: Figure | None
    """Between the two; None where nobody knows."""
    replicas: int
    """That told of themselves at the later moment."""
    planned_replicas: list[int]
    """In each period, in which any serves."""
    tolerance: Figure
    """By how much rate, lengths and cache may differ from the plan, as a share of it."""
    sure: Figure
    """Of each bound, one-sided."""
    figures: list[WatchedFigure]
    bill: WatchedBill | None
    """None where it is not known how many tokens there were a second."""
    bill_needs: str
    """What is missing for it; empty where nothing is."""
    notes: list[str]
