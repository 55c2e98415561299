"""The wheel carries its catalogs and scenarios, and nothing that belongs to the checkout only."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from support.paths import ROOT

from optimizer.inputs.catalog.shipped import PACKAGE


def built(folder: Path) -> Path:
    """A wheel of this checkout."""
    build = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "-q", "-w", folder]
    day = {"SOURCE_DATE_EPOCH": "1750000000"}
    subprocess.run(build, check=True, capture_output=True, env=os.environ | day)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    """What it contains."""
    with ZipFile(wheel) as archive:
        return set(archive.namelist())


needs_backend = pytest.mark.skipif(
    importlib.util.find_spec("hatchling") is None or not (ROOT / "pyproject.toml").is_file(),
    reason="building needs hatchling and a checkout",
)


@needs_backend
@pytest.mark.slow("builds the wheel")
@pytest.mark.parametrize("kind", ["catalogs", "scenarios"])
def test_data_ships_in_the_wheel(kind: str, names: set[str]) -> None:
    files = [file for file in (ROOT / kind).rglob("*") if file.is_file()]
    expected = {f"optimizer/shipped/{kind}/{file.relative_to(ROOT / kind)}" for file in files}
    assert expected <= names


@needs_backend
@pytest.mark.slow("builds the wheel")
def test_the_page_ships_whole(names: set[str]) -> None:
    page = PACKAGE / "serve/page"
    files = [file for room in ("templates", "static") for file in (page / room).rglob("*") if file.is_file()]
    assert {str(file.relative_to(ROOT)) for file in files} <= names


@needs_backend
@pytest.mark.slow("builds the wheel")
def test_every_module_ships_and_no_test_does(names: set[str]) -> None:
    modules = {str(file.relative_to(ROOT)) for file in PACKAGE.rglob("*.py")}
    assert modules | {"optimizer/py.typed"} <= names
    assert not [name for name in names if name.startswith(("tests/", "docs/", "benchmarks/"))]


@needs_backend
@pytest.mark.slow("builds the wheel")
def test_the_same_checkout_builds_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    assert built(tmp_path).read_bytes() == wheel.read_bytes()
