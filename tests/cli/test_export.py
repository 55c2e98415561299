"""`export` from the command line: a folder that can be read, replaced only where an export wrote it."""

import json
from pathlib import Path

import pytest
from support.command import Command

from optimizer import as_json
from optimizer.answers.running.export.export import BILL
from optimizer.answers.running.export.targets.registry import TARGETS
from optimizer.cli import names


@pytest.fixture
def plan(planned: object, tmp_path: Path) -> str:
    assert callable(planned)
    path = tmp_path / "plan.json"
    path.write_text(as_json(planned("chat-8b")), encoding="utf-8")
    return str(path)


def test_the_targets_of_the_help_are_those_there_are() -> None:
    assert (*TARGETS, BILL) == names.TARGETS


def test_a_folder_a_deployment_and_a_page_that_says_the_order(plan: str, optimizer: Command, tmp_path: Path) -> None:
    output = tmp_path / "out"
    said = optimizer("export", plan, "--to", "vllm", "kubernetes", "--output", str(output))
    assert said.code == 0, said.err
    page = (output / "README.md").read_text(encoding="utf-8")
    assert "kubectl apply -f kubernetes.yaml" in page
    assert "--from-literal=HF_TOKEN=$HF_TOKEN" in page
    (folder,) = (path for path in output.iterdir() if path.is_dir())
    assert sorted(path.name for path in folder.iterdir()) == ["kubernetes.yaml", "vllm.sh"]
    assert (folder / "vllm.sh").stat().st_mode & 0o111
    assert folder.name in said.out


def test_the_same_export_gives_the_same_folder_and_json_says_it(plan: str, optimizer: Command, tmp_path: Path) -> None:
    output = tmp_path / "out"
    ask = ("export", plan, "--to", "skypilot,dstack", "--output", str(output), "--format", "json")
    first = optimizer(*ask)
    before = {path: path.read_bytes() for path in output.rglob("*") if path.is_file()}
    assert optimizer(*ask).out == first.out
    assert before == {path: path.read_bytes() for path in output.rglob("*") if path.is_file()}
    found = json.loads(first.out)
    assert found["targets"] == ["skypilot", "dstack"]
    assert all((output / name).is_file() for name in found["files"])
    assert found["deployments"][0]["command"][:2] == ["vllm", "serve"]


def test_what_an_earlier_export_wrote_goes(plan: str, optimizer: Command, tmp_path: Path) -> None:
    output = tmp_path / "out"
    assert optimizer("export", plan, "--to", "vllm", "dstack", "--output", str(output)).code == 0
    assert optimizer("export", plan, "--to", "compose", "--output", str(output)).code == 0
    names = {path.name for path in output.rglob("*") if path.is_file()}
    assert names == {"README.md", ".optimizer-export.json", "compose.yaml"}


def test_the_folder_may_be_the_one_that_one_stands_in(
    plan: str, optimizer: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for _ in range(2):
        assert optimizer("export", plan, "--to", "vllm", "--output", ".").code == 0
    assert Path("README.md").is_file()


def test_nothing_of_anybody_else_is_written_over(plan: str, optimizer: Command, tmp_path: Path) -> None:
    output = tmp_path / "out"
    ask = ("export", plan, "--to", "vllm", "--output", str(output))
    output.mkdir()
    (output / "notes.txt").write_text("mine", encoding="utf-8")
    refused = optimizer(*ask)
    assert refused.code == 2
    assert "files that no export wrote: notes.txt" in refused.err
    (output / "notes.txt").unlink()
    assert optimizer(*ask).code == 0
    (output / "README.md").write_text("edited", encoding="utf-8")
    refused = optimizer(*ask)
    assert refused.code == 2
    assert "were changed: README.md" in refused.err
    assert (output / "README.md").read_text(encoding="utf-8") == "edited"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--to", "kubernets"), "did you mean kubernetes"),
        (("--to", "sglang"), "the plan runs vLLM"),
        (("--to", ","), "no target"),
    ],
)
def test_a_target_that_carries_nothing_is_refused(
    plan: str, optimizer: Command, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    output = tmp_path / "out"
    refused = optimizer("export", plan, *arguments, "--output", str(output))
    assert refused.code == 2
    assert said in refused.err
    assert not output.exists()


def test_a_file_that_is_no_plan_is_refused(optimizer: Command, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"schema_version": 1', encoding="utf-8")
    refused = optimizer("export", str(broken), "--to", "vllm", "--output", str(tmp_path / "out"))
    assert refused.code == 2
    assert "broken JSON" in refused.err
    into_a_file = optimizer("export", str(broken), "--to", "vllm", "--output", str(broken))
    assert into_a_file.code == 2
    assert "is a file" in into_a_file.err
