"""Requirements are closed over the scenario's schema: declared, held, verified, drawn, measured and documented once."""

import re

import pytest
from hypothesis import given, settings
from support.asking import ASKING, ASKS_NOTHING, schema_paths
from support.instances import TINY, problems
from support.paths import ROOT

from optimizer.inputs.requirements import stated
from optimizer.inputs.requirements.registry import BY_NAME, NOT_A_REQUIREMENT, REQUIREMENTS
from optimizer.inputs.requirements.stated import askable, stated_requirements, with_field
from optimizer.inputs.scenario.fields import FieldError
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.performance.market.criteria import CRITERIA
from optimizer.plan.explain.measures import MEASURES
from optimizer.plan.verify.verify import COVERED
from optimizer.program.formulation.registry import FAMILIES, FAMILY
from optimizer.program.problem.problem import Problem

HELD_OTHERWISE = {
    "confidence": "in the margins of every prediction",
    "robust": "in the demand, the rates and the budget of the problem",
    "mix_classes": "in which columns there are",
    "usd_per_change": "in the objective",
    "own_providers": "in which offers a workload's candidates fit",
    "own_regions": "in which offers a workload's candidates fit",
    "own_countries": "in which offers a workload's candidates fit",
}
"""Requirements that are neither a family of rows nor a criterion, and where they act."""


def test_every_field_of_the_schema_asks_something_or_says_why_not() -> None:
    fields = [field for item in REQUIREMENTS for field in (item.field, *item.also)]
    assert len(set(fields)) == len(fields)
    assert set(schema_paths()) == {*fields, *NOT_A_REQUIREMENT}
    assert not {*fields} & {*NOT_A_REQUIREMENT}


def test_the_tests_know_the_same_fields_without_reading_the_registry() -> None:
    assert set(ASKING) | ASKS_NOTHING == set(schema_paths())
    assert set(NOT_A_REQUIREMENT) == ASKS_NOTHING


def test_names_are_unique_and_families_and_criteria_know_them() -> None:
    assert len(BY_NAME) == len(REQUIREMENTS)
    named = {item.requirement for item in (*FAMILIES, *CRITERIA.values()) if item.requirement}
    assert named | set(HELD_OTHERWISE) == set(BY_NAME)
    assert not named & set(HELD_OTHERWISE)


@pytest.mark.parametrize("path", ASKING)
def test_what_may_be_asked_of_a_number_has_no_gap(path: str) -> None:
    """So that only its ends are looked for: some thirty values are held against the scenario by themselves here."""
    scenario = ASKING[path].asking()
    for item in (each for each in stated_requirements(scenario) if each.written):
        values = item.looser_values()
        values = (*values[:: max(1, len(values) // 30)], *values[-1:])
        alone = tuple(value for value in values if _may_be(scenario, item.field, value))
        assert askable(scenario, item.field, values) == alone


def _may_be(scenario: Scenario, field: str, value: float) -> bool:
    try:
        with_field(scenario, field, value)
    except (ValueError, FieldError):
        return False
    return True


@pytest.mark.parametrize(("least", "most"), [(0, 9), (3, 6), (0, 0), (9, 9), (4, 9), (20, 30), (0, 4)])
def test_both_ends_of_what_may_be_asked_are_found(least: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stated, "_is_askable", lambda _, __, value: least <= value <= most)
    values = tuple(map(float, range(10)))
    found = askable(ASKING["policy.max_gpus"].without(), "policy.max_gpus", values)
    assert found == tuple(value for value in values if least <= value <= most)


def test_every_number_and_promise_is_measured_or_priced() -> None:
    """What admits candidates is counted in the census of criteria; a charge is a line of the bill."""
    charges = {item.name for item in REQUIREMENTS if item.sense == "promise"} - {"survive", "robust"}
    numbers = {item.name for item in REQUIREMENTS if item.sense in ("at_most", "at_least", "promise")}
    assert set(MEASURES) == numbers - charges - {"confidence"}
    assert {"egress", "mix_classes"} <= {name for name in charges if BY_NAME[name].promise}


def test_verification_holds_a_plan_to_every_field_that_asks_something() -> None:
    uncovered = [path for path in ASKING if not any(_is_within(field, path) for field in COVERED)]
    assert not uncovered
    assert all(any(_is_within(field, path) for path in schema_paths()) for field in COVERED)


def _is_within(field: str, path: str) -> bool:
    """Whether a field is what stands at a path of the schema, or a part of it."""
    return field == path or field.startswith((f"{path}.", f"{path}[]"))


@pytest.mark.parametrize("family", sorted(TINY))
def test_the_oracle_draws_what_it_is_asked_for(family: str) -> None:
    """A generator that leaves out what it was asked for would agree with anything."""

    @settings(max_examples=5, database=None, derandomize=True, deadline=None)
    @given(problems(family))
    def drawn(problem: Problem) -> None:
        assert FAMILY[family].active(problem)

    drawn()


def test_every_requirement_that_limits_the_problem_is_drawn() -> None:
    drawn = {FAMILY[family].requirement for family in TINY if FAMILY[family].requirement}
    limiting = {family.requirement for family in FAMILIES if family.requirement}
    assert limiting - drawn == {"demand", "max_utilization"}, "these two are in every problem"


def test_every_requirement_is_documented() -> None:
    page = (ROOT / "docs" / "scenario.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE))
    assert {field.rpartition(".")[2] for field in ASKING} <= told
    assert all(item.sentence.endswith(".") for item in REQUIREMENTS)
