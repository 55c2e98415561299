"""The requests of a trace stay in the scenario, those that come fastest, and are read again as they were."""

import json
from pathlib import Path

import numpy as np
import pytest

from optimizer import load_scenario
from optimizer.inputs.scenario.demand import MOST_REQUESTS, RecordedRequests
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.inputs.scenario.traces.blocks import prompt_blocks
from optimizer.inputs.scenario.traces.requests import TraceRequests, kept_requests, recorded_requests


def requests_at(arrived_s: np.ndarray) -> TraceRequests:
    """Requests that can be told apart by their prompts."""
    number = np.arange(len(arrived_s))
    return TraceRequests(arrived_s, number + 1, np.full(len(number), 7))


def text(requests: str, block_tokens: int | None = None) -> RecordedRequests:
    means = {"peak_requests_per_second": 1.0, "input_tokens": 10, "output_tokens": 5}
    return RecordedRequests.model_validate(means | {"requests": requests, "block_tokens": block_tokens})


def test_a_text_is_gaps_and_lengths() -> None:
    kept = kept_requests(text("0/10/5 1500/20/6 0/1/1"))
    assert kept.arrived_s.tolist() == [0.0, 1.5, 1.5]
    assert kept.input_tokens.tolist() == [10, 20, 1]
    assert kept.output_tokens.tolist() == [5, 6, 1]


def test_rounding_to_milliseconds_does_not_add_up() -> None:
    arrived_s = np.cumsum(np.full(5000, 0.0014))
    found = recorded_requests(1.0, (10, 7), requests_at(arrived_s))
    assert found is not None
    assert np.abs(kept_requests(found).arrived_s - (arrived_s - arrived_s[0])).max() <= 0.0005 + 1e-9


def test_of_a_long_trace_the_fastest_stretch_is_kept() -> None:
    """Ten times as fast in the middle, where just as many requests come as are kept."""
    slow = np.full(4000, 1.0)
    gaps = np.concatenate([slow, np.full(MOST_REQUESTS, 0.1), slow])
    found = recorded_requests(10.0, (10, 7), requests_at(np.cumsum(gaps)))
    assert found is not None
    kept = kept_requests(found)
    assert len(kept.arrived_s) == MOST_REQUESTS
    assert kept.input_tokens[0] == 4000
    assert kept.arrived_s[-1] == pytest.approx((MOST_REQUESTS - 1) * 0.1)


def test_requests_of_one_moment_are_no_record() -> None:
    assert recorded_requests(1.0, (10, 7), requests_at(np.zeros(30))) is None


def test_prompts_begin_as_they_did() -> None:
    """Of seven prompts some begin as an earlier one, or as one that begins as another itself."""
    hashes = [[1, 2, 3], [1, 2, 4, 5], [6], [1, 2, 4, 7], [6, 8], [1, 2, 3], [9, 10]]
    tokens = np.array([10 * len(each) - 3 for each in hashes])
    blocks = prompt_blocks(hashes, tokens)
    asked = TraceRequests(np.arange(7.0), tokens, np.full(7, 5), blocks)
    found = recorded_requests(1.0, (20, 5), asked)
    assert found is not None
    assert [each.split("/")[3:] for each in found.requests.split()] == [
        [],
        ["1:2"],
        [],
        ["2:3"],
        ["2:1"],
        ["5:3"],
        [],
    ]
    kept = kept_requests(found).blocks
    assert kept is not None
    assert kept.each() == blocks.each()
    assert (kept.block_tokens, kept.repeated.tolist()) == (blocks.block_tokens, blocks.repeated.tolist())


@pytest.mark.parametrize(
    "requests", ["0/10/5 5/10/5/2:1", "0/10/5 5/10/5/1:3", "0/30/5 5/10/5/1:3", "0/10/5/0:1 5/10/5"]
)
def test_prompts_that_begin_as_none_before_them_are_refused(requests: str) -> None:
    with pytest.raises(ValueError, match="begins with more blocks than it has"):
        text(requests, block_tokens=5)


@pytest.mark.parametrize(
    "requests",
    [
        "",
        "0/1/1",
        "0/1/1 0/1/1",
        "0/1/1 5/0/1",
        "0/1/1 5/1/99999999",
        "0/1 5/1",
        "0/1/1  5/1/1",
        "a/b/c",
        "-1/2/3 4/5/6",
    ],
)
def test_other_texts_are_refused(requests: str) -> None:
    with pytest.raises(ValueError, match="requests"):
        text(requests)


def test_a_scenario_keeps_its_record_wherever_it_is_written(tmp_path: Path) -> None:
    rows = "".join(f"{each:.3f},{100 + n},10\n" for n, each in enumerate(np.arange(50) * 0.5))
    (tmp_path / "t.csv").write_text("arrived_at_s,input_tokens,output_tokens\n" + rows)
    asked = {"name": "chat", "model": "llama-3.1-8b", "trace": "t.csv", "slo": {"ttft_ms": 500}}
    (tmp_path / "s.json").write_text(json.dumps({"name": "s", "workloads": [asked]}))
    scenario = load_scenario(tmp_path / "s.json")
    again = Scenario.model_validate(scenario.model_dump(mode="json", exclude_defaults=True))
    (own,), (other,) = scenario.workloads, again.workloads
    assert own.arrivals is not None
    assert own.arrivals.recorded is not None
    assert own.arrivals == other.arrivals
    assert kept_requests(own.arrivals.recorded).input_tokens.tolist() == [100 + n for n in range(50)]
    assert own.arrivals.recorded.input_tokens == own.classes()[0].input_tokens
