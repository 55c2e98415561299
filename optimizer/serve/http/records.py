"""What is told of jobs and of requests that went wrong, as published."""

from optimizer.base.errors import Finding
from optimizer.base.model import Strict
from optimizer.serve.jobs.job import Job, State


class ProblemDetails(Strict):
    """Why a request has no answer (RFC 9457)."""

    title: str
    """The status in words."""
    status: int
    detail: str
    """What is wrong, in a sentence."""
    findings: tuple[Finding, ...] = ()
    """Each problem of a question, as the command line tells it; line 0 where it has none."""


class JobRecord(Strict):
    """A question on its way to an answer."""

    job: str
    """Hash of what is asked and of the catalogs: the same question is the same job."""
    kind: str
    state: State
    phase: str
    """The step that has begun; empty before the first."""
    step: int
    """How many steps are done."""
    steps: int
    """Of how many."""
    best_usd: float | None
    """What the best plan so far costs a month, where there is one."""
    bound_usd: float | None
    """What no plan undercuts, once something is known of that."""
    gap: float | None
    """How far the best plan may be above the cheapest, as a share of its cost."""
    exit_code: int | None
    """What the command would end with; null until the job has ended, and where it was cancelled."""
    problem: str
    """Why there is no answer; empty where there is one, or findings say it."""
    findings: tuple[Finding, ...]

    @classmethod
    def of(cls, job: Job) -> "JobRecord":
        """What is told of a job, but its answer."""
        progress, answer = job.progress, job.answer
        return cls(
            job=job.id,
            kind=job.question.kind,
            state=progress.state,
            phase=progress.phase,
            step=progress.step,
            steps=progress.steps,
            best_usd=progress.best_usd,
            bound_usd=progress.bound_usd,
            gap=progress.gap,
            exit_code=None if answer is None else int(answer.exit_code),
            problem="" if answer is None else answer.problem,
            findings=() if answer is None else answer.findings,
        )


class JobWithResult(JobRecord):
    """The same with the command's JSON, where there is any."""

    result: dict[str, object]
