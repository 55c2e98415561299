"""How unevenly a trace's requests arrive is read as queues see it: as it is known of Poisson, batches and waves."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from optimizer import load_scenario
from optimizer.base.arrays import Floats
from optimizer.base.errors import InputError
from optimizer.inputs.scenario.scenario import Workload
from optimizer.inputs.scenario.traces.arrivals import critical_scale_s, squared_variation, step_of_times_s

WINDOW_S = 60.0
HEAD = "name: s\nworkloads:\n  - name: chat\n    model: llama-3.1-8b\n    trace: t.csv\n"


def poisson(seed: int, rate_per_s: float = 5.0, requests: int = 20_000) -> Floats:
    arrived_s = np.cumsum(np.random.default_rng(seed).exponential(1 / rate_per_s, requests))
    first_at_zero: Floats = arrived_s - arrived_s[0]
    return first_at_zero


def in_batches(seed: int, size: int) -> Floats:
    return np.repeat(poisson(seed, 1.0, 4000), size)


def in_waves(seed: int) -> Floats:
    """Two minutes of 12.5 requests a second, five of 5, and so on; Poisson within."""
    slow = poisson(seed)
    in_turn = slow % 600
    faster: Floats = slow // 600 * 420 + np.where(in_turn < 300, in_turn / 2.5, in_turn - 180)
    return faster


@pytest.mark.parametrize("seed", range(5))
def test_requests_that_know_nothing_of_each_other_have_a_variation_of_one(seed: int) -> None:
    for scale_s in (0.1, 1.0, 10.0, 30.0):
        assert squared_variation(poisson(seed), scale_s, WINDOW_S) == 1.0


@pytest.mark.parametrize("size", [2, 5, 20])
def test_batches_of_so_many_have_that_variation(size: int) -> None:
    for scale_s in (0.1, 1.0, 5.0):
        assert squared_variation(in_batches(size, size), scale_s, WINDOW_S) == pytest.approx(size, rel=0.1)


def test_waves_slower_than_a_window_are_left_to_the_rate_of_the_busiest() -> None:
    waves = in_waves(0)
    assert squared_variation(waves, 1.0, WINDOW_S) == pytest.approx(1.0, abs=0.1)
    assert squared_variation(waves, 60.0, 420.0) > 50


def test_a_longer_wait_sees_bursts_that_a_short_one_does_not() -> None:
    """Of requests that come for two of every ten seconds, half a second sees little and five seconds see more."""
    work = poisson(0)
    bursts = work // 2.0 * 10.0 + work % 2.0
    assert squared_variation(bursts, 0.5, WINDOW_S) * 2 < squared_variation(bursts, 5.0, WINDOW_S)


def test_the_scale_grows_with_the_wait_and_with_the_load() -> None:
    assert critical_scale_s(1.0, 2.0, 8.0, 0.8) == pytest.approx(1 / (1 - 0.2))
    assert critical_scale_s(3.0, 8.0, 8.0, 0.8) == pytest.approx(3 / (1 - 0.8))


def test_a_capacity_used_wholly_all_of_the_time_sees_every_burst(loaded: Callable[..., Workload]) -> None:
    """A trace of 34 s has its peak throughout; with a utilization of 1 no capacity is idle: counts over half of it."""
    assert critical_scale_s(1.0, 8.0, 8.0, 1.0) == math.inf
    asked = "    slo: {ttft_ms: 500}\npolicy: {max_utilization: 1}\n"
    assert "over up to 17 s" in str(loaded(poisson(0, requests=150), asked).arrivals)
    assert loaded(np.zeros(1), asked).arrivals is not None


@pytest.mark.parametrize(
    ("arrived_s", "step_s"),
    [(np.floor(poisson(0) / 3) * 3, 3.0), (poisson(0), 0.0), (in_batches(0, 5), 0.0), (np.zeros(30), 0.0)],
)
def test_rounded_times_are_told_from_batches(arrived_s: Floats, step_s: float) -> None:
    assert step_of_times_s(arrived_s) == pytest.approx(step_s)


@pytest.fixture
def loaded(tmp_path: Path) -> Callable[..., Workload]:
    def load(arrived_s: Floats, rest: str = "    slo: {ttft_ms: 500}\n") -> Workload:
        rows = "".join(f"{each:.3f},100,10\n" for each in np.random.default_rng(0).permutation(arrived_s))
        (tmp_path / "t.csv").write_text("arrived_at_s,input_tokens,output_tokens\n" + rows)
        (tmp_path / "s.yaml").write_text(HEAD + rest)
        return load_scenario(tmp_path / "s.yaml").workloads[0]

    return load


def test_a_scenario_with_a_trace_has_its_arrivals_and_says_so(loaded: Callable[..., Workload]) -> None:
    workload = loaded(in_batches(0, 5))
    assert workload.arrival_cv2 == pytest.approx(5, rel=0.1)
    assert workload.arrivals is not None
    assert "counts of the trace over up to 1" in (workload.arrivals.read_from or "")
    calm = loaded(poisson(0, requests=2000)).arrivals
    assert calm is not None
    assert (calm.process, calm.cv2) == ("poisson", None)
    assert "rounded to 3 s" in str(loaded(np.floor(poisson(0, requests=2000) / 3) * 3).arrivals)


@pytest.mark.parametrize(
    ("rest", "cv2", "source"),
    [
        ("    slo: {ttft_ms: 500}\n    arrivals: {cv2: 2}\n", 2.0, None),
        ("    slo: {ttft_ms: 500}\n    arrivals: {process: poisson}\n", 1.0, None),
    ],
)
def test_what_the_scenario_says_of_arrivals_counts(
    loaded: Callable[..., Workload], rest: str, cv2: float, source: str | None
) -> None:
    workload = loaded(in_batches(0, 5), rest)
    assert workload.arrivals is not None
    assert (workload.arrival_cv2, workload.arrivals.read_from) == (cv2, source)


def test_where_nobody_waits_nothing_is_read(loaded: Callable[..., Workload]) -> None:
    assert loaded(in_batches(0, 5), "").arrivals is None


def test_the_wait_is_that_of_the_first_token_else_of_the_answer(loaded: Callable[..., Workload]) -> None:
    arrived_s = poisson(0, requests=200)
    waits = {
        "{ttft_ms: {p50: 100, p99: 900}, e2e_ms: 5000}": 0.9,
        "{e2e_ms: 5000, tpot_ms: 50}": 5.0,
        "{tpot_ms: 50}": 0.5,
    }
    for slo, wait_s in waits.items():
        assert loaded(arrived_s, f"    slo: {slo}\n").longest_wait_s == pytest.approx(wait_s)


def test_bursts_beyond_any_plan_are_refused_with_the_field(loaded: Callable[..., Workload]) -> None:
    with pytest.raises(InputError, match="larger bursts than a plan can count on"):
        loaded(np.zeros(3000))
