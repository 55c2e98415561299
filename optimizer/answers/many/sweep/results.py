"""The folder of a sweep: what was worked out before, each row as it comes, and all of them in the end.

Rows are appended to a second file while a sweep runs, so that nothing finished is lost however it ends; the results
themselves are written whole.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TextIO

from pydantic import ValidationError

from optimizer.answers.many.sweep.types import RunLimits, SweepRow, SweepRun
from optimizer.base.errors import Finding, InputError
from optimizer.base.files import read_text, reason, write_text

RESULTS: Final = "results.jsonl"
UNFINISHED: Final = "results.partial.jsonl"


class SweepFolder:
    """Where the rows of a sweep are kept."""

    def __init__(self, folder: Path) -> None:
        """Makes the folder and reads the rows in it.

        Raises:
            InputError: it cannot be made or written, or a file in it is none of a sweep's.
        """
        self._results, self._unfinished = folder / RESULTS, folder / UNFINISHED
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            problem = f"{folder} cannot be made: {reason(error)}"
            raise InputError([Finding("--output", 0, "", problem, "give a folder, in one that exists")]) from error
        self.known = {row.key: row for path in (self._results, self._unfinished) for row in _rows(path)}
        self._stream: TextIO | None = None

    def begin(self) -> None:
        """Rows follow: those that were known stay, and a line that was cut off by the end of a process goes.

        Raises:
            InputError: the folder cannot be written.
        """
        write_text(self._unfinished, _lines(self.known.values()), over_inputs=True)
        self._stream = self._unfinished.open("a", encoding="utf-8")

    def add(self, row: SweepRow) -> None:
        """Keeps a row, whatever happens next.

        Raises:
            InputError: it cannot be written; those before it stay.
        """
        if self._stream is None:
            raise ValueError("the folder was not opened for rows")
        whole = os.fstat(self._stream.fileno()).st_size
        try:
            self._stream.write(_lines([row]))
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            # half a line goes, and what is still to be written of it
            with suppress(OSError):
                self._stream.close()
            with suppress(OSError):
                os.truncate(self._unfinished, whole)
            problem = f"cannot be written: {reason(error)}"
            raise InputError([Finding(str(self._unfinished), 0, "", problem, "make room and go on")]) from error

    def finish(self, rows: Sequence[SweepRow]) -> None:
        """Writes the results in the order of the sweep; rows that it does not list stay beside them.

        Raises:
            InputError: they cannot be written.
        """
        if self._stream is not None:
            self._stream.close()
        write_text(self._results, _lines(rows), over_inputs=True)
        listed = {row.key for row in rows}
        others = [row for key, row in self.known.items() if key not in listed]
        if others:
            write_text(self._unfinished, _lines(others), over_inputs=True)
        else:
            self._unfinished.unlink(missing_ok=True)


def stands(row: SweepRow, limits: RunLimits) -> bool:
    """Whether a row need not be worked out again: nothing more would come of it within these limits."""
    cut_short_alike = limits.time_limit_s is None and row.work_limit == limits.work_limit
    return row.proven or (row.outcome != "failed" and cut_short_alike)


def as_asked(row: SweepRow, run: SweepRun) -> SweepRow:
    """A row as this run lists it: the same question may be asked in other words."""
    return row.model_copy(update={"inputs": dict(run.inputs)})


def by_key(rows: Iterable[SweepRow], limits: RunLimits) -> Mapping[str, SweepRow]:
    """The rows that stand, by what was asked."""
    return {row.key: row for row in rows if stands(row, limits)}


def _lines(rows: Iterable[SweepRow]) -> str:
    return "".join(json.dumps(row.model_dump(mode="json"), ensure_ascii=False) + "\n" for row in rows)


def _rows(path: Path) -> list[SweepRow]:
    """The rows of a file; its last line may have been cut off.

    Raises:
        InputError: another line is no row of a sweep.
    """
    if not path.exists():
        return []
    rows, lines = [], read_text(path).splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            rows.append(SweepRow.model_validate_json(line))
        except ValidationError as error:
            if number < len(lines):
                hint = "move it away, or give another folder to --output"
                raise InputError([Finding(str(path), number, "", "is no row of a sweep", hint)]) from error
    return rows
