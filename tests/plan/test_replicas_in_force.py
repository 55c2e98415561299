"""Replicas that run today are known by all that a plan calls them, the commitment and the size of the instance too."""

from decimal import Decimal
from typing import Any

import pytest
from support.scenarios import proven

from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.policy import InForce
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.question.inquiry import Inquiry

CHAT = {
    "name": "chat", "model": "llama-3.1-70b", "input_tokens": 1500, "output_tokens": 300,
    "slo": {"ttft_ms": 2000, "tpot_ms": 60}, "unknown_quality": "accept",
}  # fmt: skip
RATE = 0.3
POLICY: dict[str, Any] = {
    "providers": {"allow": ["azure"]}, "regions": {"allow": ["eastus"]}, "gpus": {"allow": ["a100-80-pcie"]},
    "pricing_terms": ["committed"],
}  # fmt: skip


def question(requests_per_second: float, **policy: Any) -> Scenario:
    workload = CHAT | {"requests_per_second": requests_per_second}
    return Scenario.model_validate({"name": "kept", "workloads": [workload], "policy": POLICY | policy})


@pytest.mark.parametrize("usd_per_change", [50.0, 3000.0])
def test_what_runs_on_one_of_two_commitments_is_kept_at_no_charge(usd_per_change: float, catalogs: Catalogs) -> None:
    """The catalog holds the instance for 12 and for 36 months; only the one that runs today counts as running."""
    free = proven(Inquiry.of(question(RATE), catalogs))
    (deployment,) = free.deployments
    assert deployment.commitment_months == 36
    assert deployment.replicas > 1
    running = {name: getattr(deployment, name) for name in InForce.model_fields} | {"replicas": deployment.replicas - 1}
    today = {"in_force": [running], "usd_per_change": usd_per_change}
    kept = proven(Inquiry.of(question(RATE, migration=today), catalogs))
    assert kept.migration is not None
    assert kept.monthly_cost_usd == free.monthly_cost_usd + Decimal(usd_per_change)
    assert (kept.migration.started, kept.migration.stopped) == (1, 0)
