"""The action's script, as a runner calls it: a repository with a base and a head, both planned, the difference told."""

import io
import json
import os
import re
import subprocess
import sys
import textwrap
import urllib.request
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml
from support.paths import ROOT
from support.tables import OFFERS

SCRIPT = ROOT / "ci-templates" / "gate.sh"
SCENARIO = """name: support
workloads:
  - name: chat
    model: llama-3.1-8b
    requests_per_second: {rate}
    input_tokens: 600
    output_tokens: 150
    slo:
      ttft_ms: 800
policy:
  providers: {{allow: [aws, acme]}}
  gpus: {{allow: [l4, l40s]}}
  regions: {{allow: [us-east-1]}}
  sellers: [hyperscaler, unknown]
"""
ROW = "acme,neocloud,us-east-1,box,l4,1,none,{price},on_demand,2026-11-01,litgpt-0.5.13,listed\n"

pytestmark = pytest.mark.skipif(not SCRIPT.is_file(), reason="the action stands in the checkout")


def git(repository: Path, *arguments: str) -> str:
    names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
    environment = os.environ | dict.fromkeys(names, "someone@example.org") | {"GIT_CONFIG_GLOBAL": os.devnull}
    call = subprocess.run(
        ["git", *arguments], cwd=repository, env=environment, check=True, capture_output=True, text=True
    )
    return call.stdout.strip()


def written(repository: Path, rate: str, price: str) -> str:
    """Commits a state of the repository; returns the commit."""
    files = {
        "scenarios/support.yaml": SCENARIO.format(rate=rate),
        "prices/offers.csv": OFFERS + ROW.format(price=price),
    }
    return committed(repository, files)


def committed(repository: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_text(text)
    git(repository, "add", *files)
    git(repository, "commit", "--quiet", "--message", "another state")
    return git(repository, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "fleet"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch", "main")
    return folder


def gated(repository: Path, base: str, *options: str) -> tuple[int, Path]:
    """Runs the script in the checkout, the `optimizer` command being that of this environment."""
    output = repository.parent / "results"
    environment = os.environ | {
        "GATE_SCENARIOS": "scenarios",
        "GATE_CATALOGS": "prices",
        "GATE_BASE": base,
        "GATE_OUTPUT": str(output),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    environment |= {"GATE_RUN_URL": "https://example.org/1", "GATE_HISTORY": str(repository.parent / "history.csv")}
    call = subprocess.run(
        [SCRIPT, *options], cwd=repository, env=environment, check=False, capture_output=True, text=True
    )
    assert "defect" not in call.stderr
    comment = (output / "comment.md").read_text()
    assert comment in call.stdout
    assert "[run](https://example.org/1)" in comment
    return call.returncode, output


@pytest.mark.slow("plans two commits of a repository through the shell")
def test_a_pull_request_is_told_what_it_costs_and_what_prices_did(repository: Path) -> None:
    base = written(repository, rate="2", price="0.20")
    written(repository, rate="20", price="0.25")
    code, results = gated(repository, base, "--max-increase-percent", "50")
    said = json.loads((results / "gate.json").read_text())
    assert code == 1
    assert said["verdict"] == "broken"
    assert [reason["rule"] for reason in said["reasons"]] == ["max_increase_percent"]
    assert (said["reasons"][0]["file"], said["reasons"][0]["line"]) == ("scenarios/support.yaml", 5)
    assert said["scenarios"][0]["baseline"] == "plans/1.json"
    amounts = {cause["cause"]: float(cause["change_usd"]) for cause in said["causes"]}
    assert set(amounts) == {"prices", "scenario"}
    assert amounts["prices"] > 0 < amounts["scenario"]
    assert sum(amounts.values()) == pytest.approx(float(said["change_usd"]))
    comment = (results / "comment.md").read_text()
    assert comment.startswith("<!-- optimizer-gate -->\n")
    assert "~ chat: llama-3.1-8b" in comment
    assert ET.parse(results / "gate.xml").getroot().get("failures") == "1"
    assert json.loads((results / "gate.sarif").read_text())["version"] == "2.1.0"
    assert git(repository, "worktree", "list").count("\n") == 0


@pytest.mark.slow("plans a scenario through the shell")
@pytest.mark.parametrize("first", ["pull request", "push"])
def test_the_first_day_has_nothing_to_compare_with_and_holds_budgets(repository: Path, first: str) -> None:
    before = committed(repository, {"README.md": "A fleet."})
    written(repository, rate="2", price="0.20")
    base = before if first == "pull request" else ""
    code, results = gated(repository, base, "--max-increase-percent", "10", "--max-monthly-usd", "1")
    assert code == 1
    said = json.loads((results / "gate.json").read_text())
    assert [reason["rule"] for reason in said["reasons"]] == ["max_monthly_usd"]
    assert [rule["rule"] for rule in said["rules"] if rule["state"] == "skipped"] == ["max_increase_percent"]
    assert said["scenarios"][0]["new"] == (first == "pull request")
    root = ET.parse(results / "gate.xml").getroot()
    assert (root.get("failures"), len(list(root.iter("skipped")))) == ("1", 1)
    comment = (results / "comment.md").read_text()
    assert "max\\_increase\\_percent is not judged: there is no plan to compare with" in comment
    assert ("every scenario is new" in comment) == (first == "pull request")


@pytest.mark.slow("plans a scenario through the shell")
def test_what_no_plan_meets_is_told_in_every_form(repository: Path) -> None:
    base = committed(repository, {"README.md": "A fleet."})
    written(repository, rate="2", price="0.20")
    impossible = SCENARIO.format(rate=2).replace("ttft_ms: 800", "ttft_ms: 0.1")
    committed(repository, {"scenarios/support.yaml": impossible})
    code, results = gated(repository, base, "--max-monthly-usd", "20000")
    assert code == 3
    assert "**no_plan**" in (results / "comment.md").read_text()
    assert json.loads((results / "gate.sarif").read_text())["runs"][0]["results"][0]["ruleId"] == "no_plan"
    root = ET.parse(results / "gate.xml").getroot()
    assert (root.get("failures"), root.get("errors")) == ("1", "0")


@pytest.mark.parametrize(
    ("case", "says", "file", "line"),
    [
        ("a base that is not in the clone", "fetch-depth: 0", "scenarios", 1),
        ("a scenario that cannot be read", "unknown field", "scenarios/support.yaml", 5),
        ("an option that is no number", "did not run to its end", "scenarios", 1),
    ],
)
def test_a_gate_that_cannot_judge_leaves_no_verdict_of_before(
    repository: Path, case: str, says: str, file: str, line: int
) -> None:
    written(repository, rate="2", price="0.20")
    base, options = "", ()
    if case.startswith("a base"):
        base = "0123456789" * 4
    elif case.startswith("a scenario"):
        wrong = SCENARIO.format(rate=2).replace("requests_per_second", "requests_a_second")
        committed(repository, {"scenarios/support.yaml": wrong})
    else:
        options = ("--max-monthly-usd", "much")
    results = repository.parent / "results"
    results.mkdir()
    for name in ("comment.md", "gate.json", "gate.xml", "gate.sarif"):
        (results / name).write_text("kept, yesterday")
    code, results = gated(repository, base, *options)
    assert code == 2
    comment = (results / "comment.md").read_text()
    assert comment.startswith("<!-- optimizer-gate -->\n\n### ❌ Gate not evaluated: ")
    assert says in comment
    root = ET.parse(results / "gate.xml").getroot()
    assert (root.get("tests"), root.get("errors"), root.get("failures")) == ("1", "1", "0")
    (run,) = json.loads((results / "gate.sarif").read_text())["runs"]
    assert run["invocations"] == [{"executionSuccessful": False}]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == (file, line)
    assert json.loads((results / "gate.json").read_text())["verdict"] == "not_evaluated"
    remembered = repository.parent / "history.csv"
    said = remembered.read_text().splitlines()[1:] if remembered.is_file() else []
    # arguments that cannot be read name no history either
    assert [",not_evaluated," in line for line in said] == ([] if case.startswith("an option") else [True])


def called(folder: Path, name: str, *, otherwise: str = "true") -> dict[str, str]:
    """An environment in which a program writes down its arguments, one a line, and `git` does what is said."""
    (folder / name).write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" >> {folder}/called\n")
    (folder / "git").write_text(f"#!/bin/sh\n{otherwise}\n")
    for program in (name, "git"):
        (folder / program).chmod(0o755)
    (folder / "dev-notes").write_text("what a pattern among the options would match")
    return os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def arguments(folder: Path) -> list[str]:
    return (folder / "called").read_text().splitlines() if (folder / "called").is_file() else []


def test_the_script_reads_scenarios_of_several_lines(tmp_path: Path) -> None:
    environment = called(tmp_path, "optimizer") | {"GATE_SCENARIOS": "one.yaml two.yaml\nthree.yaml\n"}
    environment |= {"GATE_OUTPUT": str(tmp_path / "results")}
    subprocess.run([SCRIPT], cwd=tmp_path, env=environment, check=True, capture_output=True)
    first = arguments(tmp_path)[:4]
    assert first == ["gate", "one.yaml", "two.yaml", "three.yaml"]


def test_a_named_gate_has_a_comment_of_its_own(tmp_path: Path) -> None:
    environment = called(tmp_path, "optimizer") | {"GATE_SCENARIOS": "one.yaml", "GATE_OUTPUT": str(tmp_path)}
    for name, first in (("search", "<!-- optimizer-gate search -->"), ("", "<!-- optimizer-gate -->")):
        (tmp_path / "comment.md").write_text("<!-- optimizer-gate -->\n\n### kept\n")
        call = subprocess.run(
            [SCRIPT], cwd=tmp_path, env=environment | {"GATE_NAME": name}, check=True, capture_output=True, text=True
        )
        assert call.stdout == (tmp_path / "comment.md").read_text() == f"{first}\n\n### kept\n"
    wrong = subprocess.run([SCRIPT], cwd=tmp_path, env=environment | {"GATE_NAME": "a --> b"}, check=False)
    assert wrong.returncode == 2


def test_the_action_reads_options_of_several_lines(tmp_path: Path) -> None:
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    (step,) = (step for step in steps if step.get("name") == "Gate")
    (tmp_path / "ci-templates").mkdir()
    environment = called(tmp_path / "ci-templates", "gate.sh") | {"GITHUB_ACTION_PATH": str(tmp_path)}
    environment |= {"GATE_OUTPUT": "results", "GATE_BASE": "", "OPTIONS": "--warn-only dev-*\n--max-increase-usd 5\n"}
    environment |= {"GITHUB_OUTPUT": str(tmp_path / "output"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    subprocess.run(shell, cwd=tmp_path / "ci-templates", env=environment, check=True, capture_output=True)
    assert arguments(tmp_path / "ci-templates")[2:] == ["--warn-only", "dev-*", "--max-increase-usd", "5"]


def gate_step(host: str) -> tuple[list[str], str]:
    """The shell that a host runs a script in, and the lines of a template that find the base and call the gate."""
    text = yaml.safe_load((ROOT / "ci-templates" / f"{host}.yml").read_text())
    if host == "azure-pipelines":
        (script,) = (step["bash"] for step in text["jobs"][0]["steps"] if step.get("displayName") == "Gate")
        return ["/bin/bash", "--noprofile", "--norc", "-c"], script.replace("$(Pipeline.Workspace)", "/work")
    steps = text["cost-gate"] if host == "gitlab" else text["pipelines"]["pull-requests"]["**"][0]["step"]
    wanted = (line for line in steps["script"] if not line.startswith(("git ", "python ")))
    return ["/bin/bash", "--noprofile", "--norc", "-e", "-c"], "\n".join(wanted)


@pytest.mark.parametrize("found", [True, False])
@pytest.mark.parametrize("host", ["azure-pipelines", "bitbucket-pipelines", "gitlab"])
def test_templates_hand_patterns_on_and_end_where_the_base_is_not_found(host: str, found: bool, tmp_path: Path) -> None:
    shell, script = gate_step(host)
    environment = called(tmp_path, "bash", otherwise="echo 0123" if found else "exit 128")
    environment |= dict.fromkeys(("OPTIONS", "GATE_OPTIONS"), "--warn-only dev-*")
    environment |= {"SYSTEM_PULLREQUEST_TARGETBRANCH": "refs/heads/main", "BITBUCKET_PR_DESTINATION_BRANCH": "main"}
    call = subprocess.run([*shell, script], cwd=tmp_path, env=environment, check=False, capture_output=True, text=True)
    if found or host == "gitlab":  # which knows the base itself
        assert call.returncode == 0, call.stderr
        assert arguments(tmp_path)[-2:] == ["--warn-only", "dev-*"]
    else:
        assert (call.returncode, arguments(tmp_path)) == (128, [])


def test_the_hook_starts_for_every_file_that_a_verdict_rests_on() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    read = ("scenarios/a.yaml", "scenarios/traces/a.csv", "scenarios/a.csv", "prices/offers.csv", "gate.yaml")
    assert all(re.search(hook["files"], name) for name in read)
    assert not any(re.search(hook["files"], name) for name in ("README.md", "notes/scenarios/a.yaml"))


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("read_only", [True, False])
def test_the_comment_is_updated_and_a_token_that_may_not_write_breaks_nothing(
    tmp_path: Path, known: bool, read_only: bool
) -> None:
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    (step,) = (step for step in steps if step.get("name") == "Comment")
    calls = tmp_path / "calls"
    fake = tmp_path / "gh"
    listing = "echo 7; echo 9" if known else "true"
    write = "exit 1" if read_only else f'echo "$*" >> {calls}'
    fake.write_text(f'#!/bin/sh\ncase "$*" in *--method*) {write} ;; *) {listing} ;; esac\n')
    fake.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "FOLDER": str(tmp_path / "absent"),
        "GITHUB_REPOSITORY": "someone/fleet",
        "NUMBER": "5",
    }
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    call = subprocess.run(shell, env=environment, check=False, capture_output=True, text=True)
    assert call.returncode == 0, call.stderr
    assert ("read-only token" in call.stdout) == read_only
    assert (tmp_path / "absent" / "comment.md").read_text().startswith("<!-- optimizer-gate -->\n\n### ❌ Gate not")
    if not read_only:
        wanted = "--method PATCH repos/someone/fleet/issues/comments/7" if known else "--method POST"
        assert wanted in calls.read_text()


def test_a_comment_is_begun_only_where_something_changed_if_that_is_asked(tmp_path: Path) -> None:
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    (step,) = (step for step in steps if step.get("name") == "Comment")
    (tmp_path / "gh").write_text(f'#!/bin/sh\ncase "$*" in *--method*) echo "$*" >> {tmp_path}/calls ;; esac\n')
    (tmp_path / "gh").chmod(0o755)
    names = {"FOLDER": str(tmp_path), "GITHUB_REPOSITORY": "someone/fleet", "NUMBER": "5", "WHEN": "changed"}
    environment = os.environ | names | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    for second, begun in (("<!-- nothing changed -->", False), ("", True)):
        (tmp_path / "comment.md").write_text(f"<!-- optimizer-gate -->\n{second}\n\n### Gate kept\n")
        subprocess.run(shell, env=environment, check=True, capture_output=True)
        assert (tmp_path / "calls").is_file() == begun


def commenting(template: str, after: str) -> str:
    """The Python that a template comments with."""
    text = (ROOT / "ci-templates" / template).read_text(encoding="utf-8")
    return textwrap.dedent(text[text.index(after) + len(after) : text.index("          PY\n")])


AZURE = {
    **{"SYSTEM_COLLECTIONURI": "https://dev.azure.com/o/", "SYSTEM_TEAMPROJECTID": "p", "BUILD_REPOSITORY_ID": "r"},
    **{"SYSTEM_PULLREQUEST_PULLREQUESTID": "5", "TOKEN": "t", "FOLDER": ".", "WHEN": "changed"},
}
BITBUCKET = {
    **{"BITBUCKET_REPO_FULL_NAME": "someone/fleet", "BITBUCKET_PR_ID": "5", "GATE_TOKEN": "t"},
    "GATE_COMMENT": "changed",
}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("changed", [True, False])
@pytest.mark.parametrize("name", ["", "search"])
@pytest.mark.parametrize("host", ["azure", "bitbucket"])
def test_templates_update_their_comment(
    host: str, name: str, changed: bool, known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An existing one always, a new one only where something changed."""
    code = commenting(f"{host}-pipelines.yml", "python - <<'PY'\n" if host == "azure" else "python3 - <<'PY'\n")
    folder = tmp_path / ("." if host == "azure" else "cost-gate/test-results")
    folder.mkdir(parents=True, exist_ok=True)
    mark = "" if changed else "<!-- nothing changed -->\n"
    gate = f"optimizer-gate {name}".strip()
    (folder / "comment.md").write_text(f"<!-- {gate} -->\n{mark}\n### Gate kept\n\n<details>x</details>\n")
    ours = f"<!-- {gate} -->" if host == "azure" else f"[//]: # ({gate})"
    monkeypatch.setenv("GATE_NAME", name)
    one = {"id": 7, "content": f"{ours} older" if host == "azure" else {"raw": f"{ours} older"}}
    listed = {"value": [{"id": 3, "comments": [one] if known else []}], "values": [one] if known else []}
    calls: list[tuple[str, str]] = []

    def answer(request: urllib.request.Request) -> io.BytesIO:
        if request.get_method() != "GET":
            calls.append((request.get_method(), request.full_url))
            assert ours in bytes(request.data or b"").decode().replace("\\n", "\n")
        return io.BytesIO(json.dumps(listed).encode())

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    monkeypatch.chdir(tmp_path)
    for variable, value in (AZURE if host == "azure" else BITBUCKET).items():
        monkeypatch.setenv(variable, value)
    exec(compile(code, host, "exec"), {})
    written = {"azure": "PATCH", "bitbucket": "PUT"}[host] if known else "POST"
    assert [method for method, _ in calls] == ([written] if known or changed else [])
    assert all(("/7" in url) == known for _, url in calls)


def test_the_action_and_the_hook_call_what_there_is() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    steps = action["runs"]["steps"]
    assert action["runs"]["using"] == "composite"
    assert all(step.get("uses") or step["shell"] == "bash" for step in steps)
    assert any("ci-templates/gate.sh" in step.get("run", "") for step in steps)
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["entry"].startswith("optimizer gate")
    for name in ("azure-pipelines.yml", "bitbucket-pipelines.yml"):
        text = (ROOT / "ci-templates" / name).read_text()
        assert yaml.safe_load(text)
        assert "ci-templates/gate.sh" in text
    job = yaml.safe_load((ROOT / "ci-templates" / "gitlab.yml").read_text())["cost-gate"]
    assert any("ci-templates/gate.sh" in line for line in job["script"])


def test_gates_of_one_azure_pipeline_have_a_job_and_an_artifact_each() -> None:
    """Where a pipeline extends the template twice, equal ids refuse it as a whole."""
    (job,) = yaml.safe_load((ROOT / "ci-templates" / "azure-pipelines.yml").read_text())["jobs"]
    artifacts = [step["artifact"] for step in job["steps"] if "artifact" in step]
    assert all("coalesce(parameters.name, 'gate')" in each for each in (job["job"], *artifacts))
