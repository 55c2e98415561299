"""What a user sees of long work: a bar on stderr."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar


class ProgressBar:
    """A bar on stderr: told the name of each step as it begins, and what is known of the plan by then."""

    def __init__(self, bar: Bar, steps: Sequence[str], alike: bool) -> None:
        self._bar, self._task = bar, bar.add_task("reading", total=len(steps), known="")
        self._steps, self._alike = {step: at for at, step in enumerate(steps)}, alike
        self._first: tuple[int, float] | None = None

    def __call__(self, step: str) -> None:
        """A step begins."""
        done = self._steps[step]
        self._bar.update(self._task, description=step, completed=done)
        if self._alike:
            self._bar.update(self._task, known=self._pace(done))

    def _pace(self, done: int) -> str:
        """How many steps go by in a minute, and how long the others will take at that."""
        first, began_s = self._first = self._first or (done, time.monotonic())
        if done == first:
            return ""
        each_s = (time.monotonic() - began_s) / (done - first)
        left = timedelta(seconds=round(each_s * (len(self._steps) - done)))
        return f"{60 / each_s:,.0f} a minute, {left} left"

    def best_and_bound(self, best_usd: float | None, bound_usd: float) -> None:
        """The month of the best plan so far, where there is one, and what no plan undercuts."""
        best = "no plan yet" if best_usd is None else f"best ${best_usd:,.2f}"
        self._bar.update(self._task, known=f"{best}, none below ${max(bound_usd, 0.0):,.2f}")


@contextmanager
def progress_bar(steps: Sequence[str], alike: bool) -> Iterator[ProgressBar]:
    """A bar on stderr while steps go by; of steps alike it says how long the others will take."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[known]}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        yield ProgressBar(bar, steps, alike)
