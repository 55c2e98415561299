"""The house keeps its shape: imports point one way, none hides in a function, hardware numbers stay in catalogs."""

import ast
import contextlib
import io
import re
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


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_stand_at_the_top(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    doors = [node for node in tree.body if path in DOORS and isinstance(node, ast.If)]
    top = {id(node) for node in (*tree.body, *(line for door in doors for line in door.body))}
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    hidden = [node.lineno for node in imports if id(node) not in top]
    assert not hidden, f"imports inside a function or a condition on lines {hidden}"
    assert not [node.lineno for node in imports if isinstance(node, ast.ImportFrom) and node.level]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_reads_in_one_sitting_and_says_what_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES
    assert ast.get_docstring(ast.parse(text))


SAID = [
    path
    for path in MODULES
    if path.relative_to(PACKAGE).parts[0] in {"answers", "plan", "report"} and "verify" not in path.parts
]
"""Where sentences are made that people read; verification says what it found to six digits."""


@pytest.mark.parametrize("path", SAID, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_number_is_written_with_an_exponent(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    read_again = {
        id(node)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func) in {"float", "Decimal", "Fraction"}
        for node in ast.walk(call)
    }
    written = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.FormattedValue)
        and isinstance(node.format_spec, ast.JoinedStr)
        and str(getattr(node.format_spec.values[-1], "value", "")).endswith("g")
        and id(node) not in read_again
    ]
    assert not written, f"write figure(…) of optimizer/base/figures.py on lines {written}"


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
