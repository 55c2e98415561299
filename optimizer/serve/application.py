"""The application: every route, the service behind them, and what keeps it safe."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp

from optimizer.base.errors import did_you_mean
from optimizer.serve.http.jobs import EventStreams, NoSuchJob, job_routes
from optimizer.serve.http.known import known_routes
from optimizer.serve.http.metrics import RequestCounts
from optimizer.serve.http.problems import RequestRefused, problem
from optimizer.serve.http.safety import Admission, Safety
from optimizer.serve.jobs.service import JobService
from optimizer.serve.page.routes import page_routes

PATHS: Final = tuple(route.path for route in (*job_routes(), *known_routes()) if "{" not in route.path)
"""What one may have meant by a path that is none."""


def application(service: JobService, admission: Admission) -> ASGIApp:
    """An ASGI application that answers with that service, and starts and ends it with itself."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with service:
            yield

    requests, streams = RequestCounts(), EventStreams()
    app = Starlette(
        routes=[*job_routes(), *known_routes(), *page_routes(service)],
        lifespan=lifespan,
        exception_handlers={
            HTTPException: _refused_by_starlette,
            RequestRefused: _refused,
            NoSuchJob: _no_such_job,
            ClientDisconnect: _gone,
            Exception: _fault,
        },
    )
    app.state.service, app.state.requests, app.state.streams = service, requests, streams
    # outermost, so that what goes wrong in Starlette itself has the same headers
    return Safety(app, admission, requests.count)


async def _refused_by_starlette(request: Request, error: Exception) -> Response:
    """No such path, and the nearest one; or not in this way."""
    if not isinstance(error, HTTPException):
        raise error
    detail = error.detail
    if error.status_code == HTTPStatus.NOT_FOUND:
        hint = did_you_mean(request.url.path, PATHS, count=1) or "GET /v1/openapi.json names every one"
        detail = f"no such path ({hint})"
    return problem(error.status_code, detail, headers=error.headers)


async def _refused(_: Request, error: Exception) -> Response:
    if not isinstance(error, RequestRefused):
        raise error
    return problem(error.status, error.detail)


async def _no_such_job(_: Request, __: Exception) -> Response:
    return problem(HTTPStatus.NOT_FOUND, "no such job: answers are kept for a while, and not over a restart")


async def _gone(_: Request, __: Exception) -> Response:
    """Whoever asked left in the middle of the question, and hears no more."""
    return Response(status_code=HTTPStatus.BAD_REQUEST)


async def _fault(_: Request, __: Exception) -> Response:
    """Our fault: the client is told no more than that."""
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "this is a defect of optimizer")
