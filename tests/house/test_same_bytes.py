"""The same scenario gives the same bytes in every process, however Python hashes."""

import os
import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from support.shared import MOST_WORK

from optimizer.plan.record.report import PlanReport
from optimizer.report.export import as_json

SECONDS = re.compile(r'"wall_s": [0-9.e-]+')
PLANNED = """
import sys
from optimizer import load_catalogs, load_scenario, optimize
from optimizer.report.export import as_json

sys.stdout.write(as_json(optimize(load_scenario(sys.argv[1]), load_catalogs(), work_limit=int(sys.argv[2]))))
"""
"""As the run plans it: what a limit on work leaves out does not depend on how busy the machine is."""


@pytest.mark.slow("plans a second time in a process of its own")
def test_plans_do_not_depend_on_the_hash_seed(planned: Callable[[str], PlanReport]) -> None:
    """A process with a seed of its own says what a process of this run planned under another."""
    own = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    there = subprocess.run(
        [sys.executable, "-c", PLANNED, "mixed-chat-rag", str(MOST_WORK)],
        env=os.environ | {"PYTHONHASHSEED": own},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    ).stdout
    texts = [SECONDS.subn('"wall_s": 0', text) for text in (as_json(planned("mixed-chat-rag")), there)]
    assert [replaced for _, replaced in texts] == [1, 1]
    assert texts[0] == texts[1]
