"""A first plan of a large problem is found even where the candidates that its bound points to make none."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from optimizer.base.clock import Clock
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.question.inquiry import Inquiry
from optimizer.program.large import search
from optimizer.program.problem.problem import sorted_problem
from optimizer.program.proof.state import SearchState


def test_wider_parts_are_looked_at_until_there_is_a_plan(
    catalogs: Catalogs, script: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two providers have half of the traffic each; the bound, which knows of no shares, points to one."""
    inquiry = Inquiry.of(script("any_scenario").scenario(862), catalogs).apart()
    problem = sorted_problem(inquiry.formulated().problem).problem
    known = []

    def final_solve(*arguments: Any) -> Any:
        known.append(arguments[3])
        return search.SearchResult("unproven", arguments[2], arguments[3])

    monkeypatch.setattr(search, "final_solve", final_solve)
    keep = np.ones(len(problem.candidates), dtype=np.bool_)
    found = search.search_large(problem, keep, SearchState(Clock()), None, search.Known())
    assert known[0] is not None
    assert known[0].usd_per_hour < 1.25 * found.bound.usd_per_hour
