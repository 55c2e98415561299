"""Every number of the scenario that can be set a little tighter or looser, with its natural step and its range."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from optimizer.inputs.scenario.scenario import CENTRAL_CONFIDENCE, STATISTICS, Policy, Scenario, Workload
from optimizer.performance.candidates.options import WorkloadOptions
from optimizer.plan.record.fleet import Deployment

Direction = Literal["tighter", "looser"]

SHARE_STEP: Final = 0.1
"""One natural step of a latency, a demand, a budget or a power limit: ten percent of itself."""
UTILIZATION_STEP: Final = 0.05
CONFIDENCE_STEP: Final = 0.05
HIGHEST_CONFIDENCE: Final = 0.99
REACH: Final = 4.0
"""Breakpoints are looked for up to this factor of the value in force."""
QUALITY_STEPS: Final = 10_000
PEAK: Final = "demand.peak_requests_per_second"


@dataclass(frozen=True)
class Lever:
    """One number of the scenario.

    Attributes:
        field: Its path.
        what: Its name in words.
        value: What the scenario says now.
        unit: Of the value.
        steps: The value one natural step in each direction, where there is one.
        ends: How far breakpoints are looked for in each direction, where they are.
        whole: Whether only whole numbers make sense.
    """

    field: str
    what: str
    value: float
    unit: str
    steps: dict[Direction, float]
    ends: dict[Direction, float]
    whole: bool = False


def levers(scenario: Scenario, options: Sequence[WorkloadOptions], chosen: Sequence[Deployment]) -> tuple[Lever, ...]:
    """All numbers worth moving, each workload's first, in the order of the requirements.

    Args:
        scenario: What is asked.
        options: Whose precisions say which quality floors there are.
        chosen: The plan, whose instances say what one more means to a limit on GPUs.
    """
    found: list[Lever] = []
    for workload in scenario.workloads:
        own = [choice for choice in options if choice.workload.name == workload.name]
        found += [*_demand(workload), *_latencies(workload), *_quality(workload, own)]
    return (*found, *_shares(scenario.policy), *_counts(scenario.policy, chosen))


def is_demand(field: str) -> bool:
    """Whether a field says how much is asked for; that is met exactly, so it always binds."""
    return field.endswith("requests_per_second")


def _by_ratio(field: str, what: str, value: float, unit: str, tighter: float) -> Lever:
    """A number whose step is a tenth of itself; `tighter` is the sign of the tighter direction."""
    near: dict[Direction, float] = {
        "tighter": value * (1 + tighter * SHARE_STEP),
        "looser": value * (1 - tighter * SHARE_STEP),
    }
    far: dict[Direction, float] = {"tighter": value * REACH**tighter, "looser": value * REACH**-tighter}
    return Lever(
        field, what, value, unit, {d: _tidy(v) for d, v in near.items()}, {d: _tidy(v) for d, v in far.items()}
    )


def _tidy(value: float) -> float:
    return float(f"{value:.6g}")


def _demand(workload: Workload) -> Iterator[Lever]:
    """A rate, or the peak of a profile by the hour; a profile given hour by hour has no one number to move."""
    path, what = f"workloads[{workload.name}]", f"{workload.name} demand"
    if workload.requests_per_second is not None:
        yield _by_ratio(f"{path}.requests_per_second", what, workload.requests_per_second, "requests/s", 1)
    elif workload.demand is not None and workload.demand.peak_requests_per_second is not None:
        yield _by_ratio(f"{path}.{PEAK}", what, workload.demand.peak_requests_per_second, "requests/s", 1)


def _latencies(workload: Workload) -> Iterator[Lever]:
    for metric, name in (("ttft_ms", "TTFT"), ("tpot_ms", "TPOT"), ("e2e_ms", "end to end")):
        latency = getattr(workload.slo, metric)
        for statistic in STATISTICS if latency else ():
            limit = getattr(latency, statistic)
            if limit is not None:
                path = f"workloads[{workload.name}].slo.{metric}.{statistic}"
                yield _by_ratio(path, f"{workload.name} {name} {statistic}", limit, "ms", -1)


def _quality(workload: Workload, options: Sequence[WorkloadOptions]) -> Iterator[Lever]:
    """The floors at which the next precision falls out or comes in."""
    floor = workload.min_quality
    if floor is None:
        return
    estimates = (estimate for choice in options for estimate in choice.quality)
    shares = {estimate.share for estimate in estimates if estimate is not None and estimate.share <= 1}
    admitted = sorted({_rounded_down(share) for share in shares if share >= floor})
    barred = sorted({_rounded_down(share) for share in shares if 0 < share < floor})
    steps: dict[Direction, float] = {}
    if len(admitted) > 1:
        steps["tighter"] = admitted[1]
    if barred:
        steps["looser"] = barred[-1]
    yield Lever(f"workloads[{workload.name}].min_quality", f"{workload.name} quality floor", floor, "share", steps, {})


def _rounded_down(share: float) -> float:
    """So that the precision whose share this is still passes a floor of so much."""
    return math.floor(share * QUALITY_STEPS) / QUALITY_STEPS


def _shares(policy: Policy) -> Iterator[Lever]:
    busy, sure = policy.max_utilization, policy.confidence
    steps: dict[Direction, float] = {"tighter": round(busy - UTILIZATION_STEP, 6)} if busy > UTILIZATION_STEP else {}
    steps |= {"looser": round(min(busy + UTILIZATION_STEP, 1.0), 6)} if busy < 1 else {}
    ends: dict[Direction, float] = {"tighter": _tidy(busy / REACH), "looser": 1.0}
    yield Lever("policy.max_utilization", "utilization", busy, "share", steps, ends)
    steps = {"tighter": round(min(sure + CONFIDENCE_STEP, HIGHEST_CONFIDENCE), 6)}
    steps |= {"looser": round(max(sure - CONFIDENCE_STEP, CENTRAL_CONFIDENCE), 6)}
    steps = {way: to for way, to in steps.items() if to != sure}
    ends = {"tighter": max(HIGHEST_CONFIDENCE, sure), "looser": CENTRAL_CONFIDENCE}
    yield Lever("policy.confidence", "confidence", sure, "", steps, ends)


def _counts(policy: Policy, chosen: Sequence[Deployment]) -> Iterator[Lever]:
    for name, what, unit, limit in (
        ("max_monthly_usd", "budget", "USD", policy.max_monthly_usd),
        ("max_power_kw", "power", "kW", policy.max_power_kw),
    ):
        if limit is not None:
            yield _by_ratio(f"policy.{name}", what, limit, unit, -1)
    instance = min((d.gpus_per_instance for d in chosen), default=1)
    if policy.max_gpus is not None:
        yield _whole("policy.max_gpus", "GPU limit", policy.max_gpus, "GPUs", -instance)
    for quota in policy.quotas:
        covered = [d.gpus_per_instance for d in chosen if quota.covers(d.provider, d.region, d.gpu)]
        path = f"policy.quotas[{quota.name}].max_gpus"
        yield _whole(path, f"quota {quota.name}", quota.max_gpus, "GPUs", -max(covered, default=1))
    if policy.max_distinct_configurations is not None:
        limit = policy.max_distinct_configurations
        yield _whole("policy.max_distinct_configurations", "distinct configurations", limit, "configurations", -1, 1)
    for name, what, least in (
        ("spare_replicas", "spare replicas", 0),
        ("min_providers", "providers", 1),
        ("min_regions", "regions", 1),
    ):
        asked = getattr(policy, name)
        if asked != Policy.model_fields[name].default:
            yield _whole(f"policy.{name}", what, asked, "", 1, least)


def _whole(field: str, what: str, value: int, unit: str, tighter: int, least: int = 0) -> Lever:
    steps: dict[Direction, float] = {"tighter": value + tighter, "looser": value - tighter}
    loosest = least if tighter > 0 else max(int(value * REACH), value - tighter)
    strictest = least if tighter < 0 else max(int(value * REACH), value + tighter)
    ends: dict[Direction, float] = {"tighter": strictest, "looser": loosest}
    steps, ends = ({way: to for way, to in found.items() if to >= least and to != value} for found in (steps, ends))
    return Lever(field, what, value, unit, steps, ends, whole=True)
