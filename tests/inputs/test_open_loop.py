"""By how much an open loop may serve less than it offered: its end and chance, never a queue that grew."""

import math
from dataclasses import replace
from itertools import chain

import pytest
from support.paths import ROOT

from optimizer.inputs.importing.load_results.fitness import doubts, unfit
from optimizer.inputs.importing.load_results.fitness import rate_tolerance as result_tolerance
from optimizer.inputs.importing.load_results.reading import read_results
from optimizer.inputs.importing.load_results.record import Load, LoadResult
from optimizer.inputs.open_loop import CHANCE, RATE_TOLERANCE, rate_tolerance, shortfall_tolerance

RESULTS = ROOT / "benchmarks" / "results" / "server"


def test_a_run_lasts_until_its_last_answer() -> None:
    # 400 requests at 8 a second are sent in 50 s; the last answer takes 10 s more
    assert shortfall_tolerance(400, 8, 10) == pytest.approx(1 - 50 / 60 + CHANCE / 20)
    # a long run hardly has an end
    assert shortfall_tolerance(10**6, 8, 10) == pytest.approx(RATE_TOLERANCE + CHANCE / 1000)


def test_what_is_not_known_widens_nothing() -> None:
    assert shortfall_tolerance(math.nan, 8, 10) == RATE_TOLERANCE
    assert shortfall_tolerance(0, 8, 10) == RATE_TOLERANCE
    assert shortfall_tolerance(400, 8, math.nan) == rate_tolerance(400) == pytest.approx(RATE_TOLERANCE + CHANCE / 20)
    assert shortfall_tolerance([400, math.nan], [8, 8], [math.nan, 10]).shape == (2,)


def test_how_long_answers_take_excuses_no_rate_that_is_not_of_a_whole_run() -> None:
    """More than was asked for is told, and a promised rate is held against what was served while requests were sent."""
    answers = {"tpot_ms": {"mean": 100.0}, "output_tokens": 400.0, "requests_completed": 400}
    short = LoadResult("f", "t", load=Load("request_rate", 8.0), requests_failed=0, requests_per_s=9.2, **answers)
    assert doubts(short) == ("served 9.2 requests/s where 8 were asked for",)
    assert result_tolerance(short) == rate_tolerance(400)
    assert not unfit(replace(short, requests_per_s=5.0))
    assert unfit(replace(short, requests_per_s=3.5))


@pytest.mark.skipif(not RESULTS.is_dir(), reason="the results stand in the checkout")
def test_runs_of_a_real_server_may_be_used() -> None:
    found = list(chain.from_iterable(read_results(file) for file in RESULTS.glob("*/*.json")))
    assert len(found) >= 10
    assert not [result.file for result in found if unfit(result) or doubts(result)]
    # 360 requests at 8/s, the last answers 7 s long: 7.3 requests/s are all that were sent
    short = next(result for result in found if "qwen3-30b-a3b-1024x256-rate-8" in result.file)
    assert short.requests_per_s is not None
    assert 1 - short.requests_per_s / 8 > RATE_TOLERANCE + 0.03
