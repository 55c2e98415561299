"""`optimizer sweep`: what it prints, how it ends, and what Ctrl-C leaves."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.command import Command
from support.paths import ROOT

SCENARIO = """\
name: small
workloads:
  - {name: chat, model: llama-3.1-8b, requests_per_second: 1, input_tokens: 100, output_tokens: 50}
policy: {gpus: {allow: [l4]}, providers: {allow: [gcp]}, engines: [vllm], precisions: [bf16]}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two runs, and room for many."""
    (tmp_path / "small.yaml").write_text(SCENARIO)
    (tmp_path / "sweep.yaml").write_text("scenario: small.yaml\nover: {policy.confidence: [0.5, 0.9]}\n")
    return tmp_path / "sweep.yaml"


def test_what_it_prints_and_writes_is_the_same(optimizer: Command, file: Path, tmp_path: Path) -> None:
    found = optimizer("sweep", str(file), "--jobs", "1", "--format", "json", "--output", str(tmp_path / "out"))
    assert (found.code, found.err) == (0, "")
    lines = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == json.loads(found.out)["rows"]
    text = optimizer("sweep", str(file), "--jobs", "1", "--output", str(tmp_path / "out"))
    assert (text.code, text.out.splitlines()[1]) == (0, f"All of it: {tmp_path / 'out' / 'results.jsonl'}")


def test_a_run_that_was_cut_short_is_exit_code_4_and_bad_input_2(optimizer: Command, file: Path) -> None:
    at_rate = 'scenario: small.yaml\nover: {"workloads[chat].requests_per_second": [23]}\n'
    short = file.with_name("short.yaml")
    short.write_text(at_rate)
    assert optimizer("sweep", str(short), "--jobs", "1", "--work-limit", "1").code == 4
    assert optimizer("sweep", str(file), "--jobs", "1", "--output", str(file)).code == 2
    file.write_text("scenario: small.yaml\nover: {policy.max_gpu: [1]}\n")
    wrong = optimizer("sweep", str(file))
    assert wrong.code == 2
    assert wrong.err.startswith(f"error: {file}:2: policy.max_gpu: unknown field (did you mean max_gpus")


@pytest.mark.slow("starts the command and its processes")
def test_ctrl_c_ends_all_processes_and_keeps_what_is_finished(file: Path, tmp_path: Path) -> None:
    rates = ", ".join(str(rate / 10) for rate in range(1, 80))
    file.write_text(f'scenario: small.yaml\nover: {{"workloads[chat].requests_per_second": [{rates}]}}\n')
    partial = tmp_path / "out" / "results.partial.jsonl"
    started = subprocess.Popen(
        [sys.executable, "-m", "optimizer", "sweep", str(file), "--jobs", "2", "--output", str(partial.parent)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    while started.poll() is None and not (partial.exists() and partial.read_text().count("\n") > 2):
        time.sleep(0.05)
    os.killpg(started.pid, signal.SIGINT)
    # the pipes close when the last process has ended
    said, complained = started.communicate(timeout=30)
    assert (started.returncode, said) == (130, b"")
    assert b"Traceback" not in complained
    assert all(json.loads(line)["outcome"] == "optimal" for line in partial.read_text().splitlines())
