"""The `optimizer` command run inside the test's own process."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from optimizer.cli.app import main


class Result(NamedTuple):
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Result]


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> Result:
    """Runs `optimizer` with those arguments."""
    monkeypatch.setattr("sys.argv", ["optimizer", *arguments])
    capsys.readouterr()
    code: object = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    said = capsys.readouterr()
    return Result(int(str(code or 0)), said.out, said.err)
