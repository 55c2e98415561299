"""A fleet of a million replicas is planned, simulated and verified in the time of a small one, with the same result."""

import random
from dataclasses import replace

import numpy as np
import pytest
from support.scenarios import on_first_page

from optimizer import optimize
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.simulation.dealing import Dealing
from optimizer.plan.record.report import PlanReport
from optimizer.plan.simulate.arriving import Arrivals
from optimizer.plan.simulate.judging import met_by
from optimizer.plan.simulate.served import LARGEST_FLEET, one_run, simulated_part, steadily_dealt_to
from optimizer.plan.simulate.servers import services
from optimizer.plan.verify.claim import Claim
from optimizer.plan.verify.supply import packed

MILLION = 1_000_000
"""The most that a scenario may ask."""


def keeping(replicas: int) -> Scenario:
    """Next to no demand, and so many replicas on cards of one kind."""
    workload = {
        "name": "chat", "model": "llama-3.1-8b", "requests_per_second": 1, "input_tokens": 500, "output_tokens": 100,
        "min_replicas": replicas,
    }  # fmt: skip
    policy = {"gpus": {"allow": ["l4"]}, "engines": ["vllm"], "precisions": ["bf16"]}
    return Scenario.model_validate({"name": "warm", "workloads": [workload], "policy": policy})


@pytest.fixture(scope="module")
def huge(catalogs: Catalogs) -> PlanReport:
    return optimize(keeping(MILLION), catalogs)


def one_by_one(by_size: dict[int, int], gpus: int, count: int) -> int:
    """Replicas that find a place, each looked for on the first instance with room, the largest first."""
    room, placed = [gpus] * count, 0
    for size in sorted((size for size, replicas in by_size.items() for _ in range(replicas)), reverse=True):
        slot = next((index for index, free in enumerate(room) if free >= size), None)
        if slot is not None:
            room[slot] -= size
            placed += 1
    return placed


def test_instances_filled_together_hold_what_instances_filled_one_by_one_do() -> None:
    luck = random.Random(7)
    for _ in range(3000):
        gpus, count = luck.choice([1, 2, 4, 6, 8]), luck.randint(0, 6)
        by_size = {size: luck.randint(0, 9) for size in luck.sample(range(1, 9), luck.randint(1, 4))}
        assert packed(by_size, gpus, count) == one_by_one(by_size, gpus, count)


def test_a_million_replicas_are_planned_and_verified(huge: PlanReport) -> None:
    assert (huge.outcome, huge.verification.passed) == ("optimal", True)
    assert sum(d.replicas for d in huge.deployments) == MILLION
    assert huge.simulation is not None
    assert huge.simulation.deployments[0].replicas == MILLION


def test_no_number_is_moved_beyond_what_a_scenario_may_ask(huge: PlanReport) -> None:
    moved = [item for item in huge.explanation.marginal_values if item.field.endswith("min_replicas")]
    assert {item.to for item in moved} == {MILLION - 1}


def test_a_large_fleet_is_simulated_as_a_smaller_one_with_the_same_load(catalogs: Catalogs) -> None:
    fleet = on_first_page(keeping(5 * LARGEST_FLEET), catalogs).fleet
    assert fleet is not None
    (whole,) = services(Claim(keeping(5 * LARGEST_FLEET), catalogs, fleet), 0.9)
    smaller = whole.no_larger_than(LARGEST_FLEET)
    assert smaller.servers[0].replicas == LARGEST_FLEET
    assert smaller.rate_per_s / LARGEST_FLEET == pytest.approx(whole.rate_per_s / whole.servers[0].replicas)
    assert np.allclose(smaller.classes.share, whole.classes.share)
    assert whole.no_larger_than(10 * LARGEST_FLEET) is whole


@pytest.mark.parametrize("router", ["by_chance", "in_turn"])
def test_what_is_expected_of_the_replicas_looked_at_is_what_they_are_sent(catalogs: Catalogs, router: Dealing) -> None:
    """Eight of forty replicas, two lengths of requests: gaps and lengths of those that count."""
    asked = keeping(40).model_dump(mode="json", exclude_unset=True)
    (workload,) = asked["workloads"]
    del workload["input_tokens"], workload["output_tokens"]
    lengths = ({"share": 0.3, "input_tokens": 2000, "output_tokens": 300}, {"share": 0.7, "input_tokens": 200})
    workload |= {"request_classes": [{"output_tokens": 50} | each for each in lengths], "requests_per_second": 4}
    scenario = Scenario.model_validate(asked)
    fleet = on_first_page(scenario, catalogs).fleet
    assert fleet is not None
    (service,) = services(Claim(scenario, catalogs, fleet), 0.9)
    coming = Arrivals.as_asked(service)
    dealt, count = simulated_part(replace(service, router=router), coming, 40_000)
    steady = steadily_dealt_to(dealt, coming)
    assert steady is dealt
    met = met_by(service, [one_run(dealt, coming, count, seed=0)], steady)
    assert met.drawn is not None
    assert len(met.arrived_s) < count / 3
    assert met.drawn.figures.mean(axis=0) == pytest.approx(met.drawn.expected, rel=0.04)
    assert met_by(service, [one_run(dealt, coming, count, seed=0)]).luck is None
    assert steadily_dealt_to(replace(service, router="least_loaded"), coming) is None
    assert steadily_dealt_to(dealt, replace(coming, ramp=(1.0, 2.0))) is None
