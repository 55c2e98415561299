"""A service whose processes are threads of the test: answers at once, or not before somebody lets them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from starlette.testclient import TestClient

from optimizer.base.errors import Exit
from optimizer.inputs.catalog.records import Catalogs
from optimizer.serve.application import application
from optimizer.serve.http.safety import Admission
from optimizer.serve.jobs import service as door
from optimizer.serve.jobs.job import JobAnswer, JobProgress
from optimizer.serve.jobs.question import JobQuestion
from optimizer.serve.jobs.service import JobService, ServiceLimits

ADDRESS = "http://127.0.0.1:8080"
Answering = Callable[[JobQuestion], "JobAnswer | None"]
"""What a process says of a question; None where it dies of it."""


def at_once(question: JobQuestion) -> JobAnswer:
    """An answer that quotes the options."""
    return JobAnswer.of(f'{{"kind": "{question.kind}"}}\n'.encode(), Exit.ANSWERED)


class ThreadedWorker:
    """Stands for a process, with one remark before each answer."""

    def __init__(self, answering: Answering) -> None:
        self._answering, self._said, self.is_killed = answering, list[Any](), False

    def ask(self, question: JobQuestion) -> None:
        """Takes a question."""
        self._said = [JobProgress("running", "solving", 1, 6, 110.0, 100.0), question]

    def answer(self) -> Any:
        """The remark, then the answer, or nothing where it was killed meanwhile."""
        said = self._said.pop(0)
        if not isinstance(said, JobQuestion):
            return said
        answer = self._answering(said)
        return None if self.is_killed else answer

    def kill(self) -> None:
        """Ends what it is at."""
        self.is_killed = True

    end = kill

    def renew(self) -> None:
        """Another one, which nobody has ended."""
        self.is_killed = False


def threaded(
    patch: pytest.MonkeyPatch, catalogs: Catalogs, answering: Answering = at_once, **limits: Any
) -> JobService:
    """A service of such workers, one unless said otherwise."""
    patch.setattr(door, "WorkerProcess", lambda *_: ThreadedWorker(answering))
    return JobService(catalogs, ServiceLimits(**{"workers": 1, **limits}))


@contextmanager
def client(service: JobService, admission: Admission | None = None) -> Iterator[TestClient]:
    """Somebody who asks it over HTTP."""
    with TestClient(application(service, admission or Admission()), ADDRESS, raise_server_exceptions=False) as opened:
        yield opened
