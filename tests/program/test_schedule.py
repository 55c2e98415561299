"""The cheapest round of a week whose hours follow one another, against every round."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.program.weeks import schedule


@settings(max_examples=60)
@given(st.integers(2, 5), st.integers(1, 4), st.integers(0, 10**6))
def test_no_round_of_the_week_costs_less(periods: int, plans: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    # in any order of the ring, some plans serving some periods alone, the first all of them
    ring, start_share = random.permutation(periods), np.zeros((periods, periods))
    start_share[ring, np.roll(ring, -1)] = random.uniform(0.1, 1.0, periods)
    cost = np.where(random.random((periods, plans)) < 0.3, np.inf, random.integers(1, 9, (periods, plans)))
    cost[:, 0] = random.integers(1, 9, periods)
    rise = random.integers(0, 5, (plans, plans)) * (1.0 - np.eye(plans))

    def usd(choice: tuple[int, ...]) -> float:
        changes = sum(
            start_share[t, u] * rise[choice[t], choice[u]] for t, u in zip(ring, np.roll(ring, -1), strict=True)
        )
        return float(sum(cost[t, plan] for t, plan in enumerate(choice)) + changes)

    order = schedule._ring(cost, start_share)
    assert order is not None
    found = schedule._cheapest_round(order, cost, rise, start_share)
    assert usd(tuple(found.tolist())) == pytest.approx(min(usd(each) for each in product(range(plans), repeat=periods)))


def test_periods_that_follow_several_or_form_two_rings_are_no_ring() -> None:
    cost = np.ones((4, 1))
    two = np.zeros((4, 4))
    two[[0, 1, 2, 3], [1, 0, 3, 2]] = 0.1
    assert schedule._ring(cost, two) is None
    assert schedule._ring(cost, np.full((4, 4), 0.1)) is None
    assert schedule._ring(np.ones((1, 1)), np.zeros((1, 1))) is None
