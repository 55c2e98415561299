"""The life of a process that answers questions: the catalogs, then one question after another."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Final

from optimizer.answers.compare.types import Comparison
from optimizer.answers.planning.frontier import Frontier
from optimizer.answers.planning.why_not import WhyNot
from optimizer.base.clock import LimitReached
from optimizer.base.errors import Exit, InputError, OptimizerError
from optimizer.base.memory import refuse_beyond
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.record.report import PlanReport
from optimizer.report.exits import Answered, exit_of
from optimizer.report.export import as_json
from optimizer.serve.jobs.job import JobAnswer, JobProgress
from optimizer.serve.jobs.kinds import Asked
from optimizer.serve.jobs.question import JobQuestion

ABOVE_LIMIT: Final = 1.25
"""How much memory more than that at which a search ends is refused: what is found by then is still to be told."""
NICER: Final = 5
"""How much a process stands back behind the server, where the system knows that."""
PAUSE_S: Final = 0.1
"""Between two remarks on the same step: nobody reads faster."""

Teller = Callable[[JobProgress], None]


@dataclass(frozen=True)
class Held:
    """What a process holds from its beginning to its end."""

    catalogs: Catalogs
    max_memory_gb: float


def work(connection: Connection) -> None:
    """Answers what comes through the connection, with remarks on the way, until nobody asks any more."""
    # whoever asked may have gone
    with suppress(EOFError, OSError):
        if hasattr(os, "nice"):
            # whoever asks is answered before anything is searched
            os.nice(NICER)
        held: Held = connection.recv()
        refuse_beyond(held.max_memory_gb * ABOVE_LIMIT)
        while True:
            question: JobQuestion = connection.recv()
            connection.send(answered(question, held, connection.send))


def answered(question: JobQuestion, held: Held, tell: Teller) -> JobAnswer:
    """The answer to a question; what goes wrong is told in it, and never with a traceback."""
    try:
        return _answer(question, held, tell)
    except InputError as error:
        return JobAnswer(b"", Exit.BAD_INPUT, findings=error.findings)
    except LimitReached as error:
        return JobAnswer(b"", Exit.UNPROVEN, problem=f"{error} before anything was searched")
    except MemoryError:
        return JobAnswer(b"", Exit.UNPROVEN, problem="there is not enough memory")
    except OptimizerError as error:
        return JobAnswer(b"", Exit.OUR_FAULT, problem=f"{type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001 (the last line of defence: our fault, said in one line)
        what = " ".join(str(error).split()) or "no message"
        return JobAnswer(b"", Exit.OUR_FAULT, problem=f"this is a defect of optimizer: {type(error).__name__}: {what}")


def _answer(question: JobQuestion, held: Held, tell: Teller) -> JobAnswer:
    kind = question.answering
    asked = Asked(question.read(held.catalogs), held.catalogs, question.options, max_memory_gb=held.max_memory_gb)
    remarks = _Remarks(kind.steps(asked), tell)
    answer = kind.answer(replace(asked, progress=remarks.begin, best_and_bound=remarks.best_and_bound))
    return JobAnswer.of(as_json(answer).encode(), exit_of(answer), is_whole=_is_whole(answer))


def _is_whole(answer: Answered) -> bool:
    """Whether there was time for all of it."""
    match answer:
        case PlanReport():
            return not answer.explanation.not_worked_out
        case WhyNot():
            return not answer.not_worked_out
        case Comparison():
            return all(row.verdict != "not_compared" for row in answer.choices)
        case Frontier():
            return answer.complete
        case _:
            return True


class _Remarks:
    """What is said on the way: every step, and of what changes within one no more than anybody reads."""

    def __init__(self, steps: Sequence[str], tell: Teller) -> None:
        self._tell, self._at = tell, {step: number for number, step in enumerate(steps)}
        self._known, self._told_s = JobProgress("running", steps=len(steps)), 0.0

    def begin(self, step: str) -> None:
        """A step begins."""
        self._known = replace(self._known, phase=step, step=self._at.get(step, self._known.step))
        self._say()

    def best_and_bound(self, best_usd: float | None, bound_usd: float) -> None:
        """The month of the best plan so far, where there is one, and what no plan undercuts."""
        self._known = replace(self._known, best_usd=best_usd, bound_usd=max(bound_usd, 0.0))
        if time.monotonic() - self._told_s >= PAUSE_S:
            self._say()

    def _say(self) -> None:
        self._told_s = time.monotonic()
        self._tell(self._known)
