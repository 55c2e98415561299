"""The progress bar that long work shows on stderr, where there is a terminal to see it."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def progress(quiet: bool, phases: Sequence[str]) -> Iterator[Callable[[str], None] | None]:
    """Something to tell the name of each phase as it begins; None where nobody looks."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=len(phases))

        def began(phase: str) -> None:
            bar.update(task, description=phase, completed=phases.index(phase))

        yield began
