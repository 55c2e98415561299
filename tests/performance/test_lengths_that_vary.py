"""Percentiles over requests of several lengths are those of drawn requests, in formulas and in the simulation."""

from dataclasses import replace

import numpy as np
import pytest

from optimizer.base.arrays import Floats
from optimizer.inputs.catalog.records import Catalogs
from optimizer.performance.candidates.predict import (
    LatencyLimits,
    Lengths,
    Mix,
    almost_idle,
    bounded,
    operate,
    sustainable_rate,
)
from optimizer.performance.physics.line import Line
from optimizer.performance.physics.queueing import QUANTILES, STATISTICS, Wait
from optimizer.performance.physics.setup import Configuration, Setup, gather
from optimizer.performance.simulation.arrivals import Classes, Kinds, renewal
from optimizer.performance.uncertainty.evidence import Margins

PROMPTS, ANSWERS, SHARES = np.array([500.0, 4000.0, 30000.0]), np.array([50.0, 400.0, 200.0]), np.array([0.6, 0.3, 0.1])
KINDS = Lengths(np.zeros(3, dtype=np.int64), SHARES, PROMPTS, ANSWERS)
VARIED = Mix(np.array([SHARES @ PROMPTS]), np.array([SHARES @ ANSWERS]), np.array([1.0]), 0.0, lengths=KINDS)
RATE = np.array([1.5])
MARGINS = Margins.same(ttft=1.3, tpot=1.2, throughput=1.1)


@pytest.fixture(scope="module")
def setup(catalogs: Catalogs) -> Setup:
    return gather(catalogs, [Configuration("vllm", "llama-3.1-8b", "h100-sxm", "bf16", "bf16", 1, 1)])


@pytest.fixture(scope="module")
def line() -> Line:
    """Two waits of two replicas, of which one or the other happens more often."""
    prompts = Wait(np.array([0.6, 0.05]), np.array([0.8, 0.3]))
    return Line(prompts, Wait(np.array([0.02, 0.4]), np.array([5.0, 2.0])))


def drawn_waits(line: Line, row: int) -> Floats:
    """Evenly over all requests, by the percentiles that a line has at every share of them."""
    rest = 1 - (np.arange(200_000) + 0.5) / 200_000
    parts = [
        each.mean_if_any[row] * np.log(np.maximum(each.probability[row] / rest, 1.0))
        for each in (line.prompts, line.place)
    ]
    return np.hypot(*parts)


def test_the_share_that_waits_longer_is_the_percentile_turned_round(line: Line) -> None:
    for name, share in QUANTILES.items():
        waited, at_all = line.statistic(name), [0.6, 0.4]
        assert line.later(waited[:, None])[:, 0] == pytest.approx(np.where(waited > 0, 1 - share, at_all), rel=1e-6)
    for row in range(2):
        waits = drawn_waits(line, row)
        for seconds in (0.01, 0.5, 3.0, 12.0):
            late = line.later(np.full((2, 1), seconds))[row, 0]
            assert late == pytest.approx(np.mean(waits > seconds), abs=1e-5)
    assert np.all(line.later(np.full((2, 3), -1.0)) == 1)
    assert line.times(np.array([2.0, 3.0])).statistic("p99") == pytest.approx(line.statistic("p99") * [2, 3])


def test_percentiles_are_those_of_requests_drawn_by_their_lengths(setup: Setup) -> None:
    point = operate(setup, VARIED, RATE)
    waits = drawn_waits(point.requests.line, 0)
    own_s = np.random.default_rng(0).permutation(np.repeat(point.start_s[0], np.round(SHARES * 200_000).astype(int)))
    for name, share in QUANTILES.items():
        assert point.ttft_s[name][0, 0] == pytest.approx(np.quantile(waits + own_s, share), rel=0.02)
    assert point.ttft_s["mean"][0, 0] == pytest.approx(SHARES @ point.start_s[0] + point.requests.line.mean[0])


def test_requests_of_one_length_are_what_they_were_without_any(setup: Setup) -> None:
    alike = Mix(np.array([2000.0]), np.array([200.0]), np.array([1.0]), 0.25)
    kinds = Lengths(np.zeros(2, dtype=np.int64), np.array([0.5, 0.5]), np.full(2, 2000.0), np.full(2, 200.0))
    one, other = (bounded(setup, mix, RATE, MARGINS) for mix in (alike, replace(alike, lengths=kinds)))
    for name in STATISTICS:
        assert other.ttft_s[name] == pytest.approx(one.ttft_s[name], rel=1e-6)
        assert other.e2e_s[name] == pytest.approx(one.e2e_s[name], rel=1e-6)
        assert other.tpot_s[name] == pytest.approx(one.tpot_s[name], rel=1e-6)


def test_a_rate_is_the_last_at_which_the_percentile_over_all_lengths_holds(setup: Setup) -> None:
    for limits in (({}, {"p90": 8.0}), ({"p50": 0.4, "p99": 4.0}, {"p50": 3.0, "p99": 30.0})):
        ttft_s, e2e_s = limits
        asked = LatencyLimits(ttft_s, {}, e2e_s, MARGINS)
        rate = sustainable_rate(setup, VARIED, asked).rate_per_s
        below, above = (bounded(setup, VARIED, rate * factor, MARGINS) for factor in (0.999, 1.001))
        assert rate[0] > 0
        for point, holds in ((below, True), (above, False)):
            found = [(point.ttft_s[name][0, 0], limit) for name, limit in ttft_s.items()]
            found += [(point.e2e_s[name][0, 0], limit) for name, limit in e2e_s.items()]
            kept = all(seconds <= limit for seconds, limit in found)
            assert kept is holds or (not holds and not point.stable[0])


def test_a_limit_that_lets_no_request_wait_is_none_to_serve_under(setup: Setup) -> None:
    """The longest tenth alone takes longer than the limit on nine of ten: every other request has to keep it."""
    idle_s = operate(setup, VARIED, np.zeros(1)).start_s[0]
    assert idle_s[2] * MARGINS.ttft[0] > 1.2
    assert idle_s[1] * MARGINS.ttft[0] < 1.2
    asked = LatencyLimits({"p90": 1.2}, {}, {}, MARGINS)
    assert sustainable_rate(setup, VARIED, asked).rate_per_s[0] == 0
    assert almost_idle(setup, VARIED, MARGINS, ("p90",)).ttft_s["p90"][0, 0] > 1.2


def test_classes_keep_their_own_percentiles_beside_each_other(setup: Setup) -> None:
    """A class of short requests that vary, and one of long ones that are alike."""
    kinds = Lengths(
        np.array([0, 0, 1]), np.array([0.5, 0.5, 1.0]), np.array([100.0, 300.0, 9000.0]), np.array([20.0, 40.0, 300.0])
    )
    mix = Mix(np.array([200.0, 9000.0]), np.array([30.0, 300.0]), np.array([0.8, 0.2]), 0.0, lengths=kinds)
    point = operate(setup, mix, RATE)
    assert point.ttft_s["p95"].shape == (1, 2)
    longest_s = point.start_s[0, 2] + point.requests.line.statistic("p95")[0]
    assert point.ttft_s["p95"][0, 1] == pytest.approx(longest_s, rel=1e-6)
    assert point.ttft_s["p95"][0, 0] < longest_s
    own = replace(mix, share=np.array([[0.8, 0.2], [0.2, 0.8]]))
    both = operate(setup.take(np.array([0, 0])), own, np.repeat(RATE, 2))
    assert both.ttft_s["p95"][0] == pytest.approx(point.ttft_s["p95"][0])
    assert np.all(both.ttft_s["mean"][1] > both.ttft_s["mean"][0])


def test_simulated_requests_have_the_lengths_of_their_class() -> None:
    kinds = Kinds(SHARES, PROMPTS.astype(np.int64), ANSWERS.astype(np.int64))
    classes = Classes(np.array([0.5, 0.5]), np.array([10, 4500]), np.array([5, 165]), {1: kinds})
    stream = renewal(np.random.default_rng(0), classes, 1.0, 20_000, 1.0)
    mine = stream.request_class == 1
    assert set(stream.input_tokens[~mine]) == {10}
    for length, answer, share in zip(PROMPTS, ANSWERS, SHARES, strict=True):
        found = mine & (stream.input_tokens == length) & (stream.output_tokens == answer)
        assert found.sum() / mine.sum() == pytest.approx(share, abs=0.02)
