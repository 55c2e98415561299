"""The wheel carries its catalogs and scenarios, and nothing that belongs to the checkout only."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from support.paths import ROOT

from optimizer.inputs.catalog.shipped import PACKAGE


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What a wheel built from this checkout contains."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "-q", "-w", folder]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = Path(folder).glob("*.whl")
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
def test_every_module_ships_and_no_test_does(names: set[str]) -> None:
    modules = {str(file.relative_to(ROOT)) for file in PACKAGE.rglob("*.py")}
    assert modules | {"optimizer/py.typed"} <= names
    assert not [name for name in names if name.startswith(("tests/", "docs/", "benchmarks/"))]
