"""Hours that are paid once an instance has started: the cheapest runs that cover what runs, each long enough."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from support.instances import by_day_and_night, tiny_problem
from support.promises import lingering_hours

from optimizer.base.clock import Clock
from optimizer.inputs.scenario.policy import Elastic
from optimizer.program.laid_out import search_laid_out
from optimizer.program.problem.data import Billing
from optimizer.program.problem.problem import sorted_problem
from optimizer.program.proof.state import SearchState
from optimizer.program.refine.paid_runs import PaidHours, billed_idle_usd_per_hour, paid_runs
from optimizer.program.solve import with_plan

STEADY = settings(max_examples=60)


@STEADY
@given(st.lists(st.integers(0, 3), min_size=8, max_size=8), st.integers(2, 8))
def test_runs_are_the_cheapest_that_cover_what_runs(running: list[int], least: int) -> None:
    counts, period = np.unique(running, return_inverse=True)
    runs = paid_runs(period.reshape(-1).astype(np.int64), counts.astype(np.int64), least)
    paid = np.zeros(8, dtype=int)
    for run in runs:
        assert run.hours >= least
        np.add.at(paid, (run.first_hour + np.arange(run.hours)) % 8, run.instances)
    assert (paid >= running).all()
    assert paid.sum() - sum(running) == lingering_hours(tuple(running), least)


def test_an_instance_relieves_another_whose_time_is_over() -> None:
    # one starts at hour 2 where two run; at hour 3 the older one leaves, so nothing is paid beyond what runs
    runs = paid_runs(np.array([0, 0, 1, 0, 2, 2, 2, 2]), np.array([1, 2, 0]), 2)
    assert runs == (PaidHours(0, 3, 1), PaidHours(2, 2, 1))


def test_a_short_gap_is_bridged_and_a_long_one_is_not() -> None:
    hours = np.array([1, 0, 1, 0, 0, 0, 0, 0])
    assert paid_runs(hours, np.array([0, 1]), 3) == (PaidHours(0, 3, 1),)
    apart = np.array([1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0])
    assert paid_runs(apart, np.array([0, 1]), 3) == (PaidHours(0, 3, 1), PaidHours(6, 3, 1))


def test_runs_of_a_million_instances_take_no_longer() -> None:
    """Found by the campaign: a search cut short may hold as many as may be, and each was followed through the weeks."""
    runs = paid_runs(np.array([0, 0, 0, 0, 0, 0, 0, 1]), np.array([1_000_000, 1_000_001]), 3)
    paid = np.zeros(8, dtype=int)
    for run in runs:
        np.add.at(paid, (run.first_hour + np.arange(run.hours)) % 8, run.instances)
    assert paid.tolist() == [1_000_000] * 7 + [1_000_001]


def test_what_always_runs_is_paid_all_week() -> None:
    assert paid_runs(np.zeros(8, dtype=np.int64), np.array([2]), 5) == (PaidHours(0, 8, 2),)


def test_hours_are_told_by_provider() -> None:
    by_provider = Elastic.model_validate({"minimum_billing_hours": {"neb*": 24, "*": 2}})
    assert (by_provider.billed_hours("nebius"), by_provider.billed_hours("aws")) == (24, 2)
    assert Elastic.model_validate({"minimum_billing_hours": 6}).billed_hours("aws") == 6
    assert Elastic().billed_hours("aws") == 1
    with pytest.raises(ValidationError):
        Elastic.model_validate({"minimum_billing_hours": 169})


def test_a_plan_costs_the_cheapest_runs_however_many_hours_the_search_had_billed() -> None:
    """Found by the campaign: a search cut short told the gap of a plan that paid for hours which no run takes."""
    problem = by_day_and_night(tiny_problem())
    order = sorted_problem(replace(problem, billing=Billing(np.full(len(problem.offers), 2), np.array([0, 1]))))
    state = SearchState(Clock())
    result = search_laid_out(order.problem, state).result
    plan = result.incumbent
    assert plan is not None
    own = billed_idle_usd_per_hour(order.problem, plan.instances)
    assert plan.billed_idle_usd_per_hour == pytest.approx(own)
    told = with_plan(order, result, plan, state)
    dearer = replace(plan, usd_per_hour=plan.usd_per_hour + 5, billed_idle_usd_per_hour=own + 5)
    again = with_plan(order, replace(result, incumbent=dearer), dearer, state)
    assert again.cost_usd_per_month == pytest.approx(told.cost_usd_per_month)
    assert again.relative_gap == pytest.approx(told.relative_gap)
