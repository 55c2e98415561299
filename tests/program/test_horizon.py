"""Purchases over months are those of least cost: enumeration agrees, and what looks ahead less costs no less."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.horizons import drawn_horizon, tried_out

from optimizer.base.clock import Clock
from optimizer.program.horizon.dominance import undominated
from optimizer.program.horizon.solve import month_by_month, solve_horizon
from optimizer.program.horizon.tree import parting

SEEDS = range(32)


@pytest.mark.parametrize("first", SEEDS[::8])
def test_enumeration_agrees_with_and_without_what_is_replaced(first: int) -> None:
    for seed in range(first, first + 8):
        problem = drawn_horizon(seed)
        least_usd = tried_out(problem)
        for asked in (problem, undominated(problem)):
            found = solve_horizon(asked, Clock())
            assert found.expected_usd == pytest.approx(least_usd, rel=1e-7)
            assert found.status == ("optimal" if np.isfinite(least_usd) else "infeasible")


def test_every_kind_of_instance_is_drawn() -> None:
    drawn = [drawn_horizon(seed) for seed in SEEDS]
    assert any(problem.switches for problem in drawn)
    assert any(problem.ceilings.names for problem in drawn)
    assert any(len(problem.mixes) > 1 for problem in drawn)
    assert any(len(problem.tree.weight) > 1 and len(problem.tree.common) < problem.tree.months for problem in drawn)
    assert any(len(problem.cell_node) > len(problem.tree.month) for problem in drawn)
    assert any(len(problem.deals.ids) > 1 for problem in drawn)
    assert any(np.isinf(tried_out(problem)) for problem in drawn if problem.ceilings.names)


def test_looking_ahead_less_costs_no_less_and_knowing_more_no_more() -> None:
    for seed in SEEDS[::4]:
        problem = drawn_horizon(seed)
        answer = solve_horizon(problem, Clock())
        if not answer.found:
            continue
        least = answer.expected_usd * (1 - 1e-7)
        known = [solve_horizon(problem.known_to_be(branch), Clock()) for branch in range(len(problem.tree.weight))]
        assert problem.tree.weight @ [each.expected_usd for each in known] <= answer.expected_usd * (1 + 1e-7)
        assert month_by_month(problem, Clock()).expected_usd >= least
        assert solve_horizon(problem.without_deals(), Clock()).expected_usd >= least


def test_branches_share_what_is_decided_before_they_part() -> None:
    tree = parting(4, [1, 3, 4], np.array([0.5, 0.25, 0.25]))
    assert tree.node.tolist() == [[0, 2, 4, 6], [0, 1, 3, 7], [0, 1, 3, 5]]
    assert tree.parent.tolist() == [-1, 0, 0, 1, 2, 3, 4, 3]
    assert tree.probability.tolist() == [1.0, 0.5, 0.5, 0.5, 0.5, 0.25, 0.5, 0.25]
    assert tree.common.tolist() == [0]


@settings(max_examples=20)
@given(st.integers(1, 12), st.lists(st.integers(0, 12), min_size=1, max_size=4), st.integers(1, 15))
def test_what_runs_in_a_node_was_started_so_many_months_before_on_its_way(
    months: int, parts_in: list[int], term_months: int
) -> None:
    tree = parting(months, parts_in, np.full(len(parts_in), 1 / len(parts_in)))
    ways = {node: tree.up_to(node).tolist() for node in range(len(tree.month))}
    for node, way in ways.items():
        assert way[0] == node
        assert tree.parent[way].tolist() == [*way[1:], -1]
    nodes, starts = tree.running(term_months)
    expected = [(node, start) for node, way in ways.items() for start in way[:term_months]]
    assert list(zip(nodes.tolist(), starts.tolist(), strict=True)) == expected
