"""By how much an open loop may serve less than it offered: its end and chance, never a queue that grew."""

import math
from itertools import chain

import pytest
from support.paths import ROOT

from optimizer.inputs.importing.load_results.fitness import doubts, unfit
from optimizer.inputs.importing.load_results.reading import read_results
from optimizer.inputs.open_loop import CHANCE, RATE_TOLERANCE, rate_tolerance

RESULTS = ROOT / "benchmarks" / "results" / "server"


def test_a_run_lasts_until_its_last_answer() -> None:
    # 400 requests at 8 a second are sent in 50 s; the last answer takes 10 s more
    assert rate_tolerance(400, 8, 10) == pytest.approx(1 - 50 / 60 + CHANCE / 20)
    # a long run hardly has an end
    assert rate_tolerance(10**6, 8, 10) == pytest.approx(RATE_TOLERANCE + CHANCE / 1000)


def test_what_is_not_known_widens_nothing() -> None:
    assert rate_tolerance(math.nan, 8, 10) == RATE_TOLERANCE
    assert rate_tolerance(0, 8, 10) == RATE_TOLERANCE
    assert rate_tolerance(400, 8, math.nan) == pytest.approx(RATE_TOLERANCE + CHANCE / 20)
    assert rate_tolerance([400, math.nan], [8, 8], [math.nan, 10]).shape == (2,)


@pytest.mark.skipif(not RESULTS.is_dir(), reason="the results stand in the checkout")
def test_runs_of_a_real_server_may_be_used() -> None:
    found = list(chain.from_iterable(read_results(file) for file in RESULTS.glob("*/*.json")))
    assert len(found) >= 10
    assert not [result.file for result in found if unfit(result) or doubts(result)]
    # 360 requests at 8/s, the last answers 7 s long: 7.3 requests/s are all that were sent
    short = next(result for result in found if "qwen3-30b-a3b-1024x256-rate-8" in result.file)
    assert short.requests_per_s is not None
    assert 1 - short.requests_per_s / 8 > RATE_TOLERANCE + 0.03
