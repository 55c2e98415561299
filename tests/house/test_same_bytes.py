"""The same scenario gives the same bytes in every process, however Python hashes."""

import os
import re
import subprocess
import sys

SECONDS = re.compile(r'"wall_s": [0-9.e-]+')


def command(seed: str) -> subprocess.Popen[str]:
    """A process of its own that plans."""
    arguments = [sys.executable, "-m", "optimizer", "plan", "mixed-chat-rag", "--format", "json", "--quiet"]
    environment = os.environ | {"PYTHONHASHSEED": seed}
    return subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, encoding="utf-8")


def test_plans_do_not_depend_on_the_hash_seed() -> None:
    with command("1") as first, command("4242") as second:
        said = [first.communicate()[0], second.communicate()[0]]
    assert (first.returncode, second.returncode) == (0, 0)
    texts = [SECONDS.subn('"wall_s": 0', text) for text in said]
    assert [replaced for _, replaced in texts] == [1, 1]
    assert texts[0] == texts[1]
