"""What a scaler that follows the requests makes of a week, beside the schedule of a plan that knew them."""

from optimizer.base.model import Strict
from optimizer.plan.record.fields import Figure, Usd


class ScaledRun(Strict):
    """A workload's requests over the simulated days, on average over the seeds."""

    share_within_limits: Figure
    """Of requests, within all limits at once."""
    broken_minutes: Figure
    """In which the requests of a class broke one of its promises, taken by themselves."""
    replica_hours: Figure
    """That replicas were there or being started."""
    most_replicas: int
    """At once, in any seed."""
    starts: Figure
    """Of replicas."""


class ScaledWorkload(Strict):
    """A workload under the scaler, and under the plan's schedule with every replica ready when its hour begins."""

    workload: str
    requests: Figure
    """Over the simulated days, on average over the seeds."""
    minutes: int
    """Of the simulated days."""
    start_up_s: Figure
    """From asking for a replica to its first answer, of the slowest configuration that is scaled."""
    start_up: str
    """How that is known."""
    scaled: ScaledRun
    planned: ScaledRun


class Autoscaling(Strict):
    """Replicas that are added and removed by what arrived, beside the plan's own hours."""

    target: Figure
    """Share of what replicas sustain that the scaler aims at."""
    rule: str
    """In words."""
    cost_usd: Usd
    """Of all instances over the simulated days, those that are paid in any case among them; the mean over the seeds."""
    planned_cost_usd: Usd
    """The same of the plan's schedule, starts included."""
    workloads: list[ScaledWorkload]
