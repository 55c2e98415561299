"""One clock: parts end with the whole, work ends a search at one place, and a plan is there whatever time is left."""

import json
from dataclasses import is_dataclass, replace
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.instances import TINY, by_day_and_night, problems, tiny_problem

from optimizer.base.clock import Clock, LimitReached, until_limit
from optimizer.program import search
from optimizer.program.problem import instance_contents
from optimizer.program.problem.problem import Problem
from optimizer.program.proof import first_plan, simple_plan, steps
from optimizer.program.solve import solve, solve_plainly

SAME = 1 + 1e-6
"""Ratio up to which two costs are the same."""


class Seconds:
    """Time that passes only when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_part_ends_at_its_own_limit_or_with_the_whole() -> None:
    seconds = Seconds()
    whole = Clock(10.0, now=seconds)
    half, all_of_it = whole.share(0.5), whole.part()
    seconds.now += 5
    assert (half.reached, half.left_s(), all_of_it.left_s()) == ("time limit", 0.0, 5.0)
    seconds.now += 5
    assert (whole.reached, all_of_it.reached) == ("time limit", "time limit")


def test_work_of_a_part_is_work_of_the_whole() -> None:
    whole = Clock(work_limit=100)
    part = whole.share(0.3)
    part.spend(30)
    assert (part.reached, whole.left_work(), whole.reached) == ("work limit", 70, None)
    whole.part(work_limit=500).spend(70)
    assert whole.reached == "work limit"


def test_a_solver_that_stopped_short_of_a_limit_has_reached_it() -> None:
    whole = Clock(10.0, now=Seconds())
    whole.share(0.5).run_out("time limit")
    assert not whole.expired
    whole.part().run_out("time limit")
    assert whole.reached == "time limit"


def test_what_was_worked_out_before_a_limit_stays() -> None:
    def items():
        yield 1
        raise LimitReached("work limit")

    assert until_limit(items()) == ([1], "work limit")
    assert until_limit(iter([1, 2])) == ([1, 2], None)


@pytest.mark.parametrize("name", TINY)
def test_without_any_time_there_is_a_plan_and_a_bound(name: str) -> None:
    problem = TINY[name]()
    best, hasty = solve(problem), solve(problem, Clock(0.0))
    assert (best.cost_usd_per_month is None) == (hasty.cost_usd_per_month is None)
    if best.cost_usd_per_month is not None:
        assert hasty.ended_by == "time limit"
        assert hasty.bound_usd_per_month <= best.cost_usd_per_month * (1 + 1e-9)
        assert best.cost_usd_per_month <= hasty.cost_usd_per_month * (1 + 1e-9)


@settings(max_examples=25, deadline=None)
@given(problems())
def test_random_problems_have_a_plan_without_any_time(problem) -> None:
    best, hasty = solve(problem), solve(problem, Clock(0.0))
    assert (best.cost_usd_per_month is None) == (hasty.cost_usd_per_month is None)


@pytest.mark.parametrize("step_s", [0.001, 0.02, 0.1, 0.3])
def test_wherever_time_runs_out_the_answer_is_true(step_s: float) -> None:
    problem, ticks = by_day_and_night(tiny_problem(spare_replicas=1)), count()
    best = solve(problem).cost_usd_per_month
    found = solve(problem, Clock(1.0, now=lambda: step_s * next(ticks)))
    assert found.bound_usd_per_month <= best * (1 + 1e-9)
    assert best <= found.cost_usd_per_month * (1 + 1e-9)
    assert (found.outcome == "optimal") == (found.relative_gap == 0.0)


def test_work_is_limited_without_looking_at_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    given_s: list[float | None] = []

    class Watched(Clock):
        def __init__(self, time_limit_s: float | None = None, *others: object, **named: object) -> None:
            given_s.append(time_limit_s)
            super().__init__(time_limit_s, *others, **named)

    monkeypatch.setattr(search, "Clock", Watched)
    monkeypatch.setattr(simple_plan, "Clock", Watched)
    spent = Clock(work_limit=1)
    spent.spend(1)
    assert solve(by_day_and_night(tiny_problem()), spent).bound_usd_per_month > 0
    assert given_s
    assert not any(given_s)


def test_a_work_limit_ends_at_the_same_place_every_time() -> None:
    problem = by_day_and_night(tiny_problem(min_regions=2))
    for limit in (1, 10, 30):
        clocks = Clock(work_limit=limit), Clock(work_limit=limit)
        one, other = (replace(solve(problem, clock), phase_wall_s={}) for clock in clocks)
        assert json.dumps(one.__dict__, default=str) == json.dumps(other.__dict__, default=str)
        assert clocks[0].spent_work == clocks[1].spent_work > 0


@st.composite
def ends(draw: st.DrawFn) -> dict[str, Any]:
    """How a search is limited: by a clock of either kind, nodes, a gap, what a known plan costs over the cheapest."""
    step_s, ticks = draw(st.sampled_from([0.01, 0.05, 0.2])), count()
    clocks = [Clock(), Clock(0.0), Clock(work_limit=draw(st.sampled_from([1, 5, 30])))]
    clocks.append(Clock(1.0, now=lambda: step_s * next(ticks)))
    return {
        "clock": draw(st.sampled_from(clocks)),
        "relative_gap": draw(st.sampled_from([0.0, 0.01, 0.2])),
        "node_limit": draw(st.sampled_from([None, 1, 3])),
        "cutoff_usd_per_month": draw(st.sampled_from([np.inf, 0.9, 1.0, 1.001, 1.5])),
        "break_ties": draw(st.booleans()),
    }


def nothing_false_is_said(problem: Problem, end: dict[str, Any], small: list[int]) -> None:
    """Whatever is left out of a search and wherever it ends: no false proof, no plan or bound that cannot be."""
    plain = solve_plainly(problem)
    assume(plain.outcome in ("optimal", "infeasible"))
    best = plain.cost_usd_per_month
    known = end["cutoff_usd_per_month"] * (best or 1.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(instance_contents, "MOST_CONTENTS", (2, 20, 6000)[small[0]])
        patch.setattr(steps, "MOST_BILLED_CELLS", (1, 4000, 4000)[small[1]])
        patch.setattr(first_plan, "INCUMBENT_COLUMNS", (0, 1, 24)[small[2]])
        for name in ("SEPARATED_STREAMS", "MANY_STREAMS", "MANY_STREAMS_WITH_STARTS", "SIFTED_STREAMS"):
            patch.setattr(search, name, (-1, 1000, 1000)[small[3]])
        found = solve(problem, **end | {"cutoff_usd_per_month": known})
    least = np.inf if best is None else best / SAME
    assert found.outcome != "infeasible" or best is None or least > known / SAME**2
    assert found.bound_usd_per_month is None or found.bound_usd_per_month <= least * SAME**2
    assert found.cost_usd_per_month is None or found.cost_usd_per_month >= least
    assert found.outcome != "optimal" or (found.cost_usd_per_month or 0.0) <= least * SAME**2


SMALL = st.lists(st.integers(0, 2), min_size=4, max_size=4)


@pytest.mark.parametrize("family", ["", "changes", "placement", "minimum_billing", "starts"])
def test_wherever_a_search_ends_nothing_false_is_said(family: str) -> None:
    settings(max_examples=6)(given(problems(family, several=2), ends(), SMALL)(nothing_false_is_said))()


@pytest.mark.slow("searches hundreds of random problems under every kind of limit")
def test_wherever_a_search_ends_under_several_families_nothing_false_is_said() -> None:
    settings(max_examples=150)(given(problems("any", several=4), ends(), SMALL)(nothing_false_is_said))()


@settings(max_examples=20)
@given(problems("any"))
def test_a_problem_is_not_changed_by_solving_it(problem: Problem) -> None:
    _freeze(problem)
    solve(problem)


def _freeze(part: object) -> None:
    """No array in it may be written to any more."""
    if isinstance(part, np.ndarray):
        part.setflags(write=False)
    for inner in vars(part).values() if is_dataclass(part) else part if isinstance(part, tuple) else ():
        _freeze(inner)
