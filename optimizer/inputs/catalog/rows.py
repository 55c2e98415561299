"""A CSV file of deployments, every cell kept as the text it is, so that untouched columns leave as they came."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pandas as pd

from optimizer.base.errors import Finding, InputError, did_you_mean, refuse
from optimizer.base.files import read_bytes
from optimizer.base.signs import PROSE, unseen

SEPARATORS: Final = {b";": "semicolons", b"\t": "tabs"}
"""What other programs put between the columns of a CSV file, by its sign."""


def read_rows(path: Path, required: Iterable[str]) -> pd.DataFrame:
    """The file as a table of text.

    Args:
        path: A CSV file in UTF-8 with one row of headings.
        required: Columns without which no row can be read.

    Raises:
        InputError: no such file, not CSV, no heading, a column missing or standing twice, a cell that holds a sign
            that nobody sees.
    """
    cells = _cells(path)
    headings = [str(name) for name in cells.iloc[0]]
    refuse([*_missing(path, headings, required), *_repeated(path, headings), *_hidden(path, cells, headings)])
    frame = cells.iloc[1:].reset_index(drop=True)
    frame.columns = pd.Index(headings)
    return frame


def _cells(path: Path) -> pd.DataFrame:
    """Headings and rows; the headings are read as a row so that no reader renames or drops one."""
    content = read_bytes(path)
    separator = _other_separator(content)
    if separator is not None:
        hint = "save it with commas between columns, and a decimal point in numbers"
        raise InputError([Finding(str(path), 1, "", f"its columns are separated by {separator}", hint)])
    try:
        frame = pd.read_csv(
            io.BytesIO(content),
            header=None,
            dtype=str,
            keep_default_na=False,
            index_col=False,
            encoding="utf-8-sig",
            low_memory=False,
        )
    except pd.errors.EmptyDataError as error:
        raise InputError([Finding(str(path), 0, "", "the file is empty", "the first row names the columns")]) from error
    except UnicodeDecodeError as error:
        raise InputError(
            [Finding(str(path), 0, "", "is not text in UTF-8", "save it as a CSV file in UTF-8")]
        ) from error
    except ValueError as error:
        problem = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
        raise InputError([Finding(str(path), 0, "", f"cannot be read as CSV: {problem}")]) from error
    return frame.fillna("")


def _other_separator(content: bytes) -> str | None:
    """What separates the columns of the first row, where that has no comma."""
    first = content.partition(b"\n")[0]
    return next((name for sign, name in SEPARATORS.items() if sign in first and b"," not in first), None)


def _missing(path: Path, headings: list[str], required: Iterable[str]) -> Iterable[Finding]:
    for name in required:
        if name not in headings:
            hint = did_you_mean(name, headings)
            yield Finding(str(path), 1, name, "this column is missing", hint)


def _hidden(path: Path, cells: pd.DataFrame, headings: list[str]) -> Iterable[Finding]:
    """Cells that hold what nobody sees; a row of the table is taken for a line of the file."""
    for column, name in enumerate(headings):
        if unseen("".join(cells[column]), lines=True):
            for row, cell in enumerate(cells[column]):
                if problem := unseen(cell, lines=True, prose=name in PROSE):
                    yield Finding(str(path), row + 1, name, problem, "write it without")


def _repeated(path: Path, headings: list[str]) -> Iterable[Finding]:
    for name in sorted({name for name in headings if headings.count(name) > 1}):
        yield Finding(str(path), 1, name, "this column stands twice", "keep one")
