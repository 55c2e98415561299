"""What a user sees of long work: a bar on stderr."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar


class ProgressBar:
    """A bar on stderr: told the name of each step as it begins, and what is known of the plan by then."""

    def __init__(self, bar: Bar, steps: Sequence[str]) -> None:
        self._bar, self._steps, self._task = bar, steps, bar.add_task("reading", total=len(steps), known="")

    def __call__(self, step: str) -> None:
        """A step begins."""
        self._bar.update(self._task, description=step, completed=self._steps.index(step))

    def best_and_bound(self, best_usd: float | None, bound_usd: float) -> None:
        """The month of the best plan so far, where there is one, and what no plan undercuts."""
        best = "no plan yet" if best_usd is None else f"best ${best_usd:,.2f}"
        self._bar.update(self._task, known=f"{best}, none below ${max(bound_usd, 0.0):,.2f}")


@contextmanager
def watched(steps: Sequence[str], quiet: bool) -> Iterator[ProgressBar | None]:
    """A bar on stderr; None where no terminal would show it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[known]}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        yield ProgressBar(bar, steps)
