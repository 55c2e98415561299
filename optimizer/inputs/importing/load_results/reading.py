"""A file of results, whichever tool wrote it: its format known by its keys, every run as one record."""

from pathlib import Path

from optimizer.base.errors import Finding, InputError
from optimizer.inputs.importing.load_results.record import LoadResult


def read_results(path: Path) -> tuple[LoadResult, ...]:
    """Every run in a file, in the order they stand.

    Args:
        path: A result file of any tool in `formats`.

    Returns:
        At least one run. Those that should not be used say so themselves (`flaws`; `unfit` asks for all of them).

    Raises:
        InputError: no such file, no known format, a version nobody knows, or figures that cannot be read.
    """
    raise InputError([Finding(str(path), 0, "", "no known result file")])
