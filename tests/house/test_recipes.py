"""Every recipe of docs/recipes works when it is followed to the letter, by somebody who has read nothing else."""

import shutil
from pathlib import Path

import pytest
from support.paths import ROOT
from support.recipes import edited, follow, unsaid

RECIPES = sorted((ROOT / "docs" / "recipes").glob("*.md"))
COPIED = ("optimizer", "docs", "tests")
LINKED = ("catalogs", "scenarios", "benchmarks")

pytestmark = pytest.mark.skipif(not RECIPES, reason="the recipes stand in the checkout")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout to edit, compiled as far as this one is; the data that recipes only read are linked."""
    for name in COPIED:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("images"))
    for name in LINKED:
        (tmp_path / name).symlink_to(ROOT / name)
    for path in (*ROOT.glob("*.md"), ROOT / "pyproject.toml"):
        shutil.copy(path, tmp_path)
    return tmp_path


CODE = ("add-a-command", "add-a-requirement", "add-an-explanation")
FOLLOWED = [
    pytest.param(
        path,
        id=path.stem,
        marks=pytest.mark.slow("edits a copy of the package and plans with it") if path.stem in CODE else (),
    )
    for path in RECIPES
]


@pytest.mark.parametrize("recipe", FOLLOWED)
def test_following_a_recipe_gives_what_it_promises(recipe: Path, checkout: Path) -> None:
    assert {"sh", "text"} < set(follow(recipe.read_text(encoding="utf-8"), checkout))


def test_an_edit_is_refused_where_its_lines_are_not_or_not_once() -> None:
    assert edited("a\nb\nc\n", " a\n-b\n+x\n+y\n") == "a\nx\ny\nc\n"
    with pytest.raises(AssertionError, match="0 places"):
        edited("a\nb\n", " b\n+c\n-x\n")
    with pytest.raises(AssertionError, match="2 places"):
        edited("a\na\n", " a\n+b\n")


def test_what_a_recipe_promises_must_be_said_in_its_order() -> None:
    assert unsaid("one … three\nlast\n", "one two  three\nmore\nthe last\n") is None
    assert unsaid("last\none\n", "one\nlast\n") == "one"
