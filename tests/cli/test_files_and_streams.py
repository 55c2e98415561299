"""Files and streams as users have them: full, closed, protected, links, devices, or the input itself."""

import errno
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command import Command
from support.expositions import Served
from support.load_results import SAMPLES
from support.paths import ROOT

from optimizer.answers.catalog.snapshot import snapshot
from optimizer.base import files
from optimizer.base.errors import InputError
from optimizer.cli.commands import COMMANDS
from optimizer.plan.record.report import PlanReport
from optimizer.report.export import as_json

SCENARIO = """\
name: small
workloads:
  - {name: chat, model: llama-3.1-8b, requests_per_second: 1, input_tokens: 100, output_tokens: 50}
"""
BAD = "name: small\nworkloads:\n" + "  - {name: 1}\n" * 100


def started(shell: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """A line of a shell in which $O is `optimizer`, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "O": f"{sys.executable} -m optimizer"}
    return subprocess.run(
        ["bash", "-c", shell], cwd=folder, env=environment, capture_output=True, timeout=60, check=False
    )


def test_what_cannot_be_written_is_named_and_no_option_that_nobody_gave(optimizer: Command, tmp_path: Path) -> None:
    refused = optimizer("gate", "ci-gate", "--junit", str(tmp_path))
    assert (refused.code, refused.err) == (2, f"error: {tmp_path}: is a folder\n")


def test_a_full_disk_leaves_the_old_file(optimizer: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    output = tmp_path / "schema.json"
    output.write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    result = optimizer("schema", "scenario", "--output", str(output))
    assert (result.code, result.err) == (2, f"error: {output}: cannot be written: No space left on device\n")
    assert output.read_text() == "old"
    assert os.listdir(tmp_path) == ["schema.json"]


def test_what_is_written_has_the_mode_of_what_was_there_and_links_stay(optimizer: Command, tmp_path: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target.name)
    assert optimizer("schema", "scenario", "--output", str(link)).code == 0
    assert link.is_symlink()
    assert json.loads(target.read_text())["title"]
    assert target.stat().st_mode & 0o777 == 0o640


@pytest.fixture(scope="module")
def texts(planned: Callable[[str], PlanReport]) -> dict[str, str]:
    """A file of every kind that commands read, and what each says."""
    lengths = "input_tokens: 100, output_tokens: 50"
    attached = SCENARIO.replace(f"requests_per_second: 1, {lengths}", "trace: t.csv")
    measurements = (ROOT / "catalogs" / "measurements.csv").read_text(encoding="utf-8").splitlines()[:3]
    return {
        "s.yaml": SCENARIO,
        "attached.yaml": attached,
        "t.csv": "arrived_at_s,input_tokens,output_tokens\n0,100,50\n1,90,40\n",
        "p.json": as_json(planned("chat-8b")),
        "a.prom": Served(requests=10).text(),
        "r.jsonl": (SAMPLES / "sglang_0.5.23_bench_serving.jsonl").read_text(encoding="utf-8"),
        "m.csv": "\n".join([*measurements, ""]),
        "snapshot.json": as_json(snapshot(None)),
        "other/s.yaml": SCENARIO,
        "own/sources.csv": "id,title,licence,as_of\nmine,Mine,none,2026-11-20\n",
    }


@pytest.fixture
def inputs(texts: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Those files in the folder where the commands are started, and what each holds."""
    monkeypatch.chdir(tmp_path)
    Path("own").mkdir()
    Path("other").mkdir()
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    return {name: Path(name).read_bytes() for name in texts}


OVER_INPUTS = [
    "plan s.yaml --output s.yaml",
    "plan s.yaml --certificate s.yaml",
    "plan attached.yaml --output t.csv",
    "lifecycle s.yaml --output s.yaml",
    "report s.yaml --output s.yaml",
    "why-not s.yaml --gpu l4 --output s.yaml",
    "frontier s.yaml --sweep max_gpus=1:2:2 --output s.yaml",
    "compare s.yaml --by gpu --output s.yaml",
    "simulate s.yaml --output s.yaml",
    "simulate p.json --output p.json",
    "simulate s.yaml --trace t.csv --output t.csv",
    "gate s.yaml --output s.yaml",
    "gate s.yaml --junit s.yaml",
    "gate s.yaml --comment s.yaml",
    "experiment s.yaml --output s.yaml",
    "horizon s.yaml --output s.yaml",
    "risk s.yaml --output s.yaml",
    "portfolio other --output other/s.yaml",
    "replan s.yaml --baseline p.json --output s.yaml",
    "replan s.yaml --baseline p.json --output p.json",
    "verify p.json --output p.json",
    "check r.jsonl --plan p.json --output r.jsonl",
    "check r.jsonl --plan p.json --output p.json",
    "check r.jsonl --plan p.json --junit p.json",
    "watch p.json --metrics a.prom --output a.prom",
    "watch p.json --metrics a.prom --output p.json",
    "predict --batch m.csv --output m.csv",
    "calibrate m.csv --output m.csv",
    "validate m.csv --output m.csv",
    "measurements import r.jsonl --gpu h100-sxm --output r.jsonl",
    "catalog list gpus --catalogs own --output own/sources.csv",
    "catalog show h100-sxm --catalogs own --output own/sources.csv",
    "catalog check --catalogs own --output own/sources.csv",
    "catalog snapshot --catalogs own --output own/sources.csv",
    "catalog diff snapshot.json shipped --output snapshot.json",
    "catalog diff own shipped --output own/sources.csv",
]
WRITE_OVER_NO_INPUT = {
    "init": "reads nothing, and asks before it writes over anything",
    "schema": "reads nothing",
    "export": "writes a folder",
    "benchmark": "writes a folder",
    "sweep": "writes a folder, and goes on with the rows in it",
    "mcp": "writes nothing",
    "serve": "writes nothing",
    "catalog import": "writes a folder",
    "catalog add-model": "writes a folder",
    "catalog update": "writes a folder, and joins rows to the files in it",
}


@pytest.mark.parametrize(
    ("command", "spelled"),
    [*((each, "link.svg") for each in OVER_INPUTS), *((OVER_INPUTS[0], each) for each in ("{}", "./other/../{}"))],
)
def test_no_command_writes_over_its_input(
    command: str, spelled: str, optimizer: Command, inputs: dict[str, bytes]
) -> None:
    *words, read = command.split()
    Path("link.svg").symlink_to(read)
    result = optimizer(*words, spelled.format(read))
    assert result.code == 2
    assert f"is an input of this command, read as {read} (write to another file)" in result.err
    assert {name: Path(name).read_bytes() for name in inputs} == inputs


@pytest.mark.parametrize("command", ["compare s.yaml --by gpu --chart", "validate m.csv --plot"])
def test_no_drawing_is_written_over_an_input(command: str, optimizer: Command, inputs: dict[str, bytes]) -> None:
    read = command.split()[1]
    Path("link.svg").symlink_to(read)
    result = optimizer(*command.split(), "link.svg")
    assert result.code == 2
    assert f"is an input of this command, read as {read}" in result.err
    assert Path(read).read_bytes() == inputs[read]


def test_every_command_is_known_to_spare_its_inputs() -> None:
    tried = {name for name in COMMANDS for command in OVER_INPUTS if f"{command} ".startswith(f"{name} ")}
    assert tried | set(WRITE_OVER_NO_INPUT) == set(COMMANDS)
    assert not tried & set(WRITE_OVER_NO_INPUT)


@pytest.mark.parametrize(
    ("named", "output"),
    [(("--pin", "pin.json"), "pin.json"), (("--baseline-catalogs", "old"), "old/offers.csv")],
)
def test_a_gate_that_cannot_judge_writes_over_nothing_that_it_was_to_read(
    named: tuple[str, str], output: str, optimizer: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(BAD)
    Path("old").mkdir()
    Path(output).write_text("kept")
    result = optimizer("gate", "s.yaml", *named, "--comment", output)
    assert result.code == 2
    assert Path(output).read_text() == "kept"


def test_two_results_cannot_share_a_file(optimizer: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(SCENARIO)
    result = optimizer("plan", "s.yaml", "--output", "a", "--certificate", "./a")
    assert (result.code, Path("a").exists()) == (2, False)
    assert "would be written twice" in result.err


def test_a_scenario_comes_from_standard_input(optimizer: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"name: small\n")))
    result = optimizer("plan", "-")
    assert (result.code, result.err) == (2, "error: standard input:1: workloads: missing\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"deployments": []}')))
    result = optimizer("verify", "-")
    assert result.code == 2
    assert result.err.startswith("error: standard input: not a plan")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (".", "is a folder, not a file"),
        ("/dev/zero", "is a device or a pipe, not a plain file"),
        ("pipe", "is a device or a pipe, not a plain file"),
        ("dangling", "cannot be read: No such file or directory"),
        ("x" * 300, "no such file"),
        ("x\0y", "no such file"),
    ],
    ids=["folder", "device", "pipe", "dangling link", "long name", "NUL"],
)
def test_what_is_no_plain_file_is_refused_in_words(
    name: str, problem: str, optimizer: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    Path("dangling").symlink_to("nowhere")
    result = optimizer("plan", name)
    assert result.code == 2
    assert problem in result.err


@pytest.mark.parametrize("command", ["verify", "validate", "gate --baseline", "predict --batch", "simulate"])
@pytest.mark.parametrize("name", ["/dev/zero", "x" * 300])
def test_no_reader_hangs_or_breaks_on_a_device(
    command: str, name: str, optimizer: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(SCENARIO)
    first, *options = command.split()
    result = optimizer(first, *(["s.yaml"] if first == "gate" else []), *options, name)
    assert result.code == 2


@pytest.mark.parametrize("name", ["x" * 300, "/nowhere/x", "."])
def test_outputs_that_cannot_be_are_refused(name: str, optimizer: Command) -> None:
    assert optimizer("schema", "scenario", "--output", name).code == 2


def test_a_file_that_is_not_ours_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="is protected"):
        files.write_text(path, "new")
    with pytest.raises(InputError, match="its folder may not be"):
        files.write_text(tmp_path / "new", "new")


def test_findings_are_capped_with_a_count(optimizer: Command, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(BAD)
    result = optimizer("plan", str(path))
    assert result.code == 2
    assert result.err.count("\n") == 51
    assert result.err.splitlines()[-1] == "error: 150 more problems like these are not shown"


def test_names_cannot_forge_lines_or_move_the_cursor(optimizer: Command, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(SCENARIO.replace("llama-3.1-8b", r'"llama[31mEVIL\n error: forged"'))
    result = optimizer("plan", str(path))
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert r"llama[31mEVIL\n error: forged" in result.err
    hostile = tmp_path / "s\x1b[31m.yaml"
    assert r"s\x1b[31m.yaml: no such file" in optimizer("plan", str(hostile)).err


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("$O schema plan > /dev/full", 2, b"error: standard output: cannot be written: No space left on device"),
        ("$O schema plan >&-", 2, b"error: standard output: cannot be written: it is closed"),
        ("$O --help > /dev/full", 2, b"No space left on device"),
        ("$O schema plan 2>&- | head -1; exit ${PIPESTATUS[0]}", 0, b""),
        ("$O --help | true; exit ${PIPESTATUS[0]}", 0, b""),
        ("$O plan nosuch 2>&-", 2, b""),
        ("$O plan nosuch 2> /dev/full", 2, b""),
        ("$O schema plan >&- 2>&- <&- --output x; code=$?; cat x | head -c 1; exit $code", 0, b""),
        ("$O plan - <&-", 2, b"error: standard input: cannot be read: it is closed"),
        ("$O schema plan --output /dev/full", 2, b"/dev/full: cannot be written: No space left on device"),
        ("$O schema plan --output /dev/stdout | head -1 | grep -q '{'", 0, b""),
    ],
)
def test_streams_that_are_full_or_closed_are_no_defect(line: str, code: int, said: bytes, tmp_path: Path) -> None:
    result = started(line, tmp_path)
    assert result.returncode == code
    assert said in result.stderr
    assert b"Traceback" not in result.stderr
    assert b"Exception" not in result.stderr


def test_complaints_go_nowhere_where_standard_error_is_closed(tmp_path: Path) -> None:
    """Else what a command opens next, such as the socket of `serve`, would stand in its place."""
    told = "import os, sys; from optimizer.cli import start; start._let_complain(); sys.stderr.write('!'); "
    result = started(f"{sys.executable} -c \"{told} print(os.readlink('/proc/self/fd/2'))\" <&- 2>&-", tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"/dev/null\n", b"")


def test_a_sign_that_the_terminal_lacks_is_replaced(tmp_path: Path) -> None:
    result = started("PYTHONIOENCODING=ascii $O catalog show h100-sxm", tmp_path)
    assert (result.returncode, result.stderr) == (0, b"")
    assert b"?" in result.stdout


def test_a_plan_that_says_a_field_twice_is_refused(optimizer: Command, tmp_path: Path) -> None:
    """The last one counts here and the first one elsewhere: what is verified would not be what others read."""
    plan = tmp_path / "plan.json"
    assert optimizer("plan", "ci-gate", "--format", "json", "--output", str(plan)).code == 0
    plan.write_text('{"monthly_cost_usd": "1.00",' + plan.read_text(encoding="utf-8")[1:], encoding="utf-8")
    for line in (
        ("verify", str(plan)),
        ("gate", "ci-gate", "--baseline", str(plan)),
        ("export", str(plan), "--to", "vllm", "--output", str(tmp_path / "files")),
    ):
        refused = optimizer(*line)
        assert refused.code == 2
        assert "plan.json: monthly_cost_usd: this key stands twice (keep one)" in refused.err
