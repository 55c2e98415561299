"""Purchases over draws: the program against enumeration, rent by trying every count, bounds that hold."""

import numpy as np
import pytest
from support.risks import aim_of, drawn_risk, tried_out

from optimizer.base.clock import Clock
from optimizer.program.risk.dominance import undominated
from optimizer.program.risk.gap import chosen
from optimizer.program.risk.known import known_draws
from optimizer.program.risk.measure import Aim, value_at_risk
from optimizer.program.risk.problem import TopUp, outcome, topped_up
from optimizer.program.risk.sample_average import best_purchases


@pytest.mark.parametrize("seed", range(36))
def test_the_best_purchases_are_those_of_enumeration(seed: int) -> None:
    problem, aim = drawn_risk(seed), aim_of(seed)
    found = best_purchases(problem, aim, Clock())
    assert found.status == "optimal"
    assert found.aim_usd == pytest.approx(tried_out(problem, aim), rel=1e-6)
    assert found.bound_usd == pytest.approx(found.aim_usd, rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_a_known_draw_costs_what_enumeration_says(seed: int) -> None:
    problem = drawn_risk(seed)
    known = known_draws(problem, Clock())
    for draw, usd in enumerate(known.usd.tolist()):
        alone = problem.during(np.array([draw]))
        assert usd == pytest.approx(tried_out(alone, Aim(0.0, 0.5)), rel=1e-6)
        assert float(outcome(alone, known.counts[draw]).cost_usd[0]) == pytest.approx(usd, rel=1e-6)


def test_what_others_replace_changes_no_optimum() -> None:
    left_out = 0
    for seed in range(12):
        problem = drawn_risk(seed)
        kept = undominated(problem)
        left_out += len(problem.workload) - len(kept)
        assert tried_out(problem.select(kept), aim_of(seed)) == pytest.approx(tried_out(problem, aim_of(seed)))
    assert left_out


def test_rent_is_the_least_that_makes_up() -> None:
    """Of 2.5 requests/s that are missing: three instances, two and half a request/s unserved, or all unserved."""
    short, nothing = np.array([[2.5]]), np.zeros(1)
    for lost, instances, cost in ((np.inf, 3, 30.0), (30.0, 3, 30.0), (12.0, 2, 26.0), (9.0, 0, 22.5)):
        found = topped_up(TopUp(np.array([[10.0]]), np.array([[1.0]]), np.array([lost])), short, nothing)
        assert (int(found.instances[0, 0]), float(found.cost_usd[0])) == (instances, cost)
        assert float(found.unserved_usd[0]) == cost - 10 * instances


def test_what_no_machine_serves_has_no_price() -> None:
    nowhere = TopUp(np.zeros((1, 2)), np.zeros((1, 2)), np.array([np.inf]))
    found = topped_up(nowhere, np.array([[1.0, 0.0]]), np.array([5.0, 5.0]))
    assert found.cost_usd.tolist() == [np.inf, 5.0]
    assert found.unserved_per_s.tolist() == [[1.0, 0.0]]


def test_the_tail_is_the_mean_of_the_dearest_draws() -> None:
    cost = np.arange(1.0, 11.0)
    assert Aim(1.0, 0.8).of(cost) == pytest.approx(9.5)
    # a quarter of ten draws: the two dearest and half of the third
    assert Aim(1.0, 0.75).of(cost) == pytest.approx((10 + 9 + 8 / 2) / 2.5)
    assert Aim(0.0, 0.75).of(cost) == pytest.approx(5.5)
    assert value_at_risk(cost, 0.9) == 9
    # at another threshold than the value at risk a draw adds more in the mean
    for threshold in (0.0, 5.0, 20.0):
        assert Aim(0.5, 0.8).by_draw(cost, threshold).mean() >= Aim(0.5, 0.8).of(cost) - 1e-9
    assert Aim(0.5, 0.8).by_draw(cost, value_at_risk(cost, 0.8)).mean() == pytest.approx(Aim(0.5, 0.8).of(cost))


def test_the_gap_of_draws_that_are_all_alike_is_nothing() -> None:
    problem = drawn_risk(3).during(np.zeros(10, dtype=np.int64))
    aim = Aim(0.5, 0.8)
    found = chosen([problem] * 3, problem, problem, aim, Clock(), 0.0)
    assert found is not None
    assert found.gap is not None
    assert found.proven
    assert found.gap.most_gap_usd == pytest.approx(0.0, abs=1e-6)
    assert found.gap.upper.usd == pytest.approx(tried_out(problem.during(np.array([0])), Aim(0.0, 0.5)))


def test_bounds_of_batches_hold_the_optimum_of_all_their_draws() -> None:
    """The mean of the batches' optima is no more than what any counts come to over all of their draws."""
    problem, aim = drawn_risk(7).during(np.arange(24) % drawn_risk(7).draws), Aim(0.5, 0.75)
    batches = [problem.during(np.arange(6) * 4 + start) for start in range(4)]
    found = chosen(batches, problem, problem, aim, Clock(), 0.0)
    assert found is not None
    assert found.gap is not None
    assert found.gap.lower.usd <= tried_out(problem, aim) + 1e-6


def test_a_draw_that_a_limit_ends_is_not_known() -> None:
    """The clock never runs out, but leaves the solver no time: what it has got to is not the least cost."""
    hurried = Clock(1e-9, now=lambda: 0.0)
    # draws of no other test, whose least costs the solver may remember
    assert len(known_draws(drawn_risk(1_000), hurried).usd) == 0
