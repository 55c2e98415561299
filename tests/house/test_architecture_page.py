"""The map of the rooms is the house as it stands: every folder is on it, and nothing that does not exist."""

import re

import pytest
from support.paths import ROOT

from optimizer.inputs.catalog.shipped import PACKAGE

PAGE = ROOT / "docs" / "architecture.md"
PATH = re.compile(r"`((?:optimizer|tests|docs|catalogs)/[^`]*)`")

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the page stands in the checkout")


@pytest.fixture(scope="module")
def named() -> set[str]:
    """Every path that the page names."""
    return set(PATH.findall(PAGE.read_text(encoding="utf-8")))


def test_every_folder_is_on_the_map(named: set[str]) -> None:
    folders = {path.parent.relative_to(PACKAGE.parent).as_posix() + "/" for path in PACKAGE.rglob("*/__init__.py")}
    assert sorted(folders - named - {"optimizer/"}) == []


def test_nothing_on_the_map_is_gone(named: set[str]) -> None:
    assert len(named) > 50
    assert sorted(path for path in named if not (ROOT / path).exists()) == []


def test_a_folder_is_described_once() -> None:
    rows = re.findall(r"^(?:\| |### )`(optimizer/[^`]*/)`", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted({row for row in rows if rows.count(row) > 1}) == []


def test_the_stair_is_drawn_as_the_contract_states_it() -> None:
    contract = re.search(r'containers = \["optimizer"\]\nlayers = \[(.*)\]', (ROOT / "pyproject.toml").read_text())
    assert contract is not None
    rooms = [name for name in re.findall(r'"(\w+)"', contract[1]) if name != "__main__"]
    drawn = PAGE.read_text(encoding="utf-8").split("```")[1]
    assert [word for line in drawn.splitlines() for word in line.split()[:2] if word in rooms] == rooms
