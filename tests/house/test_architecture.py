"""The house keeps its shape: imports point one way, none hides in a function, hardware numbers stay in catalogs."""

import ast
import contextlib
import io
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from importlinter import cli
from support.paths import ROOT

from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.inputs.catalog.shipped import PACKAGE

MODULES = sorted(PACKAGE.rglob("*.py"))
MAX_LINES = 350
HARDWARE = re.compile(
    r"\b(h100|h200|a100|b200|b300|gb200|gb300|mi300x|mi325x|mi355x|l40s|rtx\d{4}|tpu-v\d)", re.IGNORECASE
)


@pytest.mark.skipif(not (ROOT / "pyproject.toml").is_file(), reason="the contracts stand in the checkout")
def test_import_contracts_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = cli.lint_imports(no_cache=True)
    assert code == 0, said.getvalue()


DOORS = {PACKAGE / name for name in ("__init__.py", "cli/calls.py", "cli/commands.py", "inputs/scenario/__init__.py")}
"""Modules that hand on names of others and load each at its first use; their imports stand under one condition."""


@pytest.fixture(scope="module")
def read() -> Callable[[Path], ast.Module]:
    """A module's syntax, read once."""
    return cache(lambda path: ast.parse(path.read_text(encoding="utf-8")))


def test_imports_stand_at_the_top(read: Callable[[Path], ast.Module]) -> None:
    assert [hidden for path in MODULES for hidden in _hidden_imports(path, read(path))] == []


def _hidden_imports(path: Path, tree: ast.Module) -> Iterator[str]:
    """Imports inside a function or a condition, or relative to where they stand."""
    doors = [node for node in tree.body if path in DOORS and isinstance(node, ast.If)]
    top = {id(node) for node in (*tree.body, *(line for door in doors for line in door.body))}
    for node in ast.walk(tree):
        relative = isinstance(node, ast.ImportFrom) and bool(node.level)
        if isinstance(node, ast.Import | ast.ImportFrom) and (id(node) not in top or relative):
            yield f"{path.relative_to(PACKAGE)}:{node.lineno}"


def test_a_module_reads_in_one_sitting_and_says_what_it_is(read: Callable[[Path], ast.Module]) -> None:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert [str(path) for path, count in lines.items() if count > MAX_LINES] == []
    assert [str(path) for path in MODULES if not ast.get_docstring(read(path))] == []


SAID = [
    path
    for path in MODULES
    if path.relative_to(PACKAGE).parts[0] in {"answers", "plan", "report"} and "verify" not in path.parts
]
"""Where sentences are made that people read; verification says what it found to six digits."""


def test_no_number_is_written_with_an_exponent(read: Callable[[Path], ast.Module]) -> None:
    written = [line for path in SAID for line in _with_exponents(path, read(path))]
    assert written == [], "write figure(…) of optimizer/base/figures.py"


def _with_exponents(path: Path, tree: ast.Module) -> Iterator[str]:
    """Numbers that are written to so many digits, and not read again."""
    read_again = {
        id(node)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func) in {"float", "Decimal", "Fraction"}
        for node in ast.walk(call)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.FormattedValue)
            and isinstance(node.format_spec, ast.JoinedStr)
            and str(getattr(node.format_spec.values[-1], "value", "")).endswith("g")
            and id(node) not in read_again
        ):
            yield f"{path.relative_to(PACKAGE)}:{node.lineno}"


def test_no_gpu_is_named_in_the_physics_or_the_program() -> None:
    known = {gpu.casefold() for gpu in load_catalogs().gpus}
    assert "h100-sxm" in known
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {node.value}"
        for room in ("performance", "program", "base")
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for node in ast.walk(_without_docstrings(ast.parse(path.read_text(encoding="utf-8"))))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and HARDWARE.search(node.value)
    ]
    assert not found


def _without_docstrings(tree: ast.Module) -> ast.Module:
    """The same module with every bare string statement taken out."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # type: ignore[attr-defined]
                item for item in body if not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))
            ]
    return tree
