"""One family = one function = one registry entry = one golden model = one paragraph of documentation."""

import re

import pytest
from ortools.math_opt.io.python import mps_converter
from support.golden import Golden
from support.instances import TINY, by_day_and_night, paying_for_answers, tiny_problem, with_apis
from support.paths import ROOT, TESTS

from optimizer.program.formulation import changes as change_constraints
from optimizer.program.formulation import demand as constraints
from optimizer.program.formulation import layouts as layout_constraints
from optimizer.program.formulation import policy as policy_constraints
from optimizer.program.formulation import resilience as resilience_constraints
from optimizer.program.formulation import variety as variety_constraints
from optimizer.program.formulation.documentation import formulation_markdown
from optimizer.program.formulation.model import build_program, hourly_cost, model_proto
from optimizer.program.formulation.registry import FAMILIES, active_families
from optimizer.program.formulation.variables import BINARIES
from optimizer.program.problem.problem import Problem

GOLDEN = TESTS / "golden" / "program"
FORMULATION = ROOT / "docs" / "formulation.md"
ALWAYS = tuple(family.name for family in FAMILIES if family.active(tiny_problem()))
NAMES = [family.name for family in FAMILIES]


def model_text(problem: Problem) -> str:
    program = build_program(problem)
    return mps_converter.model_proto_to_mps(model_proto(program, hourly_cost(program), named=True))


@pytest.mark.parametrize("name", NAMES)
def test_model_of_each_family_is_as_recorded(name: str, golden: Golden) -> None:
    golden(GOLDEN / f"{name}.mps", model_text(TINY.get(name, tiny_problem)()))


def test_model_of_everything_at_once_is_as_recorded(golden: Golden) -> None:
    many_things = by_day_and_night(with_apis(tiny_problem(spare_replicas=1, survive=("region",), max_engines=1)))
    golden(GOLDEN.parent / "program_of_many_families.mps", model_text(many_things))


def test_model_with_answers_that_cost_something_to_send_is_as_recorded(golden: Golden) -> None:
    problem = by_day_and_night(paying_for_answers(tiny_problem(max_monthly_usd=9000.0)))
    golden(GOLDEN.parent / "program_of_paid_answers.mps", model_text(problem))


def test_every_family_has_a_golden_model_and_nothing_else_does() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.mps")) == sorted(NAMES)


def test_every_family_has_its_function_and_its_limits() -> None:
    assert set(NAMES) == {family.rows.__name__ for family in FAMILIES}
    assert set(NAMES) == set(TINY) | set(ALWAYS)
    homes = (
        *(constraints, policy_constraints, resilience_constraints, change_constraints, layout_constraints),
        variety_constraints,
    )
    for family in FAMILIES:
        assert any(getattr(home, family.name, None) is family.rows for home in homes)


def test_formulation_page_is_the_registry(golden: Golden) -> None:
    text = formulation_markdown()
    golden(FORMULATION, text)
    assert re.findall(r"^### (\w+)$", text, flags=re.MULTILINE) == NAMES


@pytest.mark.parametrize("name", sorted(TINY))
def test_a_family_that_is_not_used_adds_nothing(name: str) -> None:
    assert [family.name for family in active_families(tiny_problem())] == list(ALWAYS)
    # what stands on which instance matters where the loss of one must be survived
    with_it = {"placement": {"survive"}, "spare_on_other_instances": {"placement"}}.get(name, set())
    assert set(build_program(TINY[name]()).families) == {*ALWAYS, name, *with_it}
    bare = build_program(tiny_problem()).variables.groups()
    assert all(bare[group].size == 0 for group in (*BINARIES, "bought", "starts", "changed", "carried", "placed"))


@pytest.mark.parametrize("name", NAMES)
def test_rows_carry_the_family_name_and_are_legal(name: str) -> None:
    program = build_program(TINY.get(name, tiny_problem)())
    row_names = program.families[name].names
    assert row_names
    assert all(re.fullmatch(r"[a-z_]+\[[^\s\]]*\]", row) and row.startswith(f"{name}[") for row in row_names)
    assert len(set(row_names)) == len(row_names)


def test_relaxation_has_no_binary_family_and_no_placement() -> None:
    problem = tiny_problem(spare_replicas=1, min_regions=2, max_gpus=4, survive=("instance",), max_changes=1)
    program = build_program(problem, relaxed=True)
    assert list(program.families) == [*ALWAYS, "max_gpus", "survive"]
    assert all(program.variables.groups()[group].size == 0 for group in (*BINARIES, "placed"))
