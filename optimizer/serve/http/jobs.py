"""Questions under /v1, one route a kind, and the jobs that answer them."""

from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from optimizer.base.errors import Exit, InputError
from optimizer.serve.http.asking import question_of, wait_s
from optimizer.serve.http.problems import bad_input, problem, queue_full
from optimizer.serve.http.records import JobRecord
from optimizer.serve.jobs.job import Job
from optimizer.serve.jobs.kinds import KINDS
from optimizer.serve.jobs.service import Full, JobService

JSON: Final = "application/json"
EXIT_CODE: Final = "Optimizer-Exit-Code"
JOB: Final = "Optimizer-Job"
MAX_STREAMS: Final = 128
"""Half of the connections that the server holds: each stream keeps one until its job has ended."""


class NoSuchJob(Exception):
    """It was never asked, or is forgotten."""


def job_routes() -> list[Route]:
    """One route for each kind of question, and those of jobs."""
    return [
        *(Route(f"/v1/{kind}", _asked, methods=["POST"], name=kind) for kind in KINDS),
        Route("/v1/jobs/{id}", _told, methods=["GET"]),
        Route("/v1/jobs/{id}", _cancelled, methods=["DELETE"]),
        Route("/v1/jobs/{id}/answer", _answered, methods=["GET"]),
        Route("/v1/jobs/{id}/events", _watched, methods=["GET"]),
    ]


def service_of(request: Request) -> JobService:
    """The service that the application was made for."""
    service: JobService = request.app.state.service
    return service


def streams_of(request: Request) -> "EventStreams":
    """What is watched at the application that was asked."""
    streams: EventStreams = request.app.state.streams
    return streams


async def _asked(request: Request) -> Response:
    kind = request.url.path.rpartition("/")[2]
    try:
        seconds = wait_s(request)
        job = await service_of(request).ask(await question_of(request, kind))
    except InputError as error:
        return bad_input(error.findings)
    except Full as full:
        return queue_full(full)
    if seconds is not None and await job.wait(seconds):
        return answer_response(job)
    headers = {"Location": f"/v1/jobs/{job.id}", JOB: job.id}
    return _record(job, HTTPStatus.ACCEPTED, headers)


async def _told(request: Request) -> Response:
    """The job, and in `result` the answer's own bytes."""
    job = _job(request)
    if job.answer is None or not job.answer.packed:
        return _record(job)
    told = JobRecord.of(job).model_dump_json().encode()
    return Response(told[:-1] + b',"result":' + job.answer.content.rstrip() + b"}\n", media_type=JSON)


async def _cancelled(request: Request) -> Response:
    job = _job(request)
    service_of(request).cancel(job.id)
    return _record(job)


async def _answered(request: Request) -> Response:
    return answer_response(_job(request))


async def _watched(request: Request) -> Response:
    """The job as it changes; where too many watch already, how to ask for it instead, and room for who asks."""
    job, streams = _job(request), streams_of(request)
    if streams.is_full:
        detail = f"{MAX_STREAMS} jobs are watched already; GET /v1/jobs/{job.id} tells the same"
        return problem(HTTPStatus.TOO_MANY_REQUESTS, detail, headers={"Retry-After": "1", "Connection": "close"})
    return StreamingResponse(streams.of(job), media_type="text/event-stream")


class EventStreams:
    """Server-sent events of jobs, no more at a time than leave connections to those who ask."""

    def __init__(self) -> None:
        self.open = 0

    @property
    def is_full(self) -> bool:
        """Whether there are as many as may be."""
        return self.open >= MAX_STREAMS

    async def of(self, job: Job) -> AsyncIterator[str]:
        """`progress` with what is known, and `end` when nothing more will come."""
        self.open += 1
        try:
            async for _ in job.events():
                yield f"event: {'end' if job.ended else 'progress'}\ndata: {JobRecord.of(job).model_dump_json()}\n\n"
        finally:
            self.open -= 1


def _record(job: Job, status: HTTPStatus = HTTPStatus.OK, headers: dict[str, str] | None = None) -> Response:
    return Response(JobRecord.of(job).model_dump_json() + "\n", status, headers, JSON)


def _job(request: Request) -> Job:
    """The job that a path names.

    Raises:
        NoSuchJob: it is not known.
    """
    job = service_of(request).job(request.path_params["id"])
    if job is None:
        raise NoSuchJob
    return job


def answer_response(job: Job) -> Response:
    """The answer itself, byte for byte as the command writes it; or why there is none."""
    if job.answer is None:
        detail = "the job was cancelled" if job.ended else "the job has not ended"
        return problem(HTTPStatus.CONFLICT, detail, headers={JOB: job.id})
    headers = {EXIT_CODE: str(int(job.answer.exit_code)), JOB: job.id}
    if job.answer.packed:
        return Response(job.answer.content, headers=headers, media_type=JSON)
    if job.answer.exit_code is Exit.BAD_INPUT:
        return bad_input(job.answer.findings)
    ours = job.answer.exit_code is Exit.OUR_FAULT
    status = HTTPStatus.INTERNAL_SERVER_ERROR if ours else HTTPStatus.SERVICE_UNAVAILABLE
    return problem(status, job.answer.problem, headers=headers)
