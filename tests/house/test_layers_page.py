"""docs/layers.md is what the stored timings say beside the calibration, and no predicted layer is far from its card."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from support.golden import Golden
from support.paths import ROOT

from optimizer.inputs.catalog.records import Catalogs

RESULTS = ROOT / "benchmarks" / "results" / "kernels"
PAGE = ROOT / "docs" / "layers.md"
FAR = 1.25
LONG = 1024

pytestmark = pytest.mark.skipif(not RESULTS.is_dir(), reason="the results stand in the checkout")


def test_the_page_is_what_the_timings_say(catalogs: Catalogs, script: Callable[[str], Any], golden: Golden) -> None:
    golden(PAGE, script("layers").page(catalogs))


def rows(page: str, kind: str) -> list[list[str]]:
    """The table of a format, a list of cells a row."""
    section = page.partition(f"## In {kind} bits")[2].partition("\n## ")[0]
    return [re.split(r" *\| *", line)[1:-1] for line in re.findall(r"^\| h\d.*$", section, re.M)]


def test_no_layer_is_far_from_what_a_card_took(catalogs: Catalogs, script: Callable[[str], Any]) -> None:
    ratios = [float(cells[-1]) for cells in rows(script("layers").page(catalogs), "16")]
    assert len(ratios) > 40
    assert all(1 / FAR < ratio < FAR for ratio in ratios)


def test_no_prompt_in_8_bits_is_far_where_its_products_are_what_takes_long(
    catalogs: Catalogs, script: Callable[[str], Any]
) -> None:
    """Of fewer tokens prompts are predicted too fast by more than that, by half at worst, since what passes between
    products is charged to nobody. Of sequences the library's products are no evidence of an engine's."""
    found = [
        (re.search(r"a prompt of ([\d,]+)", cells[2]), cells[-1])
        for cells in rows(script("layers").page(catalogs), "8")
    ]
    ratios = [float(ratio) for prompt, ratio in found if prompt and int(prompt[1].replace(",", "")) >= LONG]
    assert len(ratios) == 10
    assert all(1 / FAR < ratio < FAR for ratio in ratios)
