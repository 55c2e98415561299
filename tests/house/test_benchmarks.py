"""Every benchmark that is run says how: `--help` tells what it does and what may be given, and runs nothing."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from support.paths import ROOT

Script = Callable[[str], Any]

NEEDS = {"engine": "vllm", "kernels": "torch"}
"""What a script asks of the machine that it is run on, beyond this project."""

RUN = sorted(
    file.stem for file in (ROOT / "benchmarks").glob("*.py") if "def main(" in file.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", RUN)
def test_a_benchmark_says_how_it_is_run(
    name: str, script: Script, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    module = script(name)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--help"])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 0
    assert (module.__doc__ or "").split(".")[0][:60] in capsys.readouterr().out.replace("\n", " ")
