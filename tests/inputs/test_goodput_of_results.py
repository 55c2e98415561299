"""What a generator counted as within limits is read with the limits that it counted, and labels with their run."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT

from optimizer.inputs.importing.load_results.reading import read_results
from optimizer.inputs.importing.load_results.record import Goodput, LoadResult

RESULTS = ROOT / "tests" / "data" / "load_results"


def read(folder: Path, name: str, **changed: Any) -> LoadResult:
    """A sample with some fields changed."""
    path = folder / name
    path.write_text(json.dumps({**json.loads((RESULTS / name).read_text(encoding="utf-8")), **changed}))
    (result,) = read_results(path)
    return result


VLLM = "vllm_0.33.0_bench_serve.json"
SGLANG = "sglang_0.5.23_bench_serving.jsonl"


def test_vllm_says_its_limits_only_by_a_label(tmp_path: Path) -> None:
    assert read(tmp_path, VLLM).goodput is None
    found = read(tmp_path, VLLM, goodput="ttft:500,e2el:9000").goodput
    assert found == Goodput(round(4.901 * 121.4), {"ttft_ms": 500.0, "e2e_ms": 9000.0})


@pytest.mark.parametrize("label", ["ttft", "ttft:much", "ttft:nan", "itl:5", "", ":"])
def test_a_label_without_limits_is_no_goodput(tmp_path: Path, label: str) -> None:
    assert read(tmp_path, VLLM, goodput=label).goodput is None


def test_sglang_says_its_limits_and_its_tag_holds_labels(tmp_path: Path) -> None:
    found = read(tmp_path, SGLANG, goodput_slos_ms={"ttft": 460.0}, request_goodput=4.9, tag="plan=x,gpu=l4,tp=2")
    assert found.goodput == Goodput(round(4.9 * 121.0), {"ttft_ms": 460.0})
    assert found.metadata == {"plan": "x", "gpu": "l4", "tp": "2"}
    assert (found.gpu, found.tp) == ("l4", 1), "what the server says of itself goes before a label"
    assert read(tmp_path, SGLANG, tag="nightly").metadata == {"tag": "nightly"}


def test_guidellm_and_aiperf_hold_their_objectives(tmp_path: Path) -> None:
    assert read(tmp_path, "guidellm_0.8.1_benchmarks.json").goodput == Goodput(52, {"ttft_ms": 500.0})
    aiperf = read(tmp_path, "aiperf_0.13.0_profile_export_aiperf.json")
    assert aiperf.goodput == Goodput(24, {"ttft_ms": 500.0, "tpot_ms": 50.0})
    assert aiperf.burstiness == 1.0
    config = json.loads((RESULTS / "aiperf_0.13.0_profile_export_aiperf.json").read_text())["input_config"]
    gamma = [{**config["phases"][0], "type": "gamma", "smoothness": 0.25}]
    found = read(tmp_path, "aiperf_0.13.0_profile_export_aiperf.json", input_config={**config, "phases": gamma})
    assert found.burstiness == 0.25
