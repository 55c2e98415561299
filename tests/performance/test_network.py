"""The network from users to a region is part of TTFT and of nothing that does not wait for it."""

import math
from typing import Any

import numpy as np
import pytest
from support.asking import CHAT, few_offers

from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.scenario.checks import check_scenario
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.candidates.avoiding import NAMES, keeping_to_measured
from optimizer.performance.candidates.network import network_ms, round_trip_ms
from optimizer.performance.market.market import market
from optimizer.performance.market.supply import supply
from optimizer.plan.explain.binding import requirements
from optimizer.plan.grounds.filters import too_far_to_tell
from optimizer.plan.question.inquiry import Answer, Inquiry
from optimizer.plan.question.solving import solved
from optimizer.plan.readback.readback import read_back
from optimizer.plan.verify.verify import verify

FRANKFURT_TO_VIRGINIA_MS = 97.0
"""As the table of the catalogs says."""


@pytest.fixture(scope="module")
def few(catalogs: Catalogs) -> Catalogs:
    return few_offers(catalogs)


def asking(policy: dict[str, Any] | None = None, **own: Any) -> Scenario:
    return Scenario.model_validate({"name": "far", "workloads": [CHAT | own], "policy": policy or {}})


def answered(few: Catalogs, **own: Any) -> Answer:
    return solved(Inquiry.of(asking(**own), few))


def test_the_farthest_users_count_and_unknown_is_not_near(few: Catalogs) -> None:
    one, both = asking(users_in=["us-east"]).workloads[0], asking(users_in=["us-east", "germany"]).workloads[0]
    assert round_trip_ms(one, few, "aws", "us-east-1") == 2.0
    assert round_trip_ms(both, few, "aws", "us-east-1") == FRANKFURT_TO_VIRGINIA_MS
    assert round_trip_ms(both, few, "verda", "global") is None
    away = network_ms(both, supply(few))
    nowhere = [offer.provider == "verda" for offer in supply(few).offers]
    assert np.array_equal(np.isnan(away) & nowhere, np.array(nowhere))


def test_a_figure_of_ones_own_comes_before_the_catalogs(few: Catalogs) -> None:
    workload = asking(users_in="germany", network_ms={"us-east-*": 80, "global": 5}).workloads[0]
    assert round_trip_ms(workload, few, "aws", "us-east-1") == 80.0
    assert round_trip_ms(workload, few, "verda", "global") == 5.0
    assert round_trip_ms(workload, few, "gcp", "europe-west3") == 2.0
    assert round_trip_ms(asking(network_ms=30).workloads[0], few, "verda", "global") == 30.0


def test_a_configuration_far_away_is_the_same_and_takes_its_round_trip_longer(few: Catalogs) -> None:
    limits = {"ttft_ms": {"p95": 4000}, "tpot_ms": 80, "e2e_ms": 60_000}
    (near,), (far,) = (
        Inquiry.of(asking(slo=limits, **own), few).options for own in ({}, {"users_in": ["us-east", "germany"]})
    )
    assert len(far.configurations) > len(near.configurations) == len(near.distinct.categories)
    assert far.configurations == tuple(far.distinct.categories[code] for code in far.distinct.codes.tolist())
    assert far.distinct.categories == near.configurations
    for name, longer_ms in (("ttft", far.network_ms), ("e2e", far.network_ms), ("tpot", 0.0), ("memory", 0.0)):
        column = NAMES.index(name)
        at_home = near.pools[0].value[far.distinct.codes, column]
        np.testing.assert_allclose(far.pools[0].value[:, column], at_home + longer_ms, rtol=1e-12)
        np.testing.assert_array_equal(far.pools[0].limit[:, column], near.pools[0].limit[far.distinct.codes, column])
    avoided = keeping_to_measured(far, few).fixed["measured"]
    np.testing.assert_array_equal(avoided, keeping_to_measured(near, few).fixed["measured"][far.distinct.codes])


@pytest.mark.parametrize("limits", [{"ttft_ms": 4000}, {"ttft_ms": {"p99": 4000}, "e2e_ms": 60_000}])
def test_a_network_is_a_stage_before_the_model(few: Catalogs, limits: dict[str, Any]) -> None:
    """The same time at every region, or counted as a stage: the same plan, the same latencies."""
    by_network = answered(few, slo=limits, network_ms=70)
    by_stage = answered(few, slo=limits | {"ttft_overhead_ms": 70})
    assert by_network.solution.cost_usd_per_month == by_stage.solution.cost_usd_per_month
    one, other = read_back(by_network), read_back(by_stage)
    assert [d.ttft_bound_ms for d in one.deployments] == [d.ttft_bound_ms for d in other.deployments]
    assert [d.e2e_ms for d in one.deployments] == [d.e2e_ms for d in other.deployments]


def test_a_tight_limit_keeps_a_service_near_its_users(few: Catalogs) -> None:
    near = read_back(answered(few, users_in="germany", slo={"ttft_ms": 150, "tpot_ms": 80}))
    assert {d.region for d in near.deployments} == {"europe-west3"}
    anywhere = read_back(answered(few, slo={"ttft_ms": 150, "tpot_ms": 80}))
    assert anywhere.monthly_cost_usd < near.monthly_cost_usd


def test_the_plan_is_the_cheapest_of_those_in_each_region_alone(few: Catalogs) -> None:
    """Solved region by region with the network as a stage before the model; together nothing is lost or gained."""
    own = {"users_in": ["germany"], "slo": {"ttft_ms": 260, "tpot_ms": 80}, "requests_per_second": 2}
    alone = []
    for provider, region in [
        ("aws", "us-east-1"),
        ("aws", "us-west-2"),
        ("gcp", "us-central1"),
        ("gcp", "europe-west3"),
    ]:
        ms = few.terms.rtt_ms("germany", provider, region)
        assert ms is not None
        slo = own["slo"] | {"ttft_overhead_ms": ms}
        places = {"providers": {"allow": [provider]}, "regions": {"allow": [region]}}
        cost = answered(few, **own | {"users_in": [], "slo": slo} | places).solution.cost_usd_per_month
        alone.append(math.inf if cost is None else cost)
    assert answered(few, **own).solution.cost_usd_per_month == pytest.approx(min(alone))


@pytest.mark.parametrize("policy", [{"max_distinct_configurations": 1}, {"max_engines": 1}])
def test_limits_on_variety_count_a_setup_once_however_far_it_stands(few: Catalogs, policy: dict[str, Any]) -> None:
    """One setup in two regions is one; candidates are compared at every distance before one replaces another."""
    own = {"users_in": ["us-east"], "slo": {"ttft_ms": 200, "tpot_ms": 30}}
    spread = {"min_regions": 2, "regions": {"allow": ["us-east-1", "us-west-2", "us-central1"]}}
    answer = solved(Inquiry.of(asking(spread | policy, **own), few))
    assert answer.solution.cost_usd_per_month is not None
    bought = read_back(answer)
    assert len({d.region for d in bought.deployments}) >= 2
    assert verify(answer.inquiry.scenario, few, bought).passed


def test_verification_counts_the_network_for_itself(few: Catalogs) -> None:
    """A plan for users next door does not pass for users who are far away."""
    own = {"slo": {"ttft_ms": 150, "tpot_ms": 80}, "regions": {"allow": ["us-east-1"]}}
    bought = read_back(answered(few, users_in="us-east", **own))
    assert verify(asking(users_in="us-east", **own), few, bought).passed
    failing = [c.name for c in verify(asking(users_in="germany", **own), few, bought).checks if not c.passed]
    assert "service_levels" in failing
    nowhere = [c.name for c in verify(asking(network_ms={"eu-*": 1}, **own), few, bought).checks if not c.passed]
    assert "offers" in nowhere


def test_a_plan_says_what_of_a_latency_is_network_and_what_was_left_out(few: Catalogs) -> None:
    answer = answered(few, users_in="germany")
    bought, scenario = read_back(answer), answer.inquiry.scenario
    texts = [item.text for item in requirements(scenario, few, bought)]
    assert any("ms of network to" in text for text in texts if "TTFT" in text)
    assert not any("network" in text for text in texts if "TPOT" in text)
    (told,) = too_far_to_tell(scenario, answer.inquiry.market)
    assert told.endswith("are left out: nobody measured the network to them (network_ms says it)")
    # what is not admitted anyway is no loss
    near = asking({"providers": {"allow": ["aws"]}}, users_in="germany")
    assert not list(too_far_to_tell(near, market(few, near.policy)))


def test_geographies_that_nobody_measured_are_refused_by_name(few: Catalogs) -> None:
    (finding,) = check_scenario(asking(users_in=["germnay"]), few)
    assert (finding.field, finding.hint) == ("workloads[chat].users_in", "did you mean germany?")
    (finding,) = check_scenario(asking(network_ms={"mars-*": 9}), few)
    assert finding.field == "workloads[chat].network_ms"
