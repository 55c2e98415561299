"""What is compared to the letter: the files in tests/golden and the pages of docs/ that the code writes."""

from collections.abc import Callable
from difflib import unified_diff
from pathlib import Path

import pytest

from support.paths import ROOT

Golden = Callable[[Path, str], None]
MAX_LINES = 60
HINT = "if this change is intended: python -m pytest --update-golden, then read the difference before committing it"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes what the tests would otherwise only compare."""
    parser.addoption("--update-golden", action="store_true", help="write golden files and generated pages anew")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Fails with the difference when a file does not hold a text; with `--update-golden` writes it instead."""
    if request.config.getoption("update_golden"):
        return lambda path, text: path.write_bytes(text.encode())
    return same


def same(path: Path, text: str) -> None:
    """Fails unless the file holds the text."""
    stored = path.read_bytes().decode() if path.is_file() else ""
    if stored == text:
        return
    names = (f"{path.relative_to(ROOT)} as stored", "as the code writes it today")
    lines = list(unified_diff(stored.splitlines(), text.splitlines(), *names, lineterm="", n=1))
    lines = lines or ["only the ends of lines differ"]
    more = [f"... and {len(lines) - MAX_LINES} lines more"] if len(lines) > MAX_LINES else []
    pytest.fail("\n".join([*lines[:MAX_LINES], *more, HINT]), pytrace=False)
