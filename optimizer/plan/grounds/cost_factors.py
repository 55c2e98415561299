"""Why one plan costs more than another: factors that multiply to the ratio of their costs."""

from collections.abc import Iterator, Sequence
from typing import Final

from optimizer.base.figures import figure
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


QUANTITIES: Final = (
    ("price of a GPU-hour", "USD", 1),
    ("share of the month that GPUs are paid", "", 1),
    ("load in the busiest hours", "requests/s", 1),
    ("capacity per working GPU", "requests/s", -1),
    ("share of the capacity used", "", -1),
    ("GPUs bought per working GPU", "", 1),
    ("requests that a GPU holds at once", "", 0),
    ("KV cache of a GPU", "GiB", 0),
    ("TTFT p95 at the planned load", "ms", 0),
    ("TPOT mean at the planned load", "ms", 0),
)
"""What is compared, its unit, and the power of it that the cost is proportional to; 0 for what has no direct price."""


def cost_factors(chosen: Sequence[Deployment], proposed: Sequence[Deployment]) -> list[CostFactor]:
    """By workload: price × hours paid × GPUs for the throughput × capacity left unused × idle GPUs = cost.

    cost = price per GPU-hour · 730 h · share paid · (demand / (requests/s per GPU · share of capacity used)) · bought /
    working. Of plans that run the same all month what is paid beside the price, for disks and traffic, is in the price.
    """
    return [factor for name in sorted({d.workload for d in chosen}) for factor in _of_workload(name, chosen, proposed)]


def _of_workload(name: str, chosen: Sequence[Deployment], proposed: Sequence[Deployment]) -> Iterator[CostFactor]:
    before, after = ([d for d in deployments if d.workload == name] for deployments in (chosen, proposed))
    if not after:
        return
    over_time = any(len(d.schedule) > 1 for d in (*before, *after))
    values = (_quantities(each, over_time) for each in (before, after))
    for (what, unit, power), old, new in zip(QUANTITIES, *values, strict=True):
        factor = None if power == 0 else new / old if power > 0 else old / new
        effect = "" if factor is None else f", cost ×{factor:.2f}"
        words = f"{figure(new, 4)} instead of {figure(old, 4)} {unit}".rstrip()
        yield CostFactor(
            workload=name,
            what=what,
            unit=unit,
            chosen=old,
            proposed=new,
            cost_factor=factor,
            text=f"{name}: {what} {words}{effect}",
        )


def _quantities(deployments: Sequence[Deployment], over_time: bool) -> tuple[float, ...]:
    """The values of `QUANTITIES`; all of the month is paid of what runs in every hour."""
    bought = sum(d.total_gpus for d in deployments)
    working = sum(d.replicas * d.gpus_per_replica for d in deployments)
    capacity = sum(d.max_requests_per_second for d in deployments)
    cost = float(sum(d.monthly_cost_usd for d in deployments))
    requests_per_s = sum(d.requests_per_second for d in deployments)
    paid = cost / bought / HOURS_PER_MONTH
    listed = sum(float(d.price_usd_per_hour) / d.gpus_per_instance * d.total_gpus for d in deployments) / bought
    cache = sum((d.vram.kv_cache_gib + d.vram.free_gib) * d.replicas * d.gpus_per_replica for d in deployments)
    return (
        listed if over_time else paid,
        paid / listed if over_time else 1.0,
        requests_per_s,
        capacity / working,
        requests_per_s / capacity,
        bought / working,
        sum(d.max_concurrency * d.replicas for d in deployments) / working,
        cache / working,
        max(d.ttft_bound_ms["p95"] for d in deployments),
        max(d.tpot_bound_ms["mean"] for d in deployments),
    )
