"""What the fullest instance carries is divided until a plan is proven: the same as with a binary for every level."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.placements import larger_problem
from support.promises import faults

from optimizer.base.clock import Clock
from optimizer.program.problem.data import (
    Candidates,
    Ceiling,
    Fullest,
    HostedApis,
    Limits,
    Offers,
    steady_traffic,
)
from optimizer.program.problem.instance_contents import instance_contents
from optimizer.program.problem.problem import Problem, compacted
from optimizer.program.proof import fullest_instance
from optimizer.program.proof.contents_bound import contents_within
from optimizer.program.proof.fullest_instance import divides_fullest
from optimizer.program.proof.state import Incumbent
from optimizer.program.solve import solve, solve_plainly

SEEDS = (0, 1, 3, 5, 8, 12)


def boxes_and_cards(price_usd_per_hour: tuple[float, float] = (8.0, 1.5), **limits: object) -> Problem:
    """A box of four GPUs and single ones; a slow and a fast candidate on the box, a slow one on the single GPU."""
    return Problem(
        traffic=steady_traffic(("v/0",), np.array([1.0]), np.eye(1), ("v",)),
        candidates=Candidates(
            ids=("box/1", "box/2", "card/1"),
            offer=np.array([0, 0, 1]),
            configuration=("a", "b", "a"),
            engine=("e",) * 3,
            gpus_per_replica=np.array([1, 2, 1]),
            rate_per_s=np.array([[0.2], [0.5], [0.2]]),
            replicas_in_force=np.zeros(3, dtype=np.int64),
        ),
        offers=Offers(
            ids=("box", "card"),
            price_usd_per_hour=np.array(price_usd_per_hour),
            gpus_per_instance=np.array([4, 1]),
            power_kw=np.ones(2),
            carbon_kg_per_hour=np.ones(2),
            available=np.full(2, np.inf),
            provider=("p", "p"),
            region=("r", "r"),
            gpu=("g", "g"),
            spot=np.zeros(2, dtype=np.bool_),
            always_paid=np.zeros(2, dtype=np.bool_),
        ),
        limits=Limits(1.0, survive=("instance",), **limits),  # type: ignore[arg-type]
    )


def held(problem: Problem) -> set[tuple[int, ...]]:
    """What may stand on one instance: replicas of each candidate."""
    contents = instance_contents(problem)
    counts = np.zeros((len(contents), len(problem.candidates)), dtype=int)
    counts[contents.content, contents.candidate] = contents.count
    return {tuple(row) for row in counts.tolist()}


def carrying(problem: Problem, least: float, most: float) -> Problem:
    return replace(problem, fullest=Fullest(np.array([least]), np.array([most])))


@pytest.mark.parametrize("few", [1, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_first_plan_of_few_candidates_changes_no_optimum(
    seed: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, made = larger_problem(seed), []

    def noted(*asked: Any) -> Incumbent | None:
        made.append(of_few(*asked))
        return made[-1]

    of_few = fullest_instance._of_few
    monkeypatch.setattr(fullest_instance, "FEW", few)
    monkeypatch.setattr(fullest_instance, "MANY", 0)
    monkeypatch.setattr(fullest_instance, "_of_few", noted)
    found, plain = solve(problem), solve_plainly(problem)
    assert made, "no first plan was looked for"
    assert found.outcome == plain.outcome
    if found.cost_usd_per_month is not None:
        assert found.cost_usd_per_month == pytest.approx(plain.cost_usd_per_month)
        assert found.bound_usd_per_month == pytest.approx(found.cost_usd_per_month)


@pytest.mark.parametrize("weighed", [0, 6, fullest_instance.MOST_WEIGHED])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_cheapest_plan_is_that_of_a_program_with_every_level(
    seed: int, weighed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many contents a box may have that is not cut any further."""
    monkeypatch.setattr(fullest_instance, "MOST_WEIGHED", weighed)
    problem = larger_problem(seed)
    found, plain = solve(problem), solve_plainly(problem)
    assert divides_fullest(problem)
    assert found.outcome == plain.outcome
    if plain.cost_usd_per_month is not None:
        assert found.cost_usd_per_month == pytest.approx(plain.cost_usd_per_month, rel=1e-6)
        assert not faults(problem, found)


def test_a_plan_of_hosted_apis_alone_stands_on_no_instance() -> None:
    """The second of two where no machine may serve at all."""
    hosted = HostedApis(("h",), np.array([0]), np.array([1e-6]), ("saas",))
    beside = replace(boxes_and_cards(), apis=hosted)
    for problem in (beside, compacted(beside, np.zeros(3, dtype=np.bool_)).problem):
        found = solve(problem)
        assert found.outcome == "optimal"
        assert found.api_flow_per_s.sum() == pytest.approx(1.0)
        assert not len(found.placed)


def test_some_of_them_have_a_plan_and_some_have_none() -> None:
    outcomes = {solve(larger_problem(seed)).outcome for seed in SEEDS}
    assert outcomes == {"optimal", "infeasible"}


def test_of_contents_the_largest_that_carry_no_more_are_listed() -> None:
    problem = replace(boxes_and_cards(), limits=Limits(1.0, survive=("instance",), max_replicas=(("v", 9),)))
    assert held(problem) == {
        (1, 0, 0),
        (2, 0, 0),
        (3, 0, 0),
        (4, 0, 0),
        (0, 1, 0),
        (1, 1, 0),
        (2, 1, 0),
        (0, 2, 0),
        (0, 0, 1),
    }
    assert held(carrying(problem, 0.0, np.inf)) == {(4, 0, 0), (2, 1, 0), (0, 2, 0), (0, 0, 1)}
    assert held(carrying(problem, 0.0, 0.6)) == {(3, 0, 0), (0, 1, 0), (0, 0, 1)}


def test_a_content_that_another_one_replaces_is_left_out() -> None:
    assert held(carrying(boxes_and_cards(), 0.0, np.inf)) == {(0, 2, 0), (0, 0, 1)}
    cheap_box = boxes_and_cards(price_usd_per_hour=(1.0, 1.5))
    # four GPUs where one stood are more, and there may be a limit on them
    assert held(carrying(cheap_box, 0.0, np.inf)) == {(0, 2, 0), (0, 0, 1)}
    # two configurations are told apart under a limit on them
    few = boxes_and_cards(max_distinct_configurations=1)
    assert held(carrying(few, 0.0, np.inf)) == {(4, 0, 0), (0, 2, 0), (0, 0, 1)}


def test_a_scarce_offer_replaces_no_other() -> None:
    problem = boxes_and_cards()
    twins = replace(
        problem,
        offers=replace(problem.offers, gpus_per_instance=np.array([4, 4]), price_usd_per_hour=np.array([1.0, 8.0])),
        candidates=replace(problem.candidates, offer=np.array([0, 0, 1]), rate_per_s=np.array([[0.2], [0.5], [0.2]])),
    )
    assert held(carrying(twins, 0.0, np.inf)) == {(0, 2, 0)}
    scarce = replace(twins, offers=replace(twins.offers, available=np.array([1.0, np.inf])))
    assert held(carrying(scarce, 0.0, np.inf)) == {(0, 2, 0), (0, 0, 4)}


def test_candidates_that_no_plan_within_a_cost_has_are_left_out() -> None:
    """Six cards at 1.5 carry 1.2 for 9.0 USD/h; a box for 8.0 that carries 1.0 needs another one beside it."""
    problem = carrying(boxes_and_cards(), 0.2, np.inf)
    assert within(problem, np.inf) == ([False, True, True], 2)
    assert within(problem, 9.0) == ([False, False, True], 1)
    assert within(problem, 8.9) == ([False, False, False], 0)
    assert within(carrying(boxes_and_cards(), 0.2, 0.1), np.inf) == ([False, False, False], 0)


def test_few_instances_cost_more() -> None:
    """Four instances that carry 1.2 are half a box and three and a half cards at the least, for 9.25 USD/h."""
    problem = carrying(boxes_and_cards(), 0.2, np.inf)
    assert within(problem, 9.1) == ([False, False, True], 1)
    assert within(replace(problem, ceiling=Ceiling(instances=4)), 9.1) == ([False, False, False], 0)


def within(problem: Problem, usd_per_hour: float) -> tuple[list[bool], int]:
    candidates, contents = contents_within(problem, usd_per_hour, Clock())
    return candidates.tolist(), contents
