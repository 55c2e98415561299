"""The action's script, as a runner calls it: a repository with a base and a head, both planned, the difference told."""

import json
import os
import subprocess
import sys
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
    (repository / "scenarios").mkdir(exist_ok=True)
    (repository / "prices").mkdir(exist_ok=True)
    (repository / "scenarios" / "support.yaml").write_text(SCENARIO.format(rate=rate))
    (repository / "prices" / "offers.csv").write_text(OFFERS + ROW.format(price=price))
    git(repository, "add", "scenarios", "prices")
    git(repository, "commit", "--quiet", "--message", f"{rate} requests/s at {price}")
    return git(repository, "rev-parse", "HEAD")


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
    call = subprocess.run(
        [SCRIPT, *options], cwd=repository, env=environment, check=False, capture_output=True, text=True
    )
    assert "defect" not in call.stderr
    assert (output / "comment.md").read_text() in call.stdout
    return call.returncode, output


@pytest.mark.slow("plans two commits of a repository through the shell")
def test_a_pull_request_is_told_what_it_costs_and_what_prices_did(tmp_path: Path) -> None:
    repository = tmp_path / "fleet"
    repository.mkdir()
    git(repository, "init", "--quiet", "--initial-branch", "main")
    base = written(repository, rate="2", price="0.20")
    written(repository, rate="20", price="0.25")
    code, results = gated(repository, base, "--max-increase-percent", "50")
    said = json.loads((results / "gate.json").read_text())
    assert code == 1
    assert said["verdict"] == "broken"
    assert [reason["rule"] for reason in said["reasons"]] == ["max_increase_percent"]
    assert (said["reasons"][0]["file"], said["reasons"][0]["line"]) == ("scenarios/support.yaml", 5)
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


def test_the_action_and_the_hook_call_what_there_is() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    steps = action["runs"]["steps"]
    assert action["runs"]["using"] == "composite"
    assert all(step.get("uses") or step["shell"] == "bash" for step in steps)
    assert any("ci-templates/gate.sh" in step.get("run", "") for step in steps)
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["entry"].startswith("optimizer gate")
    job = yaml.safe_load((ROOT / "ci-templates" / "gitlab.yml").read_text())["cost-gate"]
    assert any("ci-templates/gate.sh" in line for line in job["script"])
