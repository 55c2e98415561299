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

pytestmark = pytest.mark.skipif(not RESULTS.is_dir(), reason="the results stand in the checkout")


def test_the_page_is_what_the_timings_say(catalogs: Catalogs, script: Callable[[str], Any], golden: Golden) -> None:
    golden(PAGE, script("layers").page(catalogs))


def test_no_layer_is_far_from_what_a_card_took(catalogs: Catalogs, script: Callable[[str], Any]) -> None:
    ratios = [float(found) for found in re.findall(r"\| (\d\.\d\d) \|$", script("layers").page(catalogs), re.M)]
    assert len(ratios) > 20
    assert all(1 / FAR < ratio < FAR for ratio in ratios)
