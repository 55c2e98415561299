"""How a sweep deals runs to workers, with workers that only pretend: nobody idles, and who dies loses one run."""

from collections import Counter, deque
from typing import Any

import pytest

from optimizer.answers.many.sweep.dealing import dealt
from optimizer.answers.many.sweep.types import RunLimits, SweepRow, SweepRun

LIMITS = RunLimits(1000)


def run(key: str, predictions: str = "one") -> SweepRun:
    return SweepRun(key, {}, None, "", predictions, levels=key)  # type: ignore[arg-type]


class Pretending:
    """A worker that answers at once, but dies of some runs as often as is said."""

    def __init__(self, deaths: Counter[str]) -> None:
        self.runs: deque[SweepRun] = deque()
        self.deaths, self.asked, self.ended = deaths, list[str](), False
        self.awaited: Any = object()

    def ask(self, run: SweepRun) -> None:
        self.asked.append(run.key)

    def answer(self) -> SweepRow | None:
        key = self.asked[-1]
        if self.deaths[key]:
            self.deaths[key] -= 1
            self.awaited = object()
            return None
        return SweepRow(key=key, inputs={}, outcome="optimal")

    def end(self) -> None:
        self.ended = True


def test_runs_that_are_predicted_alike_go_to_one_worker_until_another_is_idle() -> None:
    first, second = Pretending(Counter()), Pretending(Counter())
    runs = [*(run(f"a{number}", "many") for number in range(4)), run("b", "few")]
    rows = list(dealt(runs, [first, second], list, LIMITS))
    assert {row.key for row in rows} == {each.key for each in runs}
    assert (first.asked, second.asked) == (["a0", "a1", "a3"], ["b", "a2"]), "who is idle takes over"
    assert first.ended
    assert second.ended


@pytest.mark.parametrize(("deaths", "outcome"), [(1, "optimal"), (2, "failed")])
def test_a_run_whose_worker_dies_is_tried_once_more(deaths: int, outcome: str) -> None:
    workers = [Pretending(Counter({"b": deaths})) for _ in range(2)]
    rows = {row.key: row for row in dealt([run("a"), run("b"), run("c")], workers, list, LIMITS)}
    assert {key: row.outcome for key, row in rows.items()} == {"a": "optimal", "b": outcome, "c": "optimal"}
    assert rows["b"].reason == ("its process died: it was ended, or there is not enough memory" if deaths > 1 else "")


def test_workers_end_with_a_sweep_that_is_stopped() -> None:
    workers = [Pretending(Counter())]
    rows = dealt([run("a"), run("b")], workers, list, LIMITS)
    next(rows)
    rows.close()
    assert workers[0].ended
