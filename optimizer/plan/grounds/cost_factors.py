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
    """By workload: price × GPUs for the throughput × capacity left unused × idle GPUs = cost.

    cost = price per GPU-hour · 730 h · (demand / (requests/s per GPU · share of capacity used)) · bought / working
    """
    return [factor for name in sorted({d.workload for d in chosen}) for factor in _of_workload(name, chosen, proposed)]


def _of_workload(name: str, chosen: Sequence[Deployment], proposed: Sequence[Deployment]) -> Iterator[CostFactor]:
    before, after = ([d for d in deployments if d.workload == name] for deployments in (chosen, proposed))
    if not after:
        return
    for (what, unit, power), old, new in zip(QUANTITIES, _quantities(before), _quantities(after), strict=True):
        factor = None if power == 0 else new / old if power > 0 else old / new
        effect = "" if factor is None else f", cost ×{factor:.2f}"
        values = f"{figure(new, 4)} instead of {figure(old, 4)} {unit}".rstrip()
        yield CostFactor(
            workload=name,
            what=what,
            unit=unit,
            chosen=old,
            proposed=new,
            cost_factor=factor,
            text=f"{name}: {what} {values}{effect}",
        )


def _quantities(deployments: Sequence[Deployment]) -> tuple[float, ...]:
    """The values of `QUANTITIES`."""
    bought = sum(d.total_gpus for d in deployments)
    working = sum(d.replicas * d.gpus_per_replica for d in deployments)
    capacity = sum(d.max_requests_per_second for d in deployments)
    cost = float(sum(d.monthly_cost_usd for d in deployments))
    cache = sum((d.vram.kv_cache_gib + d.vram.free_gib) * d.replicas * d.gpus_per_replica for d in deployments)
    return (
        cost / bought / HOURS_PER_MONTH,
        capacity / working,
        sum(d.requests_per_second for d in deployments) / capacity,
        bought / working,
        sum(d.max_concurrency * d.replicas for d in deployments) / working,
        cache / working,
        max(d.ttft_bound_ms["p95"] for d in deployments),
        max(d.tpot_bound_ms["mean"] for d in deployments),
    )
