"""Who serves what once the machines are bought: spare replicas stand by, and the bill is that of the routing."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from support.instances import problems
from support.second_opinion import medium_problem

from optimizer.base.clock import Clock
from optimizer.program.formulation.rows import at_least
from optimizer.program.laid_out import search_laid_out
from optimizer.program.problem.data import EgressPrices
from optimizer.program.problem.problem import Problem, sorted_problem
from optimizer.program.proof.state import SearchState
from optimizer.program.refine import routing
from optimizer.program.refine.routing import (
    ROUTING_TOLERANCE,
    _busiest_class,
    _Router,
    _router,
    _shares_nothing,
    balanced_flows,
    egress_of,
)
from optimizer.program.solve import with_plan


def test_spare_replicas_are_used_by_less_than_verification_grants() -> None:
    """Of two deployments, one must leave half of its replicas alone: it gives way by half of the tolerance at most."""
    demand = at_least(["demand[]"], 1.5, (np.zeros(2, dtype=np.int64), np.arange(2), np.ones(2)))
    router = _Router(
        deployments=2,
        deployment=np.arange(2),
        load=np.ones(2),
        wanted=np.ones(2),
        unspared=np.array([0.5, 1.0]),
        max_utilization=1.0,
        open_rows=demand,
    )
    kept_alone, other = router.balanced()
    assert kept_alone + other == pytest.approx(1.5)
    assert kept_alone + 1e-9 >= 0.5
    assert kept_alone / 0.5 - 1 < 0.6 * ROUTING_TOLERANCE


def test_a_mix_with_hardly_any_of_a_class_is_sent_what_little_of_it_is_needed() -> None:
    """The whole of a rare class is thousands of times what is asked of the other, so a share of it is no rounding."""
    frequent = at_least(["frequent[]"], 1.0, (np.zeros(2, dtype=np.int64), np.arange(2), np.array([1.0, 4e3])))
    router = _Router(
        deployments=2,
        deployment=np.arange(2),
        load=np.array([1.0, 1e9]),
        wanted=np.array([1.0, 4e3]),
        unspared=None,
        max_utilization=1.0,
        open_rows=frequent,
    )
    alone, mixed = router.balanced()
    assert mixed == pytest.approx(1e-9, rel=0.01)
    assert alone + 4e3 * mixed == pytest.approx(1.0, abs=1e-7)


@pytest.mark.parametrize("periods", [1, 3])
def test_a_plan_costs_what_its_routing_costs_however_the_search_had_its_answers_sent(periods: int) -> None:
    """Found by the campaign: a search cut short told the gap of a plan whose answers it had sent more dearly."""
    whole = medium_problem(13, periods, 5, 12)
    usd_per_gb = np.array([{"p": 10.0, "q": 30.0, "r": 90.0}[name] for name in whole.offers.provider])
    order = sorted_problem(replace(whole, egress=EgressPrices(np.array([1e-6, 3e-6, 2e-6]), usd_per_gb)))
    state = SearchState(Clock())
    result = search_laid_out(order.problem, state, True).result
    plan = result.incumbent
    assert plan is not None
    told = with_plan(order, result, plan, state)
    assert plan.egress_usd_per_hour == pytest.approx(egress_of(order.problem, balanced_flows(order.problem, plan)))
    dearer = replace(plan, usd_per_hour=plan.usd_per_hour + 5, egress_usd_per_hour=plan.egress_usd_per_hour + 5)
    again = with_plan(order, replace(result, incumbent=dearer), dearer, state)
    assert again.cost_usd_per_month == pytest.approx(told.cost_usd_per_month, rel=ROUTING_TOLERANCE)
    assert again.relative_gap == pytest.approx(told.relative_gap, abs=ROUTING_TOLERANCE)


def test_hours_that_ask_for_the_same_and_run_the_same_are_routed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = sorted_problem(medium_problem(13, 3, 5, 12)).problem
    plan = search_laid_out(problem, SearchState(Clock()), True).result.incumbent
    assert plan is not None
    twice = np.array([0, 1, 2, 1, 0, 2])
    hours = replace(problem, traffic=replace(problem.traffic.during(twice), start_share=np.zeros((6, 6))))
    sent = np.concatenate([plan.api_flow_per_s[problem.api_streams.period == t] for t in twice.tolist()])
    week = replace(plan, instances=plan.instances[twice], replicas=plan.replicas[twice], api_flow_per_s=sent)
    routed, real = list[int](), routing._router
    monkeypatch.setattr(routing, "_router", lambda *asked: (routed.append(asked[2]), real(*asked))[1])
    flows = balanced_flows(hours, week)
    assert routed == [0, 1, 2]
    for period, alike in ((3, 1), (4, 0), (5, 2)):
        first, again = ([flow for flow in flows if flow.period == t] for t in (alike, period))
        assert [replace(flow, period=period) for flow in first] == again


@settings(max_examples=40)
@given(problems(most_candidates=5, several=4))
def test_where_each_candidate_serves_one_class_its_capacity_says_how_busy_the_busiest_is(problem: Problem) -> None:
    problem = sorted_problem(problem).problem
    plan = search_laid_out(problem, SearchState(Clock()), True).result.incumbent
    if plan is None or problem.traffic.periods > 1 or not _shares_nothing(problem):
        return
    least = _router(problem, plan, 0)[1].least_busiest()
    assert _busiest_class(problem, plan) == pytest.approx(least, rel=1e-6)
    none = replace(plan, replicas=np.zeros_like(plan.replicas))
    assert _busiest_class(problem, none) == np.inf
