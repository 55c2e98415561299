"""docs/risk.md shows what `optimizer risk` prints."""

import re

import pytest
from support.command import Command
from support.paths import ROOT

PAGE = ROOT / "docs" / "risk.md"
SHOWN = re.compile(r"```sh\noptimizer (risk [^\n]*)\n```\n\n```text\n(.*?)```", re.DOTALL)

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the page stands in the checkout")


@pytest.mark.slow("plans two scenarios and draws each forty times")
def test_the_page_is_what_the_command_prints(optimizer: Command) -> None:
    shown = SHOWN.findall(PAGE.read_text(encoding="utf-8"))
    assert len(shown) == 2
    for command, text in shown:
        assert optimizer(*command.split()).out == text
