"""The tests mirror the rooms, and what a developer's run leaves out says why."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest
from support.paths import TESTS

from optimizer.inputs.catalog.shipped import PACKAGE

FILES = sorted(TESTS.rglob("test_*.py"))
ROOMS = {path.parent.name for path in PACKAGE.glob("*/__init__.py")} | {"house"}
"""A folder for the tests of each room, and one for what concerns the house as a whole."""

SLOW = "pytest.mark.slow"
MAX_ALIKE = 2
"""Three equal prefixes make a folder."""


def test_every_test_stands_in_the_folder_of_a_room() -> None:
    astray = [str(path.relative_to(TESTS)) for path in FILES if path.parent.parent != TESTS]
    astray += [str(path.relative_to(TESTS)) for path in FILES if path.parent.name not in ROOMS]
    assert astray == [], f"tests stand in one of {', '.join(sorted(ROOMS))}"


@pytest.mark.parametrize("room", sorted({path.parent for path in FILES}), ids=lambda path: path.name)
def test_names_in_a_folder_do_not_repeat_a_prefix(room: Path) -> None:
    prefixes = Counter(path.stem.removeprefix("test_").split("_")[0] for path in room.glob("test_*.py"))
    assert [prefix for prefix, count in prefixes.items() if count > MAX_ALIKE] == []


def test_what_is_slow_says_why() -> None:
    silent = [str(path.relative_to(TESTS)) for path in FILES if _slow_without_reasons(ast.parse(path.read_bytes()))]
    assert silent == [], f'write @{SLOW}("what takes so long")'


def _slow_without_reasons(tree: ast.Module) -> int:
    """How often the mark stands in a file without its reason."""
    reasons = [node.args for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == SLOW]
    given = [reason for reason in reasons if len(reason) == 1 and re.search(r"\w+ \w+", ast.unparse(reason[0]))]
    marks = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and ast.unparse(node) == SLOW]
    return len(marks) - len(given)
