"""What is installed is known: bounds at both ends, versions with hashes for the check, a licence for each package."""

import re
import runpy
import subprocess
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support.paths import ROOT

pytestmark = pytest.mark.skipif(not (ROOT / ".ci" / "lock.txt").is_file(), reason="the lock stands in the checkout")


@pytest.fixture(scope="module")
def lock() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / ".ci" / "lock.py"))


@pytest.fixture(scope="module")
def licences() -> dict[str, str]:
    """Licence by package, as the page tells it."""
    rows = re.findall(
        r"^\| (\S+) \| (.+) \| (\S+) \|$", (ROOT / "docs" / "licences.md").read_text("utf-8"), re.MULTILINE
    )
    return {name: licence for name, licence, version in rows if version[0].isdigit()}


def test_every_dependency_has_both_bounds(lock: dict[str, Any]) -> None:
    for written in lock["requirements"]():
        operators = {each.operator for each in Requirement(written).specifier}
        assert operators == {">=", "<"}, written


def test_the_same_package_has_the_same_bounds_everywhere(lock: dict[str, Any]) -> None:
    names = [Requirement(written).name for written in lock["requirements"]()]
    assert len(names) == len(set(names))


def test_the_lock_holds_a_version_within_the_bounds_of_each(lock: dict[str, Any]) -> None:
    locked = lock["locked"]()
    for written in lock["requirements"]():
        asked = Requirement(written)
        assert asked.specifier.contains(locked[canonicalize_name(asked.name)]), written


def test_every_locked_file_has_a_hash_and_the_check_asks_for_it() -> None:
    entries = re.split(r"\n(?=\S)", (ROOT / ".ci" / "lock.txt").read_text(encoding="utf-8").strip())[2:]
    for entry in entries:
        assert re.fullmatch(r"[a-z0-9.-]+==\S+( \\\n    --hash=sha256:[0-9a-f]{64})+", entry), entry
    check = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    asked = re.findall(r"pip install .*", check)
    assert [each for each in asked if "--require-hashes -r" not in each] == [asked[-1]]
    assert asked[-1].endswith("--no-deps --no-build-isolation .")


def test_both_halves_of_the_lock_together_are_the_lock() -> None:
    lock = ROOT / ".ci" / "lock.txt"
    check = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    program = re.search(r"awk .* '(.*)' \.ci/lock\.txt", check)
    assert program
    halves = "".join(
        subprocess.run(
            ["awk", "-v", f"half={half}", program[1], lock], check=True, capture_output=True, text=True
        ).stdout
        for half in (0, 1)
    )
    assert sorted(halves.splitlines()) == sorted(lock.read_text(encoding="utf-8").splitlines())


def test_every_locked_package_has_its_licence_on_the_page(lock: dict[str, Any], licences: dict[str, str]) -> None:
    assert list(licences) == list(lock["locked"]())
    assert not {name for name, licence in licences.items() if licence in ("", "not known")}


def test_licences_are_those_of_the_packages_installed(lock: dict[str, Any], licences: dict[str, str]) -> None:
    """Of those that are here in the version of the lock."""
    compared = 0
    for name, locked in lock["locked"]().items():
        try:
            here = version(name)
        except PackageNotFoundError:
            continue
        if here == locked:
            assert licences[name] == lock["licence"](name)
            compared += 1
    assert compared


def test_no_package_may_only_be_used_under_terms_that_pass_on(licences: dict[str, str]) -> None:
    """The project is Apache-2.0; MPL-2.0 asks for its own files only, which are not changed."""
    assert not {name: text for name, text in licences.items() if re.search(r"(?<!L)A?GPL", text)}
