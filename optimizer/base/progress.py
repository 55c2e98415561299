"""How long work says where it is: one callable, told the name of each step as it begins."""

from collections.abc import Callable

Progress = Callable[[str], None]


def silent(_: str) -> None:
    """No-op progress callback."""
