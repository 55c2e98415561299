"""Imports that wait until a name is used, so that a command pays for what it does and not for what others do.

A door is a module that only hands on names of others. It writes its imports under `if TYPE_CHECKING:`, where type
checkers and import contracts read them, and takes `on_first_use` as its `__getattr__`, which reads the same lines
(PEP 562).
"""

import ast
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any


def on_first_use(door: str) -> Callable[[str], Any]:
    """The `__getattr__` of a door: performs the import that its source states for a name, and keeps the result.

    Args:
        door: The module's own `__name__`.

    Raises:
        AttributeError: by what is returned, for a name that no import of the door states.
    """
    homes: dict[str, tuple[str, str]] = {}

    def loaded(name: str) -> Any:
        if not homes:
            homes.update(_promised(door))
        if name not in homes:
            raise AttributeError(f"module '{door}' has no attribute '{name}'")
        module, attribute = homes[name]
        value = getattr(importlib.import_module(module), attribute)
        setattr(sys.modules[door], name, value)
        return value

    return loaded


def _promised(door: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Each name that the door's imports under a condition give, with the module and the name that it has there."""
    loader: Any = sys.modules[door].__loader__
    for condition in ast.parse(loader.get_source(door)).body:
        if isinstance(condition, ast.If):
            for line in condition.body:
                if isinstance(line, ast.ImportFrom) and line.module:
                    yield from ((each.asname or each.name, (line.module, each.name)) for each in line.names)
