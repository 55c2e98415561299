"""What became of promises like a plan's own: how often measurements that no fit had seen kept them."""

from optimizer.base.figures import exactly
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.record.explanation import TrackRecord


def track_record(scenario: Scenario, catalogs: Catalogs) -> TrackRecord | None:
    """The record of plans on the highest confidence looked at that is not above the scenario's own.

    Args:
        scenario: Whose latency limits decide which record it is; the end-to-end latency follows from the other two.
        catalogs: Hold the records.
    """
    slos = [workload.slo for workload in scenario.workloads]
    tpot = any(slo.tpot_ms or slo.e2e_ms for slo in slos)
    ttft = any(slo.ttft_ms or slo.e2e_ms for slo in slos)
    targets = " and ".join(name for name, limited in (("TPOT", tpot), ("TTFT", ttft)) if limited)
    alike = [
        row for row in catalogs.kept_promises if row.targets == targets and row.confidence <= scenario.policy.confidence
    ]
    if not alike:
        return None
    best = max(alike, key=lambda row: row.confidence)
    return TrackRecord(
        targets=targets,
        confidence=best.confidence,
        plans=best.plans,
        kept_share=best.kept_share,
        text=f"of {best.plans:,} plans on {exactly(best.confidence * 100)} % bounds for measurements that no fit "
        f"had seen, {exactly(round(best.kept_share * 100, 1))} % kept {targets} (docs/accuracy.md)",
    )
