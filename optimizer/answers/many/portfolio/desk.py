"""Questions put to all services at once: in this process, or side by side in several, each with services of its own.

A service stays with its process, which keeps its predictions. Answers come in the order of the questions, so that any
number of processes gives the same portfolio; time limits aside, which end searches where the machine has got to.
"""

from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import Any, Protocol, TypeAlias

from optimizer.answers.many.portfolio.services import Services
from optimizer.answers.many.portfolio.types import PortfolioInputs
from optimizer.base.errors import SolverFailure
from optimizer.base.workers import WorkerProcess

Question: TypeAlias = tuple[int, str, tuple[Any, ...]]
"""The number of a service, the method of `Services` and what else it is told."""


class Desk(Protocol):
    """Whoever answers questions about services."""

    def answers(self, questions: Sequence[Question]) -> list[Any]:
        """What is answered, in the order asked."""

    def close(self) -> None:
        """No more questions."""


def desk_of(known: PortfolioInputs, jobs: int) -> Desk:
    """A desk of so many processes; more than one need the usual `if __name__ == "__main__":` in a script."""
    return _Here(known) if jobs == 1 or len(known.scenarios) == 1 else _Processes(known, jobs)


class _Here:
    """Everything in this process."""

    def __init__(self, known: PortfolioInputs) -> None:
        self._services = Services(known)

    def answers(self, questions: Sequence[Question]) -> list[Any]:
        return [_answer(self._services, question) for question in questions]

    def close(self) -> None:
        """There is nothing to end."""


class _Processes:
    """Processes that are asked one question at a time."""

    def __init__(self, known: PortfolioInputs, jobs: int) -> None:
        self._workers = [WorkerProcess(_work, known) for _ in range(min(jobs, len(known.scenarios)))]

    def answers(self, questions: Sequence[Question]) -> list[Any]:
        """A process whose answer has come has its next question.

        Raises:
            SolverFailure: a process died, and with it what was worked out for its services.
        """
        found: list[Any] = [None] * len(questions)
        left: list[deque[int]] = [deque() for _ in self._workers]
        for position, (number, *_) in enumerate(questions):
            left[number % len(left)].append(position)
        # connection -> the process behind it, the positions that it is still to answer, the one that it is at
        at_work: dict[Any, tuple[WorkerProcess, deque[int], int]] = {}
        for worker, own in zip(self._workers, left, strict=True):
            if own:
                at_work[worker.connection] = worker, own, _next(worker, own, questions)
        while at_work:
            for ready in wait(list(at_work)):
                worker, own, position = at_work.pop(ready)
                answer = worker.answer()
                if answer is None:
                    raise SolverFailure("a process died: it was ended, or there is not enough memory")
                found[position], error = answer
                if error is not None:
                    raise error
                if own:
                    at_work[worker.connection] = worker, own, _next(worker, own, questions)
        return found

    def close(self) -> None:
        """At once, whatever they are at."""
        for worker in self._workers:
            worker.end()


def _next(worker: WorkerProcess, own: deque[int], questions: Sequence[Question]) -> int:
    """The position of the question that a process is handed."""
    position = own.popleft()
    worker.ask(questions[position])
    return position


def _answer(services: Services, question: Question) -> Any:
    number, method, told = question
    return getattr(services, method)(number, *told)


def _work(connection: Any) -> None:
    """The life of a process: what is known, then questions, until nobody asks any more."""
    try:
        services = Services(connection.recv())
        while True:
            question = connection.recv()
            try:
                connection.send((_answer(services, question), None))
            except Exception as error:  # noqa: BLE001 (raised again where it was asked)
                connection.send((None, error))
    except (EOFError, OSError):
        # whoever asked has gone
        return
