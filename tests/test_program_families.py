"""One family = one function = one registry entry = one golden model = one paragraph of documentation.

After a deliberate change of the formulation, run with UPDATE_GOLDEN=1 and read the difference before committing it.
"""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from ortools.math_opt.io.python import mps_converter
from program_instances import TINY_LIMITS, tiny_problem

from optimizer.program import constraints, policy_constraints
from optimizer.program.documentation import formulation_markdown
from optimizer.program.families import FAMILIES, active_families
from optimizer.program.given import Limits
from optimizer.program.model import build_program, hourly_cost, model_proto

GOLDEN = Path(__file__).parent / "golden" / "program"
FORMULATION = Path(__file__).parent.parent / "docs" / "formulation.md"
ALWAYS = tuple(family.name for family in FAMILIES if family.active(Limits(0.8)))
NAMES = [family.name for family in FAMILIES]


def mps(**limits: Any) -> str:
    program = build_program(tiny_problem(**limits))
    return mps_converter.model_proto_to_mps(model_proto(program, hourly_cost(program)))


def held(path: Path, text: str) -> bool:
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", NAMES)
def test_model_of_each_family_is_as_recorded(name: str) -> None:
    assert held(GOLDEN / f"{name}.mps", mps(**TINY_LIMITS.get(name, {}))), f"{name}: model changed"


def test_every_family_has_a_golden_model_and_nothing_else_does() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.mps")) == sorted(NAMES)


def test_every_family_has_its_function_and_its_limits() -> None:
    assert set(NAMES) == {family.rows.__name__ for family in FAMILIES}
    assert set(NAMES) == set(TINY_LIMITS) | set(ALWAYS)
    for family in FAMILIES:
        assert getattr(constraints, family.name, None) or getattr(policy_constraints, family.name)


def test_formulation_page_is_the_registry() -> None:
    text = formulation_markdown()
    assert held(FORMULATION, text), "docs/formulation.md is not what the registry says"
    assert re.findall(r"^### (\w+)$", text, flags=re.MULTILINE) == NAMES


@pytest.mark.parametrize("name", sorted(TINY_LIMITS))
def test_a_family_that_is_not_used_adds_nothing(name: str) -> None:
    assert [family.name for family in active_families(Limits(0.8))] == list(ALWAYS)
    program = build_program(tiny_problem(**TINY_LIMITS[name]))
    assert set(program.families) == {*ALWAYS, name}
    bare = build_program(tiny_problem())
    binaries = ("used", "chosen", "provider_present", "region_present")
    assert all(len(bare.variables.groups()[group]) == 0 for group in binaries)


@pytest.mark.parametrize("name", NAMES)
def test_rows_carry_the_family_name_and_are_legal(name: str) -> None:
    program = build_program(tiny_problem(**TINY_LIMITS.get(name, {})))
    row_names = program.families[name].names
    assert row_names
    assert all(re.fullmatch(r"[a-z_]+\[[^\s\]]*\]", row) and row.startswith(f"{name}[") for row in row_names)
    assert len(set(row_names)) == len(row_names)


def test_relaxation_has_no_binary_family() -> None:
    limits = Limits(0.8, spare_replicas=1, min_regions=2, max_gpus=4)
    assert [family.name for family in active_families(limits, relaxed=True)] == [*ALWAYS, "max_gpus"]
