"""Installs the lowest and the newest versions that pyproject.toml allows and plans on both: the same plan, or it fails.

    python .ci/bounds.py

Only what runs is held to its bounds; tools of tests and style have those of .ci/lock.txt.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PLAN = ("plan", "chat-8b", "--format", "json", "--quiet")
OTHERS = (
    ("--version",),
    ("compare", "ci-gate", "--by", "provider", "--format", "xlsx", "--output", "{folder}/sheet.xlsx", "--quiet"),
    ("report", "ci-gate", "--output", "{folder}/page.html", "--quiet"),
    ("validate", str(ROOT / "catalogs" / "measurements.csv")),
)
EXTRAS = ("report", "sheet")


def bounded() -> list[str]:
    """What runs, as pyproject.toml asks for it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *(each for name in EXTRAS for each in project["optional-dependencies"][name])]


def planned(requirements: list[str], folder: Path) -> Any:
    """The plan of an environment with those versions; whatever fails there ends this."""
    python = folder / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--only-binary", ":all:", "hatchling", *requirements], check=True)
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", str(ROOT)], check=True)
    optimizer = [python.with_name("optimizer")]
    for arguments in OTHERS:
        said = [each.format(folder=folder) for each in arguments]
        subprocess.run([*optimizer, *said], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    found = subprocess.run([*optimizer, *PLAN], check=True, cwd=folder, capture_output=True, text=True)
    plan = json.loads(found.stdout)
    del plan["solver"]["wall_s"]
    return plan


def main() -> None:
    newest = bounded()
    # 9.15 stands for the first 9.15.N that was published
    lowest = [re.sub(r">=([^,]+),.*", r"==\1", each).replace("ortools==9.15", "ortools==9.15.*") for each in newest]
    plans = []
    for end, requirements in (("lowest", lowest), ("newest", newest)):
        with tempfile.TemporaryDirectory() as folder:
            plans.append(planned(requirements, Path(folder)))
        print(f"{end}: {', '.join(requirements)}: {plans[-1]['explanation']['summary']}", flush=True)
    if plans[0] != plans[1]:
        sys.exit("the plans of both ends differ")


if __name__ == "__main__":
    main()
