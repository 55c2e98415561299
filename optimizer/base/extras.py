"""Libraries that only some commands need: loaded when asked for, so that neither start-up nor a plan pays for them."""

import importlib
from types import ModuleType

from optimizer.base.errors import Finding, InputError


def optional(name: str, *, extra: str) -> ModuleType:
    """The module of that name.

    Args:
        name: Full name of the module.
        extra: The optional dependency group of this package that installs it.

    Raises:
        InputError: it is not installed; says which command installs it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        library = name.split(".", maxsplit=1)[0]
        hint = f"pip install 'llm-deployment-optimizer[{extra}]'"
        raise InputError([Finding("this command", 0, "", f"needs {library}, which is not installed", hint)]) from error
