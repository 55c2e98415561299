"""The routes under /v1: questions, and the jobs that answer them."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from optimizer.base.errors import Exit, InputError
from optimizer.serve.http.asking import question_of, wait_s
from optimizer.serve.http.problems import bad_input, problem, queue_full
from optimizer.serve.jobs.job import Job, JobProgress
from optimizer.serve.jobs.kinds import KINDS
from optimizer.serve.jobs.service import Full, JobService

EXIT_CODE: Final = "Optimizer-Exit-Code"
JOB: Final = "Optimizer-Job"


def api_routes() -> list[Route]:
    """Every route under /v1."""
    return [
        *(Route(f"/v1/{kind}", _asker(kind), methods=["POST"]) for kind in KINDS),
        Route("/v1/jobs/{id}", _job, methods=["GET"]),
        Route("/v1/jobs/{id}", _cancelled, methods=["DELETE"]),
        Route("/v1/jobs/{id}/answer", _answer, methods=["GET"]),
        Route("/v1/jobs/{id}/events", _events, methods=["GET"]),
    ]


def service_of(request: Request) -> JobService:
    """The service that the application was made for."""
    service: JobService = request.app.state.service
    return service


def _asker(kind: str) -> Any:
    async def ask(request: Request) -> Response:
        try:
            seconds = wait_s(request)
            job = await service_of(request).ask(await question_of(request, kind))
        except InputError as error:
            return bad_input(error.findings)
        except Full as full:
            return queue_full(full)
        if seconds is not None and await job.wait(seconds):
            return answer_response(job)
        headers = {"Location": f"/v1/jobs/{job.id}", "Retry-After": "1"}
        return JSONResponse(described(job), HTTPStatus.ACCEPTED, headers)

    return ask


async def _job(request: Request) -> Response:
    job = _found(request)
    if isinstance(job, Response):
        return job
    told = json.dumps(described(job), ensure_ascii=False)
    if job.answer is None or not job.answer.content:
        return Response(told, media_type="application/json")
    # the answer's own bytes, as the command writes them
    return Response(told.encode()[:-1] + b', "result": ' + job.answer.content + b"}", media_type="application/json")


async def _answer(request: Request) -> Response:
    job = _found(request)
    return job if isinstance(job, Response) else answer_response(job)


async def _cancelled(request: Request) -> Response:
    job = _found(request)
    if isinstance(job, Response):
        return job
    service_of(request).cancel(job.id)
    return JSONResponse(described(job))


async def _events(request: Request) -> Response:
    job = _found(request)
    if isinstance(job, Response):
        return job
    return StreamingResponse(_lines(job), media_type="text/event-stream")


async def _lines(job: Job) -> AsyncIterator[str]:
    """Server-sent events: `progress` with what is known, and `end` with the state when nothing more will come."""
    async for progress in job.events():
        yield f"event: progress\ndata: {json.dumps(told(progress))}\n\n"
    yield f"event: end\ndata: {json.dumps(described(job), ensure_ascii=False)}\n\n"


def _found(request: Request) -> Job | Response:
    job = service_of(request).job(request.path_params["id"])
    if job is None:
        return problem(HTTPStatus.NOT_FOUND, "no such job: answers are kept for a while, and not over a restart")
    return job


def told(progress: JobProgress) -> dict[str, Any]:
    """Progress as events and jobs show it."""
    return {**asdict(progress), "gap": progress.gap}


def described(job: Job) -> Mapping[str, Any]:
    """A job without its answer."""
    content: dict[str, Any] = {"job": job.id, "kind": job.question.kind, **told(job.progress)}
    if job.answer is not None:
        content["exit_code"] = int(job.answer.exit_code)
        if job.answer.problem:
            content["problem"] = job.answer.problem
        if job.answer.findings:
            content["findings"] = [asdict(each) for each in job.answer.findings]
    return content


def answer_response(job: Job) -> Response:
    """The answer itself, byte for byte as the command writes it; or why there is none."""
    if job.answer is None:
        detail = "cancelled" if job.ended else "not answered yet"
        return problem(HTTPStatus.CONFLICT, detail, headers={JOB: job.id})
    headers = {EXIT_CODE: str(int(job.answer.exit_code)), JOB: job.id}
    if job.answer.content:
        return Response(job.answer.content, headers=headers, media_type="application/json")
    if job.answer.exit_code is Exit.BAD_INPUT:
        return bad_input(job.answer.findings)
    status = HTTPStatus.SERVICE_UNAVAILABLE
    if job.answer.exit_code is Exit.OUR_FAULT:
        status = HTTPStatus.INTERNAL_SERVER_ERROR
    return problem(status, job.answer.problem, headers=headers)
