"""The one who is asked: a bounded queue, processes that answer, and what they answered, kept for who asks the same."""

import asyncio
import time
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Final

from optimizer.base.errors import Exit
from optimizer.base.memory import BYTES_PER_GB, Memory
from optimizer.base.workers import WorkerProcess
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.record.origin import catalogs_sha256, content_sha256
from optimizer.serve.jobs.job import Job, JobAnswer, JobProgress, State
from optimizer.serve.jobs.question import JobQuestion
from optimizer.serve.jobs.working import Held, work

READERS: Final = 2
"""Scenarios that are checked at the same time."""
FIRST_GUESS_S: Final = 5.0
"""How long a question takes, before any was answered."""
RENEWED_AFTER_S: Final = 1.0
"""Until another process is asked for where the system had none."""
LATEST: Final = 0.2
"""Weight of the latest answer's time in the mean that a full queue's wait is told from."""


@dataclass(frozen=True)
class ServiceLimits:
    """How much is done and kept at once.

    Attributes:
        workers: Processes, each with one question at a time.
        max_waiting: Questions in the queue; more are refused.
        max_job_s: Seconds after which a process is ended, whatever its question's own limit.
        max_memory_gb: Of each process; most of the machine's, shared among them, unless given.
        max_kept_bytes: Of questions and answers that are kept; those asked for longest ago go first.
        max_kept_jobs: The same as a count.
    """

    workers: int = 2
    max_waiting: int = 32
    max_job_s: float = 660.0
    max_memory_gb: float | None = None
    max_kept_bytes: int = 128 * 1024**2
    max_kept_jobs: int = 2_000


@dataclass
class ServiceCounts:
    """What has happened since the service began.

    Attributes:
        ended: Jobs that a process was at, by kind and by how they ended.
        seconds: How long processes were at them, by kind.
        shared: Questions answered by a job that was there already.
        refused: Questions for which there was no place.
        lost: Processes that ended at work, those of cancelled jobs among them.
    """

    ended: Counter[tuple[str, State]] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    shared: int = 0
    refused: int = 0
    lost: int = 0


class Full(Exception):
    """The queue holds as many questions as it may."""

    def __init__(self, retry_after_s: int) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(f"as many questions wait as may; ask again in {retry_after_s} s")


class JobService:
    """Answers questions; to be used within one event loop, as an asynchronous context."""

    def __init__(self, catalogs: Catalogs, limits: ServiceLimits = ServiceLimits()) -> None:
        """Of those catalogs; nothing is started yet."""
        self.catalogs, self.limits = catalogs, limits
        self.catalogs_sha256 = content_sha256(catalogs_sha256(catalogs, by_second=True))
        self.counts = ServiceCounts()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._waiting: deque[Job] = deque()
        self._arrived = asyncio.Event()
        self._at_work: dict[Job, WorkerProcess] = {}
        self._mean_s = FIRST_GUESS_S
        self._readers = asyncio.Semaphore(READERS)
        self._loops: list[asyncio.Task[None]] = []
        self._workers: list[WorkerProcess] = []

    async def __aenter__(self) -> "JobService":
        """Starts the processes."""
        share_gb = self.limits.max_memory_gb or Memory().limit_bytes / BYTES_PER_GB / self.limits.workers
        held = Held(self.catalogs, share_gb)
        self._threads = ThreadPoolExecutor(self.limits.workers, "worker")
        self._workers = [WorkerProcess(work, held) for _ in range(self.limits.workers)]
        self._loops = [asyncio.create_task(self._work(worker)) for worker in self._workers]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Ends the processes, whatever they are at."""
        for loop in self._loops:
            loop.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.end()

    def jobs(self) -> Iterator[Job]:
        """Every job that is known, those asked for longest ago first."""
        return iter(self._jobs.values())

    @property
    def waiting(self) -> int:
        """How many questions wait."""
        return len(self._waiting)

    def job(self, job_id: str) -> Job | None:
        """The job of that id, as long as it is kept."""
        return self._jobs.get(job_id)

    async def ask(self, question: JobQuestion) -> Job:
        """The job that answers a question: the one that does so already, where somebody asked the same.

        Raises:
            InputError: the scenario is broken or names what the catalogs do not know, with its lines.
            Full: as many questions wait as may.
        """
        job_id = question.id(self.catalogs_sha256)
        if (known := self._standing(job_id)) is not None:
            return known
        self._refuse_when_full()
        async with self._readers:
            await asyncio.to_thread(question.read, self.catalogs)
        # while it was read, others may have asked the same, or taken the last place
        if (known := self._standing(job_id)) is not None:
            return known
        self._refuse_when_full()
        job = Job(job_id, question)
        self._jobs[job_id] = job
        self._jobs.move_to_end(job_id)
        self._waiting.append(job)
        self._arrived.set()
        return job

    def cancel(self, job_id: str) -> bool:
        """Ends a job that has not ended, and the process that is at it; whether there was such a job."""
        job = self._jobs.get(job_id)
        if job is None or job.ended:
            return False
        if job in self._waiting:
            self._waiting.remove(job)
        job.tell(replace(job.progress, state="cancelled"))
        if (worker := self._at_work.get(job)) is not None:
            worker.kill()
        self._let_go()
        return True

    def _standing(self, job_id: str) -> Job | None:
        job = self._jobs.get(job_id)
        if job is None or not job.stands:
            return None
        self._jobs.move_to_end(job_id)
        self.counts.shared += 1
        return job

    def _refuse_when_full(self) -> None:
        if self.waiting >= self.limits.max_waiting:
            self.counts.refused += 1
            raise Full(max(1, min(600, round(self._mean_s * self.waiting / self.limits.workers))))

    async def _work(self, worker: WorkerProcess) -> None:
        """Gives a process one question after another."""
        while True:
            while not self._waiting:
                self._arrived.clear()
                await self._arrived.wait()
            await self._answer(self._waiting.popleft(), worker)
            self._let_go()
            await self._renew(worker)

    async def _answer(self, job: Job, worker: WorkerProcess) -> None:
        """Hands a job to a process and passes on what that says, until its answer or its end."""
        loop, began_s = asyncio.get_running_loop(), time.monotonic()
        job.tell(JobProgress("running"))
        self._at_work[job] = worker
        overdue = loop.call_later(self.limits.max_job_s, worker.kill)
        try:
            said: Any = await loop.run_in_executor(self._threads, _handed, worker, job.question)
            while isinstance(said, JobProgress):
                if not job.ended:
                    job.tell(said)
                said = await loop.run_in_executor(self._threads, worker.answer)
        except Exception as error:  # noqa: BLE001 (our fault: the job ends with it, the process goes on with others)
            said = JobAnswer(b"", Exit.OUR_FAULT, problem=f"this is a defect of optimizer: {type(error).__name__}")
        finally:
            overdue.cancel()
            del self._at_work[job]
        seconds = time.monotonic() - began_s
        if said is None:
            self.counts.lost += 1
        if not job.ended:
            self._mean_s += LATEST * (seconds - self._mean_s)
            _end(job, said or _lost(seconds, self.limits.max_job_s))
        self.counts.ended[job.question.kind, job.state] += 1
        self.counts.seconds[job.question.kind] += seconds

    async def _renew(self, worker: WorkerProcess) -> None:
        """Another process in the place of one that has died, now that nobody can mean the other."""
        while True:
            try:
                return await asyncio.get_running_loop().run_in_executor(self._threads, worker.renew)
            except OSError:
                # the system has no process to give just now
                await asyncio.sleep(RENEWED_AFTER_S)

    def _let_go(self) -> None:
        """Forgets jobs that ended, those asked for longest ago first, until the others fit."""
        ended = [job for job in self._jobs.values() if job.ended]
        size = sum(job.size_bytes for job in ended)
        for at, job in enumerate(ended):
            if size <= self.limits.max_kept_bytes and len(ended) - at <= self.limits.max_kept_jobs:
                return
            size -= job.size_bytes
            del self._jobs[job.id]


def _handed(worker: WorkerProcess, question: JobQuestion) -> Any | None:
    worker.ask(question)
    return worker.answer()


def _end(job: Job, answer: JobAnswer) -> None:
    """A job has its answer, or the reason why there is none."""
    job.answer = answer
    state: State = "done" if answer.packed else "failed"
    job.tell(replace(job.progress, state=state))


def _lost(seconds: float, max_job_s: float) -> JobAnswer:
    """What is said of a job whose process died."""
    if seconds >= max_job_s:
        return JobAnswer(b"", Exit.UNPROVEN, problem=f"no answer within {max_job_s:,.0f} s, which is all it may take")
    return JobAnswer(b"", Exit.OUR_FAULT, problem="its process died: it was ended, or there is not enough memory")
