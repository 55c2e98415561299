"""Each margin is counted once, the bill by use adds up to what is paid, and what is shared is borne by use."""

from dataclasses import replace
from decimal import Decimal

import pandas as pd
import pytest
from support.gate_cases import offer, scenario
from support.scenarios import proven, with_policy

from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.demand import Demand
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.measured.batch import predict_batch
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.readback.costs import costs
from optimizer.plan.record.fleet import PlannedFleet

CENT = Decimal("0.01")
COUNTED_TWICE = 1.73
"""How far below the prediction one plan stayed where the bound on latency, a margin on throughput, and the utilization
were all taken off its rate."""


@pytest.fixture(scope="module")
def boxes(catalogs: Catalogs) -> Catalogs:
    """One offer: four L40S in a machine."""
    box = offer("l40s", "4.00").model_copy(update={"gpu_count": 4, "link": "pcie"})
    return replace(catalogs, offers=(box,), serverless=())


@pytest.fixture(scope="module")
def shifts(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    """Two services that share machines: one all day, one mostly by night, each replica on one GPU."""
    asked = scenario(tmp_path_factory.mktemp("shifts"), rate=6).scenario
    (day,) = asked.workloads
    by_night = Demand(hourly=(*[1.0] * 8, *[0.0] * 16), peak_requests_per_second=30.0)
    night = day.model_copy(update={"name": "night", "requests_per_second": None, "demand": by_night})
    both = asked.model_copy(update={"workloads": (day, night)})
    return with_policy(both, confidence=0.9, max_tensor_parallel=1, precisions=["fp8"], simplicity_percent=0)


@pytest.fixture(scope="module")
def shared(shifts: Scenario, boxes: Catalogs) -> PlannedFleet:
    return proven(Inquiry.of(shifts, boxes))


def test_the_bill_by_use_adds_up_to_what_is_paid(shared: PlannedFleet, shifts: Scenario) -> None:
    told = costs(shared, shifts.policy)
    by_use = told.at_prediction_usd + told.confidence_usd + told.burst_reserve_usd + told.unused_usd
    assert by_use + told.idle_gpus_usd == pytest.approx(shared.monthly_cost_usd, abs=Decimal("0.05"))
    assert told.headroom_usd == pytest.approx(told.burst_reserve_usd + told.unused_usd, abs=Decimal("0.02"))
    assert min(told.at_prediction_usd, told.confidence_usd, told.burst_reserve_usd, told.unused_usd) >= 0


def test_shared_machines_are_paid_for_by_the_hours_of_replicas(shared: PlannedFleet) -> None:
    """Those in which all of a machine idles, too: they are nobody's alone."""
    (purchase,) = shared.purchases
    assert len(shared.deployments) > 1
    hours = [period.hours_per_month for period in shared.periods]
    used = [
        d.gpus_per_replica * sum(entry.replicas * hours[entry.period] for entry in d.schedule)
        for d in shared.deployments
    ]
    assert len(set(used)) > 1
    paid = purchase.gpus / purchase.instances * float(purchase.instance_hours_per_month)
    assert sum(used) < paid - 1
    for d, gpu_hours in zip(shared.deployments, used, strict=True):
        share = float(d.monthly_cost_usd / purchase.monthly_cost_usd)
        assert share == pytest.approx(gpu_hours / sum(used), abs=1e-4)


def test_many_that_share_a_machine_each_bear_their_own_cent(shifts: Scenario, boxes: Catalogs) -> None:
    """Seven services in turn on one box: rounded one by one, the last would bear what the others are rounded by."""
    (offered,) = boxes.offers
    box = offered.model_copy(update={"gpu_count": 8, "price_usd_per_hour": Decimal("8.00")})
    small = shifts.workloads[0].model_copy(update={"requests_per_second": 0.5})
    seven = tuple(small.model_copy(update={"name": f"service-{number}"}) for number in range(7))
    asked = shifts.model_copy(update={"workloads": seven})
    fleet = proven(Inquiry.of(asked, replace(boxes, offers=(box,))))
    exact = fleet.monthly_cost_usd / len(fleet.deployments)
    assert len(fleet.deployments) == len(seven)
    assert sum(d.monthly_cost_usd for d in fleet.deployments) == fleet.monthly_cost_usd
    assert all(abs(d.monthly_cost_usd - exact) < CENT for d in fleet.deployments)


def test_no_margin_is_counted_twice(shifts: Scenario, boxes: Catalogs) -> None:
    """From the predicted rate to the planned one lie the bound and the utilization, and nothing else."""
    (day, _) = shifts.workloads
    alone = shifts.model_copy(update={"workloads": (day.model_copy(update={"requests_per_second": 380.0}),)})
    (d,) = proven(Inquiry.of(alone, boxes)).deployments
    assert d.predicted_max_requests_per_second is not None
    margin = d.predicted_max_requests_per_second / d.max_requests_per_second
    assert d.utilization == pytest.approx(d.requests_per_second / d.max_requests_per_second, rel=1e-6)
    assert d.utilization > 0.98 * alone.policy.max_utilization
    assert d.predicted_max_requests_per_second / d.requests_per_second == pytest.approx(margin / d.utilization)
    assert 1 / alone.policy.max_utilization < margin / d.utilization < COUNTED_TWICE


def test_predict_and_plan_say_the_same_of_one_replica_at_one_rate(shifts: Scenario, boxes: Catalogs) -> None:
    """The same prediction; the bound that the plan holds against its limits lies within the interval around it."""
    alone = shifts.model_copy(update={"workloads": shifts.workloads[:1]})
    (d,) = proven(Inquiry.of(alone, boxes)).deployments
    row = {
        "engine": d.engine, "engine_version": "", "model": d.model, "gpu": d.gpu, "num_gpus": d.gpus_per_replica,
        "tp": d.tensor_parallel, "pp": d.pipeline_parallel, "weight_precision": d.precision,
        "kv_precision": d.kv_precision, "input_tokens": 600, "output_tokens": 150, "load_type": "request_rate",
        "load_value": d.requests_per_second / d.replicas,
    }  # fmt: skip
    predicted = predict_batch(pd.DataFrame([row]).astype(str), boxes, look_up=False).iloc[0]
    for metric, shown, bound in (
        ("pred_tpot_ms_mean", d.tpot_ms["mean"], d.tpot_bound_ms["mean"]),
        ("pred_ttft_ms_p95", d.ttft_ms["p95"], d.ttft_bound_ms["p95"]),
    ):
        assert shown == pytest.approx(predicted[metric], rel=1e-3)
        assert predicted[metric] < bound < predicted[f"{metric}_high"]
