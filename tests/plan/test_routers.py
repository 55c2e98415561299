"""What sends requests to replicas is a fact of the policy: plans, their checks and their simulation all read it."""

from typing import Any, get_args

import numpy as np
import pytest

from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.policy import DEALING, Router
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.pools import mix_of
from optimizer.performance.per_second.sales import refusals
from optimizer.plan.horizon.question import not_held as not_held_over_months
from optimizer.plan.question.dependence import what_is_considered
from optimizer.plan.question.inquiry import Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.readback import read_back
from optimizer.plan.record.fleet import PlannedFleet
from optimizer.plan.risk.question import not_held as not_held_in_draws
from optimizer.plan.simulate.simulated import confirmed, simulated
from optimizer.plan.verify.claim import Claim
from optimizer.plan.verify.latencies import service_levels


def question(router: Router, **said: Any) -> Scenario:
    """Code completion with a tight first token on many small replicas, in bursts."""
    workload: dict[str, Any] = {
        "name": "code",
        "model": "llama-3.1-8b",
        "input_tokens": 2000,
        "output_tokens": 30,
        "requests_per_second": 40,
        "arrivals": {"cv2": 4},
        "slo": {"ttft_ms": 600},
    }
    policy = {"gpus": {"allow": ["l40s"]}, "precisions": ["fp8"], "router": router}
    return Scenario.model_validate({"name": "routed", "workloads": [workload | said], "policy": policy})


@pytest.fixture(scope="module")
def fleets(catalogs: Catalogs) -> dict[Router, PlannedFleet]:
    return {router: read_back(solved(Inquiry.of(question(router), catalogs))) for router in get_args(Router)}


def test_the_less_chance_there_is_the_less_is_bought(fleets: dict[Router, PlannedFleet]) -> None:
    replicas = {router: fleet.deployments[0].replicas for router, fleet in fleets.items()}
    assert replicas["in_turn"] == replicas["least_loaded"] < replicas["by_chance"]


@pytest.mark.parametrize(
    ("router", "words"),
    [
        ("in_turn", "sent to replicas in turn"),
        ("by_chance", "each sent to a replica by chance"),
        ("least_loaded", "each sent to the replica with the fewest in flight"),
    ],
)
def test_a_plan_is_simulated_as_its_policy_routes(
    router: Router, words: str, fleets: dict[Router, PlannedFleet], catalogs: Catalogs
) -> None:
    found = confirmed(question(router), catalogs, fleets[router])
    assert found.arrivals == f"gamma, squared variation 4, {words}"
    assert found.holds


def test_what_does_in_turn_does_not_do_by_chance(fleets: dict[Router, PlannedFleet], catalogs: Catalogs) -> None:
    claim = Claim(question("in_turn"), catalogs, fleets["in_turn"])
    found = simulated(claim, None, confidence=0.9, requests=20_000, seeds=1, router="by_chance")
    assert found.arrivals.endswith("by chance")
    assert found.holds is False


def test_verification_asks_for_the_router_that_was_stated(
    fleets: dict[Router, PlannedFleet], catalogs: Catalogs
) -> None:
    """The replicas that do in turn break their limit by chance."""
    for router in get_args(Router):
        claim = Claim(question(router), catalogs, fleets["in_turn"])
        broken = [text for held, text in service_levels(claim) if not held]
        assert any("TTFT p95" in text for text in broken) == (router == "by_chance")


def test_the_quietest_hour_has_the_fewest_turns() -> None:
    """At night few replicas share what comes, so that gaps at each are less even."""
    hourly = [4.0] * 8 + [40.0] * 16
    week = question("in_turn", requests_per_second=None, demand={"hourly": hourly, "peak_requests_per_second": 40})
    (workload,) = week.workloads
    assert mix_of(workload, [0], np.ones(1), "in_turn").arrivals.rate_per_s == 4
    assert mix_of(workload, [0], np.ones(1), "by_chance").arrivals.rate_per_s == 40


@pytest.mark.parametrize("router", get_args(Router))
def test_what_depends_on_turns_is_predicted_again_or_refused(router: Router) -> None:
    """Even of Poisson arrivals: what a replica sustains of turns depends on how many others there are."""
    few, many = (question(router, arrivals=None, requests_per_second=rate) for rate in (40, 80))
    assert (what_is_considered(few) != what_is_considered(many)) == (router in DEALING)
    for not_held in (not_held_in_draws, not_held_over_months):
        assert any(each.field == "policy.router" for each in not_held(few)) == (router in DEALING)
    assert ("policy.router" in refusals(few)) == (router in DEALING)
