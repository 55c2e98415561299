"""Mélange's example costs what is known, rivals never cost less than our plan, and what the page shows is measured."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.golden import Golden
from support.paths import ROOT

from optimizer.base.errors import InputError
from optimizer.base.units import HOURS_PER_MONTH
from optimizer.program.solve import solve

Script = Callable[[str], Any]

pytestmark = pytest.mark.skipif(not (ROOT / "benchmarks").is_dir(), reason="the benchmarks stand in the checkout")


def test_melanges_example_costs_4_68_and_in_slices_6_70(script: Script) -> None:
    instances, slice_ilp = script("instances"), script("slice_ilp")
    instance = instances.from_melange(instances.README_EXAMPLE)
    solution = solve(instances.problem_of(instance))
    assert solution.outcome == "optimal"
    assert (solution.cost_usd_per_month or 0.0) / HOURS_PER_MONTH == pytest.approx(4.68)
    assert slice_ilp.solve_in_slices(instance, 1, "CBC", 10.0).cost_usd_per_hour == pytest.approx(6.70)


@pytest.mark.parametrize("kind", ["unrelated", "small_steps", "heavy_tailed"])
def test_slices_never_cost_less(kind: str, script: Script) -> None:
    instances, slice_ilp = script("instances"), script("slice_ilp")
    instance = getattr(instances, kind)(3, 4, 5.0, 0)
    ours = (solve(instances.problem_of(instance)).cost_usd_per_month or 0.0) / HOURS_PER_MONTH
    assert ours <= slice_ilp.solve_in_slices(instance, 2, "CBC", 10.0).cost_usd_per_hour * (1 + 1e-9)


def test_a_file_that_is_no_configuration_is_refused(script: Script, tmp_path: Path) -> None:
    instances, path = script("instances"), tmp_path / "wrong.json"
    path.write_text('{"gpu_info": {}}', encoding="utf-8")
    with pytest.raises(InputError, match=r"wrong\.json"):
        instances.read_melange(path)


def test_the_page_shows_its_results(script: Script, golden: Golden) -> None:
    results = json.loads((ROOT / "benchmarks" / "results" / "scaling.json").read_text(encoding="utf-8"))
    golden(ROOT / "docs" / "performance.md", script("performance_page").page(results, "python benchmarks/scaling.py"))


def test_every_part_is_measured_and_stands_on_the_page(script: Script) -> None:
    scaling = script("scaling")
    scaled = [
        scaling.solved(scaling.Case(axis, size, candidates=size, classes=2, replicas=4.0), 10.0)
        for axis, size in (("candidates", 4), ("candidates", 8), ("target", 8))
    ]
    split = scaling.split("unrelated", 6, 3, 0, 10.0)
    pair = scaling.paired("small_steps", 4, 0, 1.0)
    assert all(row["gap_percent"] is not None for row in scaled)
    # both are proven within a tenth of a percent of the same optimum
    assert split["ours"]["usd_per_hour"] == pytest.approx(split["plain"]["usd_per_hour"], rel=2 * scaling.RELATIVE_GAP)
    result = {
        "machine": dict.fromkeys(("cores", "system", "python", "ortools", "numpy"), "any"),
        "limit_s": 10.0,
        "rival_limit_s": 1.0,
    }
    written = scaling.page(result | {"scaling": scaled, "pairs": [pair], "split": [split]}, "a test")
    assert "## Against the plain program" in written
    assert "| unrelated 0 | 6 | 3 |" in written
