"""Where the catalogs and scenarios that come with the package are."""

from pathlib import Path
from typing import Literal

PACKAGE = Path(__file__).parents[2]


def shipped_dir(kind: Literal["catalogs", "scenarios"]) -> Path:
    """The shipped folder: inside the package when installed from a wheel, beside it in a checkout."""
    inside = PACKAGE / "shipped" / kind
    return inside if inside.is_dir() else PACKAGE.parent / kind
