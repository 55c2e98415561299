"""Writes .ci/lock.txt, what the check installs with every file's hash, and docs/licences.md, under which licences.

    python .ci/lock.py             the newest versions that pyproject.toml allows
    python .ci/lock.py --licences  docs/licences.md alone, from the packages installed beside this Python

Run it with a Python that holds the versions it finds (`pip install -r .ci/lock.txt`): licences are read from what is
installed there.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK, LICENCES = ROOT / ".ci" / "lock.txt", ROOT / "docs" / "licences.md"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = (
    ("manylinux2014_x86_64", "manylinux_2_27_x86_64", "manylinux_2_28_x86_64"),
    ("manylinux2014_aarch64", "manylinux_2_27_aarch64", "manylinux_2_28_aarch64"),
    ("macosx_11_0_arm64", "macosx_12_0_arm64", "macosx_13_0_arm64", "macosx_14_0_arm64"),
)
LARGE_EXTRAS = ("mcp", "parquet", "ray")
"""Left out, for a check would install 135 MB for two tests, and ten packages that nothing else needs,
cryptography among them, for one file of tests: these are skipped where the libraries are not."""
HEAD = """\
# What `.ci/run` installs: every package with its version and the hashes of its files for Python 3.11 to 3.14 on Linux
# (x86-64, arm64) and macOS (arm64). Written by `python .ci/lock.py`.
"""
PAGE = """\
# Licences of what is installed

What `pip install .` brings with it and what the check of a change adds, each under the licence that its own package
states. This page is written by `python .ci/lock.py`; prices, figures and measurements in the catalogs name their
sources and licences row by row (`optimizer catalog list sources`). Files of others that ship
with the page are listed in `optimizer/serve/page/static/vendor/vendored.csv`, their licences beside them.

| package | licence | version that was checked |
|---|---|---|
"""


def requirements() -> list[str]:
    """Everything that pyproject.toml asks for, build system and all but the large extras among it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"].items()
    wanted = (each for name, group in extras if name not in LARGE_EXTRAS for each in group)
    return sorted({*project["build-system"]["requires"], *project["project"]["dependencies"], *wanted})


def resolved(python: str, platforms: tuple[str, ...], known: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Version and hash of each package as pip would install it there; versions found before are kept."""
    with tempfile.TemporaryDirectory() as folder:
        report, constraints = Path(folder) / "report.json", Path(folder) / "constraints.txt"
        constraints.write_text("".join(f"{name}=={version}\n" for name, version in sorted(known.items())))
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed"]
        command += ["--only-binary", ":all:", "--target", folder, "--python-version", python, "--report", str(report)]
        command += [part for each in platforms for part in ("--platform", each)]
        subprocess.run([*command, "-c", str(constraints), *requirements()], check=True)
        installed = json.loads(report.read_text(encoding="utf-8"))["install"]
    return {
        each["metadata"]["name"].lower().replace("_", "-"): (
            each["metadata"]["version"],
            each["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        for each in installed
    }


def write_lock() -> None:
    """One version of each package for all Pythons and platforms."""
    known: dict[str, str] = {}
    hashes: dict[str, set[str]] = {}
    for python in PYTHONS:
        for platforms in PLATFORMS:
            for name, (version, sha256) in resolved(python, platforms, known).items():
                known[name] = version
                hashes.setdefault(name, set()).add(sha256)
            print(python, platforms[0], len(known), flush=True)
    lines = (
        f"{name}=={version}" + "".join(f" \\\n    --hash=sha256:{each}" for each in sorted(hashes[name]))
        for name, version in sorted(known.items())
    )
    LOCK.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


def locked() -> dict[str, str]:
    """Version of each locked package."""
    pairs = (line.split(" ")[0].split("==") for line in LOCK.read_text(encoding="utf-8").splitlines() if "==" in line)
    return dict(pairs)


def licence(name: str) -> str | None:
    """What the installed package says: its expression, else its classifiers, else its one-line text."""
    try:
        said = metadata(name)
    except PackageNotFoundError:
        return None
    kinds = [each.rpartition(" :: ")[2] for each in said.get_all("Classifier", []) if each.startswith("License ::")]
    written = (said.get("License") or "").strip().splitlines()
    return (
        said.get("License-Expression") or " or ".join(kinds) or (written[0] if len(written) == 1 else "see its files")
    )


def write_licences() -> None:
    """One row a locked package; where it is not installed, the row stays as it was."""
    before = LICENCES.read_text(encoding="utf-8") if LICENCES.is_file() else ""
    old = {
        line.split("|")[1].strip(): line.split("|")[2].strip() for line in before.splitlines() if line.count("|") == 4
    }
    rows = (
        f"| {name} | {licence(name) or old.get(name, 'not known')} | {version} |\n"
        for name, version in locked().items()
    )
    LICENCES.write_text(PAGE + "".join(rows), encoding="utf-8")


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--licences", action="store_true")
    if not arguments.parse_args().licences:
        write_lock()
    write_licences()


if __name__ == "__main__":
    main()
