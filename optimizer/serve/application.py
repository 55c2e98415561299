"""The application: every route, the service behind them, and what keeps it safe."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from optimizer.serve.http.problems import RequestRefused, problem
from optimizer.serve.http.routes import api_routes
from optimizer.serve.jobs.service import JobService
from optimizer.serve.page.routes import page_routes


def application(service: JobService) -> Starlette:
    """An ASGI application that answers with that service, and starts and ends it with itself."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with service:
            yield

    handlers = {HTTPException: _refused_by_starlette, RequestRefused: _refused, Exception: _fault}
    app = Starlette(routes=[*api_routes(), *page_routes(service)], lifespan=lifespan, exception_handlers=handlers)
    app.state.service = service
    return app


async def _refused_by_starlette(_: Request, error: Exception) -> Response:
    """No such path, or not in this way."""
    if not isinstance(error, HTTPException):
        raise error
    return problem(error.status_code, error.detail, headers=dict(error.headers or {}))


async def _refused(_: Request, error: Exception) -> Response:
    if not isinstance(error, RequestRefused):
        raise error
    return problem(error.status, error.detail)


async def _fault(_: Request, error: Exception) -> Response:
    """Our fault, said in a line; what it was stays here."""
    del error
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "this is a defect of optimizer")
