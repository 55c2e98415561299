"""Rules on money and names taken out one by one: where no test fails without one, nothing holds it in place."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
LIMIT_S: Final = 900.0
PRICE_TESTS: Final = (
    "tests/inputs/test_prices_that_cannot_be.py",
    "tests/inputs/test_names_that_deceive.py",
    "tests/answers/test_imported_prices.py",
    "tests/answers/test_gate.py",
)
PRICE_RULES: Final = (
    ("inputs/catalog/entries/quantities.py", "Field(ge=LEAST_USD_PER_HOUR, ", "Field("),
    ("inputs/catalog/entries/quantities.py", "le=MOST_USD_PER_HOUR", "le=10**30"),
    ("inputs/catalog/entries/quantities.py", "le=MOST_GPUS", "le=10**30"),
    ("inputs/catalog/entries/terms.py", "le=MOST_DISCOUNT_PERCENT", "le=100"),
    ("inputs/catalog/records.py", "if months and others", "if False and others"),
    ("inputs/catalog/loading.py", "if placed.row.as_of > today:", "if False:"),
    ("inputs/catalog/loading.py", "if placed.row.as_of < shipped_day:", "if False:"),
    (
        "inputs/catalog/reading/loading_terms.py",
        "if not LEAST_USD_PER_HOUR <= price <= MOST_USD_PER_HOUR:",
        "if False:",
    ),
    ("inputs/catalog/reading/look_alikes.py", "if first != written:", "if False:"),
    ("inputs/catalog/reading/look_alikes.py", "if scripts := mixed_scripts(name):", "if scripts := '':"),
    ("inputs/catalog/reading/look_alikes.py", "if problem := unseen(name):", "if problem := '':"),
    ("inputs/catalog/usual_prices.py", "return not usual / ODD_FACTOR <= per_gpu_usd(offer)", "return not 0 <= usual"),
    ("inputs/importing/price_lists.py", "if means and said and", "if False and"),
    ("plan/grounds/odd_prices.py", "if discount is not None and", "if False and"),
    ("answers/catalog/importing.py", "if count.is_finite() and count > MOST_GPUS:", "if False:"),
    ("answers/catalog/importing.py", "if not LEAST_USD_PER_HOUR <= amount <= MOST_USD_PER_HOUR:", "if False:"),
    ("answers/catalog/importing.py", "if not amount.is_finite() or amount <= 0:", "if False:"),
    ("answers/catalog/importing.py", "if first != name:", "if False:"),
    ("answers/catalog/imported.py", "if problem := unseen(name):", "if problem := '':"),
    ("answers/catalog/imported.py", "if scripts := mixed_scripts(name):", "if scripts := '':"),
    ("answers/gate/rules/demands.py", "found += _odd(case, catalogs)", "found += []"),
    ("answers/gate/rules/demands.py", "*_missing(case, catalogs, limits), ", ""),
    ("answers/gate/rules/demands.py", "*_zero(case, catalogs, limits), ", ""),
    ("answers/gate/rules/demands.py", "*_expired(case, catalogs, limits)", ""),
)
"""File of the package, what stands there, and what stands there without the rule."""


@dataclass(frozen=True)
class Mutant:
    """The package with one check taken out.

    Attributes:
        file: Of the package.
        line: Where the check stood.
        what: The check.
        text: The file without it.
    """

    file: str
    line: int
    what: str
    text: str


def price_mutants() -> Iterator[Mutant]:
    """Every rule on money and names, each without itself.

    Raises:
        ValueError: a rule is not written as the table says, so that it would not be taken out.
    """
    for file, rule, without in PRICE_RULES:
        text = (ROOT / "optimizer" / file).read_text(encoding="utf-8")
        if rule not in text:
            raise ValueError(f"{file} does not hold {rule!r}")
        line = text.count("\n", 0, text.index(rule)) + 1
        yield Mutant(file, line, rule, text.replace(rule, without, 1))


def survives(mutant: Mutant, folder: Path) -> bool:
    """Whether every test passes on the package without the check."""
    for name in ("tests", "catalogs", "scenarios", "docs", "benchmarks", "pyproject.toml", "README.md"):
        if not (folder / name).exists():
            (folder / name).symlink_to(ROOT / name)
    if not (folder / "optimizer").exists():
        shutil.copytree(ROOT / "optimizer", folder / "optimizer", ignore=shutil.ignore_patterns("__pycache__"))
    changed = folder / "optimizer" / mutant.file
    whole = changed.read_text(encoding="utf-8")
    changed.write_text(mutant.text, encoding="utf-8")
    found = {"PYTHONPATH": f"{folder}:{folder / 'tests'}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--rootdir", str(folder)]
    try:
        ended = subprocess.run(
            [*command, *PRICE_TESTS],
            cwd=folder,
            env=os.environ | found,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
    finally:
        changed.write_text(whole, encoding="utf-8")
    return ended.returncode == 0
