"""Questions put to all services at once: in this process, or side by side in several, each with services of its own.

A service stays with its process, which keeps its predictions. Answers come in the order of the questions, so that any
number of processes gives the same portfolio; time limits aside, which end searches where the machine has got to.
"""

import multiprocessing
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import Any, Protocol, TypeAlias

from optimizer.answers.portfolio.services import Services
from optimizer.answers.portfolio.types import PortfolioInputs
from optimizer.base.errors import SolverFailure

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
        # a new interpreter: a copy of this one would copy its threads' locks without the threads
        context = multiprocessing.get_context("spawn")
        self._processes, self._connections = [], []
        for _ in range(min(jobs, len(known.scenarios))):
            here, there = context.Pipe()
            process = context.Process(target=_work, args=(there,), daemon=True)
            process.start()
            there.close()
            self._processes.append(process)
            self._connections.append(here)
        for connection in self._connections:
            connection.send(known)

    def answers(self, questions: Sequence[Question]) -> list[Any]:
        """A process whose answer has come has its next question.

        Raises:
            SolverFailure: a process died.
        """
        found: list[Any] = [None] * len(questions)
        left: list[deque[int]] = [deque() for _ in self._connections]
        for position, (number, *_) in enumerate(questions):
            left[number % len(left)].append(position)
        at_work: dict[Any, tuple[int, int]] = {}

        def hand_over(worker: int) -> None:
            if left[worker]:
                position = left[worker].popleft()
                self._connections[worker].send(questions[position])
                at_work[self._connections[worker]] = worker, position

        for worker in range(len(left)):
            hand_over(worker)
        while at_work:
            for ready in wait(list(at_work)):
                worker, position = at_work.pop(ready)
                try:
                    answer = self._connections[worker].recv()
                except (EOFError, OSError) as error:
                    raise SolverFailure("a process died: it was ended, or there is not enough memory") from error
                if isinstance(answer, Exception):
                    raise answer
                found[position] = answer
                hand_over(worker)
        return found

    def close(self) -> None:
        """At once, whatever they are at."""
        for connection, process in zip(self._connections, self._processes, strict=True):
            connection.close()
            process.kill()
            process.join()


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
                connection.send(_answer(services, question))
            except Exception as error:  # noqa: BLE001 (raised again where it was asked)
                connection.send(error)
    except (EOFError, OSError):
        # whoever asked has gone
        return
