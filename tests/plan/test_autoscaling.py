"""A scaler is late by what replicas take to start, and its week is paid and judged as the plan's is."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from support.asking import CHAT, few_offers
from support.scenarios import proven, with_workload

from optimizer.base.arrays import Floats, Ints
from optimizer.base.errors import InputError
from optimizer.base.units import HOURS_PER_DAY, HOURS_PER_MONTH
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.inputs.scenario.service_levels import Slo
from optimizer.performance.simulation.arrivals import Stream
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.record.autoscaling import Autoscaling
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.record.simulation import Simulation
from optimizer.plan.simulate.arriving import Arrivals
from optimizer.plan.simulate.autoscaling import ScaledSeed, ScaledWeek, _costs
from optimizer.plan.simulate.judging import ServedRequests
from optimizer.plan.simulate.minutes import broken_minutes
from optimizer.plan.simulate.reacting import Scalable, asked_by_scaler, scalable, sent_to_what_is_there, timelines
from optimizer.plan.simulate.servers import services
from optimizer.plan.simulate.simulated import simulated
from optimizer.plan.simulate.starting import ReplicaStart
from optimizer.plan.simulate.week import requests_of_week, weeks
from optimizer.plan.verify.claim import Claim

QUIET, BUSY = 0.05, 1.0
DAY = {"hourly": [QUIET] * 4 + [BUSY] * 2 + [QUIET] * 18, "weekend_factor": 1.0, "peak_requests_per_second": 1.2}
LONG = {"input_tokens": 6000, "output_tokens": 600, "slo": {"ttft_ms": 9000}}


def asked(minutes: float, **policy: Any) -> Scenario:
    said = CHAT | LONG | {"requests_per_second": None, "demand": DAY}
    one = {"gpus": {"allow": ["l4"]}, "precisions": ["fp8"], "elastic": {"start_up_minutes": minutes}}
    return Scenario.model_validate({"name": "scaled", "workloads": [said], "policy": one | policy})


@pytest.fixture(scope="module")
def few(catalogs: Catalogs) -> Catalogs:
    return few_offers(catalogs)


@pytest.fixture(scope="module")
def bought(few: Catalogs) -> PlannedFleet:
    fleet = proven(Inquiry.of(asked(9.0), few))
    counts = [entry.replicas for entry in fleet.deployments[0].schedule]
    assert max(counts) >= min(counts) + 2
    return fleet


def over(few: Catalogs, bought: PlannedFleet, minutes: float, target: float = 0.7, days: int = 1) -> Simulation:
    claim = Claim(asked(minutes), few, bought)
    how = {"confidence": 0.9, "requests": 1, "seeds": 1}
    return simulated(claim, Arrivals(days=days), autoscale=target, **how)  # type: ignore[arg-type]


def told(found: Simulation) -> Autoscaling:
    assert found.autoscaling is not None
    return found.autoscaling


@pytest.fixture(scope="module")
def late(few: Catalogs, bought: PlannedFleet) -> Simulation:
    return over(few, bought, 25.0)


def test_the_later_replicas_are_the_longer_promises_are_broken(
    few: Catalogs, bought: PlannedFleet, late: Simulation
) -> None:
    at_once = over(few, bought, 0.0)
    (slow,), (fast,) = told(late).workloads, told(at_once).workloads
    assert (slow.start_up_s, fast.start_up_s, slow.minutes) == (1500, 0, 1440)
    assert slow.scaled.broken_minutes > fast.scaled.broken_minutes + 15
    assert slow.scaled.share_within_limits < fast.scaled.share_within_limits
    # the plan knows the hours, and what it does hangs on no start
    assert slow.planned == fast.planned
    assert slow.planned.broken_minutes < slow.scaled.broken_minutes
    assert late.holds is False


def test_the_same_seed_gives_the_same_bytes(few: Catalogs, bought: PlannedFleet, late: Simulation) -> None:
    again = over(few, bought, 25.0)
    assert again.model_dump_json() == late.model_dump_json()


@pytest.mark.parametrize("days", [1, 7])
def test_the_hours_of_the_plan_cost_what_the_plan_says(few: Catalogs, bought: PlannedFleet, days: int) -> None:
    """A scaler that asks for just what the plan has pays the same but for the hours in which replicas start."""
    claim = Claim(asked(9.0), few, bought)
    (week,) = weeks(claim, 0.9, days, "in_turn")
    counts = np.repeat([each.replicas for each in week.schedules], 3600 // 15, axis=1)
    stream, _ = requests_of_week(week, np.random.default_rng(0))
    nobody: Any = None
    of = two_deployments((0, 0), [0, 1])
    scaled_usd, planned_usd = _costs(claim, [ScaledWeek(week, of, [ScaledSeed(stream, counts, nobody, nobody)])], days)
    # of a day that is like each other day of the week
    month = float(sum((item.monthly_cost_usd for item in bought.purchases), Decimal(0)))
    assert float(planned_usd) == pytest.approx(month * days * HOURS_PER_DAY / HOURS_PER_MONTH)
    starts = sum(item.price_usd_per_hour + item.storage_usd_per_hour for item in bought.purchases)
    rises = np.maximum(np.diff(counts[0], append=counts[0, 0]), 0).sum()
    assert float(planned_usd - scaled_usd) == pytest.approx(float(starts) * rises * 9 / 60)


def test_a_higher_target_takes_fewer_replicas(few: Catalogs, bought: PlannedFleet) -> None:
    tight, loose = (told(over(few, bought, 9.0, target)) for target in (1.0, 0.4))
    assert tight.cost_usd < loose.cost_usd
    assert tight.workloads[0].scaled.most_replicas < loose.workloads[0].scaled.most_replicas


def test_what_is_paid_all_month_can_not_be_scaled(few: Catalogs, bought: PlannedFleet) -> None:
    paid = [item.model_copy(update={"always_paid": True}) for item in bought.purchases]
    fleet = replace(bought, purchases=tuple(paid))
    with pytest.raises(InputError, match="paid all month"):
        over(few, fleet, 9.0)


def two_deployments(fixed: tuple[int, int], home: list[int]) -> Scalable:
    """The first serves one class of two, the second both."""
    return Scalable(
        full_per_s=np.array([10.0, 5.0]),
        serves=np.array([[True, False], [True, True]]),
        fixed=np.array(fixed),
        elastic=np.array(fixed) == 0,
        least=np.array([0, 0]),
        home=np.array(home),
        first=np.maximum(np.array(fixed), 1),
        most=99,
        starts=[ReplicaStart(0.0, ""), ReplicaStart(0.0, "")],
    )


def test_what_fixed_replicas_leave_over_is_what_grows(few: Catalogs, bought: PlannedFleet) -> None:
    """Ten a second of the first class of which a fixed replica takes seven; five a second of the second."""
    (week,) = weeks(Claim(asked(9.0), few, bought), 0.9, 1, "in_turn")
    stream, _ = requests_of_week(week, np.random.default_rng(0))
    arrived = np.arange(0.0, 3600.0, 1 / 15)
    stream = replace(
        stream,
        arrived_s=arrived,
        request_class=np.where(np.arange(len(arrived)) % 3 == 2, 1, 0),
        input_tokens=np.full(len(arrived), 100),
        output_tokens=np.full(len(arrived), 10),
    )
    of = two_deployments((1, 0), [1, 1])
    counts: Ints = asked_by_scaler(of, stream, 0.7, 1)
    assert counts[0].min() == counts[0].max() == 1
    # (10 − 7 + 5) / 5 of 0.7
    assert counts[1][100] == np.ceil(8 / 5 / 0.7)
    there = timelines(of, counts, 1)
    server = sent_to_what_is_there(of, there, np.random.default_rng(0), "in_turn", stream)
    assert set(server[stream.request_class == 1].tolist()) == {1}
    late = (stream.request_class == 0) & (arrived > 1200)
    # 10 a second of one replica beside 5 of each of three
    assert np.mean(server[late] == 0) == pytest.approx(10 / 25, abs=0.01)


def test_where_nobody_is_there_requests_wait_for_what_grows() -> None:
    of = replace(two_deployments((0, 0), [0, 1]), first=np.array([0, 0]))
    counts = np.zeros((2, 5760), dtype=np.int64)
    counts[:, 400:] = 1
    there = timelines(of, counts, 1)
    arrived = np.arange(0.0, 100.0)
    stream_class = np.arange(100) % 2
    server = sent_to_what_is_there(of, there, np.random.default_rng(0), "by_chance", _stream(arrived, stream_class))
    assert np.array_equal(server, stream_class)


def _stream(arrived_s: Floats, request_class: Ints) -> Stream:
    return Stream(arrived_s, request_class, np.full(len(arrived_s), 10), np.full(len(arrived_s), 10))


def test_a_plan_with_workloads_that_are_never_empty_keeps_a_replica(few: Catalogs, bought: PlannedFleet) -> None:
    (week,) = weeks(Claim(asked(9.0), few, bought), 0.9, 1, "in_turn")
    of = scalable(week, [bought.purchases[0]], [ReplicaStart(0.0, "")])
    assert of.least.tolist() == [1]
    assert of.home.tolist() == [0]
    limited = week.service.workload.model_copy(update={"min_replicas": 3, "max_replicas": 5})
    of = scalable(replace(week, service=replace(week.service, workload=limited)), [bought.purchases[0]], of.starts)
    assert (of.least.tolist(), of.most) == ([3], 5)


def test_a_minute_is_broken_by_its_own_requests(few: Catalogs, bought: PlannedFleet) -> None:
    """TTFT p95 of 9 s and mean TPOT of 60 ms: two of thirty late, one of ten, none of ten with a mean above."""
    (service,) = services(Claim(asked(9.0), few, bought), 0.9)
    promised = service.workload.model_copy(update={"slo": Slo.model_validate({"ttft_ms": 9000, "tpot_ms": 60})})
    service = replace(service, workload=promised)
    arrived = np.concatenate([np.full(30, 10.0), np.full(10, 70.0), np.full(10, 130.0), np.full(20, 190.0)])
    ttft, tpot = np.full(70, 100.0), np.full(70, 20.0)
    ttft[[0, 1, 30]] = 9001.0
    tpot[40] = 900.0
    # one of twenty may be late
    ttft[50] = 9001.0
    latency = {"ttft_ms": ttft, "tpot_ms": tpot, "e2e_ms": ttft}
    found = ServedRequests(arrived, arrived / 240, np.zeros(70, dtype=np.int64), latency)  # type: ignore[arg-type]
    assert broken_minutes(service, found, 5) == 3
    assert broken_minutes(service, found.after(0.5), 5) == 1


def test_hours_in_which_nothing_is_asked_break_nothing(few: Catalogs) -> None:
    """Parts of the time without any request have no figures: `simulate --arrivals week` ended with exit code 70."""
    day = {"hourly": [0] * 6 + [1] * 4 + [0] * 3 + [1] * 6 + [0] * 5, "peak_requests_per_second": 1.2}
    said = CHAT | LONG | {"requests_per_second": None, "demand": day}
    policy = {"gpus": {"allow": ["l4"]}, "precisions": ["fp8"], "elastic": {"start_up_minutes": 60}}
    scenario = Scenario.model_validate({"name": "idle", "workloads": [said], "policy": policy})
    # no first token is there within ten milliseconds
    promised = with_workload(scenario, slo={"ttft_ms": 10, "tpot_ms": 60})
    claim = Claim(promised, few, proven(Inquiry.of(scenario, few)))
    found = simulated(claim, Arrivals(days=1), confidence=0.9, requests=1, seeds=1, parts=24)
    spells = [each for each in found.broken_spells if each.metric == "ttft_ms"]
    assert len(spells) > 1
    assert all(each.requests for each in spells)
    pause_from_s, pause_to_s = 4.5 * 3600, 6.5 * 3600  # after the first request
    assert all(each.to_s < pause_from_s or each.from_s > pause_to_s for each in spells)
