"""A sweep on a Ray cluster of this machine, where Ray is installed: the same bytes, also when an actor dies."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from optimizer.answers.many.sweep.reading import load_sweep
from optimizer.answers.many.sweep.results import RESULTS
from optimizer.answers.many.sweep.sweep import sweep
from optimizer.base.errors import InputError
from optimizer.inputs.catalog.records import Catalogs

ray: Any = pytest.importorskip("ray")
SWEEP = "scenario: asked.yaml\nover: {policy.confidence: [0.5, 0.6, 0.7, 0.8, 0.9]}\n"
ASKED = """\
name: swept
workloads:
  - {name: chat, model: llama-3.1-8b, requests_per_second: 1, input_tokens: 100, output_tokens: 50}
policy: {gpus: {allow: [l4]}, providers: {allow: [gcp]}, engines: [vllm], precisions: [bf16]}
"""


def actors() -> Iterator[int]:
    """Processes of this machine that answer runs."""
    for said in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if said.read_bytes().startswith(b"ray::RunPlanner"):
                yield int(said.parent.name)


@pytest.mark.slow("starts a cluster, and kills an actor of it")
def test_a_cluster_gives_the_bytes_of_one_process_whoever_dies(catalogs: Catalogs, tmp_path: Path) -> None:
    (tmp_path / "asked.yaml").write_text(ASKED)
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    asked = load_sweep(tmp_path / "sweep.yaml", catalogs)
    killed = list[int]()

    def kill_one(step: str) -> None:
        if step == "run 3 of 5":
            killed.append(next(actors()))
            os.kill(killed[0], signal.SIGKILL)

    one = sweep(asked, output=tmp_path / "one")
    assert sweep(asked, jobs=2, engine="ray", output=tmp_path / "two", progress=kill_one) == one
    assert (tmp_path / "two" / RESULTS).read_text() == (tmp_path / "one" / RESULTS).read_text()
    assert killed
    assert not ray.is_initialized()


def test_an_address_where_nothing_answers_is_told(catalogs: Catalogs, tmp_path: Path) -> None:
    (tmp_path / "asked.yaml").write_text(ASKED)
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    with pytest.raises(InputError, match="--address: no Ray cluster answers at auto"):
        sweep(load_sweep(tmp_path / "sweep.yaml", catalogs), engine="ray", address="auto")
