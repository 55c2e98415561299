"""Why one plan costs more than another: factors that multiply to the ratio of their costs."""

from collections.abc import Iterator, Sequence

from optimizer.base.model import Strict
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.plan.record.fields import Figure
from optimizer.plan.record.fleet import Deployment


class CostFactor(Strict):
    """One quantity in both plans and what its difference does to the cost."""

    workload: str
    what: str
    unit: str
    chosen: Figure
    proposed: Figure
    cost_factor: Figure | None
    """Cost of the proposed over the chosen plan by this quantity alone; None for what has no direct price."""
    text: str


def cost_factors(chosen: Sequence[Deployment], proposed: Sequence[Deployment]) -> list[CostFactor]:
    """By workload: price × GPUs for the throughput × capacity left unused × idle GPUs = cost.

    cost = price per GPU-hour · 730 h · (demand / (requests/s per GPU · share of capacity used)) · bought / working
    """
    workloads = sorted({d.workload for d in chosen})
    return [factor for name in workloads for factor in _of_workload(name, _only(name, chosen), _only(name, proposed))]


def _only(name: str, deployments: Sequence[Deployment]) -> list[Deployment]:
    return [d for d in deployments if d.workload == name]


def _of_workload(name: str, chosen: Sequence[Deployment], proposed: Sequence[Deployment]) -> Iterator[CostFactor]:
    if not chosen or not proposed:
        return
    ours, theirs = _quantities(chosen), _quantities(proposed)
    for what, unit, saves in (
        ("price of a GPU-hour", "USD", False),
        ("capacity per working GPU", "requests/s", True),
        ("share of the capacity used", "", True),
        ("GPUs bought per working GPU", "", False),
    ):
        ratio = ours[what] / theirs[what] if saves else theirs[what] / ours[what]
        yield _factor(name, what, unit, ours[what], theirs[what], ratio)
    for what, unit in (
        ("requests that a GPU holds at once", ""),
        ("KV cache of a GPU", "GiB"),
        ("TTFT p95 at the planned load", "ms"),
        ("TPOT mean at the planned load", "ms"),
    ):
        yield _factor(name, what, unit, ours[what], theirs[what], None)


def _quantities(deployments: Sequence[Deployment]) -> dict[str, float]:
    bought = sum(d.total_gpus for d in deployments)
    working = sum(d.replicas * d.gpus_per_replica for d in deployments)
    capacity = sum(d.max_requests_per_second for d in deployments)
    cost = float(sum(d.monthly_cost_usd for d in deployments))
    cache = sum((d.vram.kv_cache_gib + d.vram.free_gib) * d.replicas * d.gpus_per_replica for d in deployments)
    return {
        "price of a GPU-hour": cost / bought / HOURS_PER_MONTH,
        "capacity per working GPU": capacity / working,
        "share of the capacity used": sum(d.requests_per_second for d in deployments) / capacity,
        "GPUs bought per working GPU": bought / working,
        "requests that a GPU holds at once": sum(d.max_concurrency * d.replicas for d in deployments) / working,
        "KV cache of a GPU": cache / working,
        "TTFT p95 at the planned load": max(d.ttft_bound_ms["p95"] for d in deployments),
        "TPOT mean at the planned load": max(d.tpot_bound_ms["mean"] for d in deployments),
    }


def _factor(workload: str, what: str, unit: str, chosen: float, proposed: float, ratio: float | None) -> CostFactor:
    effect = "" if ratio is None else f", cost ×{ratio:.2f}"
    values = f"{proposed:.4g} instead of {chosen:.4g} {unit}".rstrip()
    return CostFactor(
        workload=workload,
        what=what,
        unit=unit,
        chosen=chosen,
        proposed=proposed,
        cost_factor=ratio,
        text=f"{workload}: {what} {values}{effect}",
    )
