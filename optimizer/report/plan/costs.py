"""Where the money of a plan goes: compute and what it is paid for, what is hosted, moves, storage, egress."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from optimizer.plan.record.fleet import Costs
from optimizer.plan.record.report import PlanReport
from optimizer.report.layout.amounts import money, percent
from optimizer.report.layout.columns import filled
from optimizer.report.layout.elements import Section
from optimizer.report.plan.running import what_runs

UNIT_COSTS: Final = (
    "${cost_per_request_usd:unit_price} a request, "
    "${cost_per_million_output_tokens_usd:unit_price} per million output tokens"
)
STANDBY: Final = "stands by and serves nothing at the planned load"
HOSTED: Final = {"request": "hosted APIs", "second": "containers by the second"}
"""What is billed without a machine of one's own, by what it is billed for."""


def costs_section(report: PlanReport) -> Section:
    """The month's cost by what it is paid for, then what a request costs on each deployment."""
    costs = report.costs
    if costs is None:
        return Section("Where the money goes")
    each = [(what_runs(d), filled(UNIT_COSTS if d.requests_per_second else STANDBY, d)) for d in report.deployments]
    requests = [f"{what}: {costs}" for what, costs in each]
    unpriced = f"not priced: {', '.join(costs.unpriced)}" if costs.unpriced else ""
    return Section("Where the money goes", ("; ".join(_parts(report, costs)), *requests, unpriced))


def paid_for(costs: Costs, confidence: float) -> tuple[tuple[str, Decimal], ...]:
    """What compute is paid for, from the limit to the load; plans of older versions tell only the last two."""
    uses = (
        ("for the demand at the predicted speed", costs.at_prediction_usd),
        (f"for the {percent(confidence)} bound", costs.confidence_usd),
        ("kept free for bursts", costs.burst_reserve_usd),
        ("beyond that, as replicas are whole", costs.unused_usd),
        ("headroom", costs.headroom_usd if costs.unused_usd is None else None),
        ("on idle GPUs", costs.idle_gpus_usd),
    )
    return tuple((use, usd) for use, usd in uses if usd is not None)


def _parts(report: PlanReport, costs: Costs) -> Iterator[str]:
    """The parts of the bill, each with its amount."""
    if report.deployments:
        uses = ", ".join(f"{money(usd)} {use}" for use, usd in paid_for(costs, report.confidence))
        yield f"compute {money(costs.compute_usd)}; of it {uses}"
    for unit, what in HOSTED.items():
        paid_usd = sum((item.monthly_cost_usd for item in report.hosted if item.paid_by == unit), Decimal(0))
        if paid_usd:
            yield f"{what} {money(paid_usd)}"
    if costs.migration_usd:
        yield f"changes {money(costs.migration_usd)}, once"
    if costs.storage_usd is not None:
        yield f"storage {money(costs.storage_usd)}"
    if costs.egress_usd is not None:
        sent_gb = sum(d.egress_gb_per_month or 0 for d in report.deployments)
        yield f"egress {money(costs.egress_usd)} for {sent_gb:,.0f} GB"
