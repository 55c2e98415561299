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


@pytest.mark.parametrize(
    ("card", "figures", "inside"), [("h100-sxm", 28, 24), ("h200-sxm", 40, 37), ("h200-sxm-fp8", 36, 32)]
)
def test_so_many_figures_lie_within_their_intervals(
    card: str, figures: int, inside: int, script: Callable[[str], Any]
) -> None:
    found = [each for _, run in script("own_server").compared(RESULTS / card) for each in run]
    assert (len(found), sum(each.inside for each in found)) == (figures, inside)
