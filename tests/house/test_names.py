"""One name, one class: whoever reads a class's name knows which one is meant."""

import ast
from collections import defaultdict

from optimizer.inputs.catalog.shipped import PACKAGE


def test_no_two_modules_define_a_class_of_one_name() -> None:
    modules: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                modules[node.name].add(str(path.relative_to(PACKAGE)))
    assert not {name: sorted(paths) for name, paths in modules.items() if len(paths) > 1}
