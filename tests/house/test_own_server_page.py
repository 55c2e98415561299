"""docs/own-server.md is what the stored runs say beside what was predicted of them, and the intervals held them."""

from collections.abc import Callable
from typing import Any

import pytest
from support.golden import Golden
from support.paths import ROOT

RESULTS = ROOT / "benchmarks" / "results" / "server"
PAGE = ROOT / "docs" / "own-server.md"

pytestmark = pytest.mark.skipif(not RESULTS.is_dir(), reason="the results stand in the checkout")


def test_the_page_is_what_the_runs_say(script: Callable[[str], Any], golden: Golden) -> None:
    golden(PAGE, script("own_server").page())


def test_nine_of_ten_figures_lie_within_their_intervals(script: Callable[[str], Any]) -> None:
    found = [each for _, run in script("own_server").compared(RESULTS / "h200-sxm") for each in run]
    assert len(found) == 40
    assert sum(each.inside for each in found) >= 36
