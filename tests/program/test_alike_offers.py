"""What is left out as dearer and alike before candidates are written down is what dominance leaves out of them."""

from dataclasses import replace

import pytest

from optimizer import load_scenario
from optimizer.inputs.catalog.records import Catalogs
from optimizer.inputs.catalog.shipped import shipped_dir
from optimizer.plan.question.inquiry import Inquiry
from optimizer.program.problem.data import Ceiling
from optimizer.program.problem.formulate import Formulation
from optimizer.program.problem.problem import sorted_problem
from optimizer.program.proof.dominance import undominated

UNDER_LIMITS = ["account-limits", "chat-8b", "eu-residency", "night-batch", "power-pledge", "three-clouds"]
"""Scenarios with quotas, none, losses, weeks, power, and shares of providers: what offers are compared by differs."""


def standing(formulation: Formulation, ceiling: Ceiling) -> set[str]:
    """The candidates that dominance keeps."""
    whole = sorted_problem(formulation.problem).problem
    problem = replace(whole, ceiling=ceiling)
    keep = undominated(problem)
    return {name for name, stays in zip(problem.candidates.ids, keep.tolist(), strict=True) if stays}


@pytest.mark.parametrize("name", UNDER_LIMITS)
def test_dominance_keeps_the_same_of_what_is_left(name: str, catalogs: Catalogs) -> None:
    inquiry = Inquiry.of(load_scenario(shipped_dir("scenarios") / f"{name}.yaml"), catalogs)
    for counts, ceiling in ((False, Ceiling()), (True, Ceiling(places=4, instances=3))):
        every = inquiry.formulated(counts=counts)
        few = inquiry.formulated(counts=counts, whole=False)
        assert set(few.problem.candidates.ids) <= set(every.problem.candidates.ids)
        assert standing(few, ceiling) == standing(every, ceiling)


def test_most_offers_of_a_market_are_alike(catalogs: Catalogs) -> None:
    inquiry = Inquiry.of(load_scenario(shipped_dir("scenarios") / "chat-8b.yaml"), catalogs)
    assert 10 * len(inquiry.formulated(whole=False).columns) < len(inquiry.formulated().columns)
