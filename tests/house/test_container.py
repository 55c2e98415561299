"""The container is what docs/serve.md says of it: no root, nothing written, versions known, asked with a token."""

import re
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support.command import Command
from support.paths import ROOT

FOLDER = ROOT / "docs" / "container"

pytestmark = pytest.mark.skipif(not (ROOT / ".ci" / "lock.txt").is_file(), reason="it is built in the checkout")


@pytest.fixture(scope="module")
def steps() -> list[tuple[str, str]]:
    """Every instruction of the Dockerfile with what follows it."""
    text = re.sub(r"\\\n\s*", "", (FOLDER / "Dockerfile").read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(step, rest) for step, _, rest in (line.partition(" ") for line in lines)]


@pytest.fixture(scope="module")
def service() -> dict[str, Any]:
    """The only service of the Compose file."""
    [only] = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))["services"].values()
    return dict(only)


def test_every_base_has_a_tag_that_says_its_version(steps: list[tuple[str, str]]) -> None:
    bases = [rest.split(" ")[0] for step, rest in steps if step == "FROM"]
    assert len(bases) == 2
    assert all(re.fullmatch(r"python:3\.\d+-slim-\w+", base) for base in bases)


def test_it_runs_as_another_user_than_root(steps: list[tuple[str, str]]) -> None:
    last_base = max(at for at, (step, _) in enumerate(steps) if step == "FROM")
    [user] = [rest for step, rest in steps[last_base:] if step == "USER"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)


def test_it_serves_the_port_that_is_exposed_checked_and_published(
    steps: list[tuple[str, str]], service: dict[str, Any]
) -> None:
    told = dict(steps)
    port = told["EXPOSE"]
    assert yaml.safe_load(told["CMD"]) == ["serve", "--host", "0.0.0.0", "--port", port]
    assert f"http://127.0.0.1:{port}/health" in told["HEALTHCHECK"]
    assert service["ports"] == [f"127.0.0.1:{port}:{port}"]


def test_what_it_starts_with_wants_a_token(steps: list[tuple[str, str]], optimizer: Command) -> None:
    told = dict(steps)
    assert yaml.safe_load(told["ENTRYPOINT"]) == ["optimizer"]
    refused = optimizer(*yaml.safe_load(told["CMD"]))
    assert refused.code == 2
    assert "OPTIMIZER_TOKEN" in refused.err


def test_it_may_do_no_more_than_it_must(service: dict[str, Any]) -> None:
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert [each.partition(":")[0] for each in service["tmpfs"]] == ["/tmp"]
    assert re.fullmatch(r"\$\{OPTIMIZER_TOKEN:\?.+\}", service["environment"]["OPTIMIZER_TOKEN"])
    assert not {"privileged", "network_mode", "volumes"} & set(service)


def test_the_compose_file_builds_this_checkout(service: dict[str, Any]) -> None:
    build = service["build"]
    assert (FOLDER / build["context"]).resolve() == ROOT
    assert ROOT / build["dockerfile"] == FOLDER / "Dockerfile"


def test_the_image_is_built_from_all_that_a_wheel_takes() -> None:
    admitted = {
        line[1:] for line in (FOLDER / "Dockerfile.dockerignore").read_text("utf-8").splitlines() if line[0] == "!"
    }
    assert admitted == {".ci/lock.txt", "LICENSE", "README.md", "catalogs", "optimizer", "pyproject.toml", "scenarios"}
    assert all((ROOT / name).exists() for name in admitted)


def test_versions_are_those_of_the_check(steps: list[tuple[str, str]]) -> None:
    """The pattern that the Dockerfile takes them with finds each of them, hashes left out."""
    run = dict(steps)["RUN"]
    pattern = re.search(r"grep -oE '(.+?)' \.ci/lock\.txt", run)
    assert pattern is not None
    lock = (ROOT / ".ci" / "lock.txt").read_text(encoding="utf-8")
    taken = [Requirement(each) for each in re.findall(pattern[1], lock, re.MULTILINE)]
    assert len(taken) == sum("==" in line for line in lock.splitlines())
    assert {"ortools", "starlette", "uvicorn", "matplotlib", "hatchling"} <= {canonicalize_name(t.name) for t in taken}
    extras = re.search(r"'\.\[([\w,]+)\]'", run)
    assert extras is not None
    assert extras[1] == "web,report"
