"""What a plan says of promises like its own is what the table says of the limits and the confidence that it asks."""

from typing import Any

import pytest

from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.plan.grounds.track_record import track_record


def asking(slo: dict[str, float], confidence: float) -> Scenario:
    workload: dict[str, Any] = {
        "name": "chat", "model": "llama-3.1-8b", "requests_per_second": 1, "input_tokens": 500, "output_tokens": 100,
        "slo": slo,
    }  # fmt: skip
    policy = {"confidence": confidence}
    return Scenario.model_validate({"name": "s", "workloads": [workload], "policy": policy})


@pytest.mark.parametrize(
    ("slo", "targets"),
    [
        ({"ttft_ms": 500}, "TTFT"),
        ({"tpot_ms": 50}, "TPOT"),
        ({"ttft_ms": 500, "tpot_ms": 50}, "TPOT and TTFT"),
        ({"e2e_ms": 9000}, "TPOT and TTFT"),
    ],
)
def test_the_record_is_that_of_the_same_limits(slo: dict[str, float], targets: str, catalogs: Catalogs) -> None:
    found = track_record(asking(slo, 0.9), catalogs)
    (row,) = (row for row in catalogs.kept_promises if (row.targets, row.confidence) == (targets, 0.9))
    assert found is not None
    assert (found.plans, found.kept_share) == (row.plans, row.kept_share)
    assert f"of {row.plans:,} plans on 90 % bounds" in found.text


def test_a_confidence_between_two_that_were_looked_at_is_not_flattered(catalogs: Catalogs) -> None:
    found = track_record(asking({"tpot_ms": 50}, 0.92), catalogs)
    assert found is not None
    assert found.confidence == 0.9


def test_nothing_is_said_where_no_latency_is_promised(catalogs: Catalogs) -> None:
    assert track_record(asking({}, 0.9), catalogs) is None
