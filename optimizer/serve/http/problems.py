"""What went wrong with a request, as problem details (RFC 9457): findings where there are any, never a traceback."""

from collections.abc import Sequence
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse

from optimizer.base.errors import Finding
from optimizer.serve.jobs.service import Full

MEDIA_TYPE = "application/problem+json"


class RequestRefused(Exception):
    """A request that is not answered, with the status that says why."""

    def __init__(self, status: HTTPStatus, detail: str) -> None:
        self.status, self.detail = status, detail
        super().__init__(detail)


def problem(
    status: int, detail: str, *, findings: Sequence[Finding] = (), headers: dict[str, str] | None = None
) -> JSONResponse:
    """A response that says what is wrong, and where; a finding has the fields of the command line's."""
    content: dict[str, Any] = {"title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    if findings:
        content["findings"] = [asdict(each) for each in findings]
    return JSONResponse(content, status, headers, MEDIA_TYPE)


def bad_input(findings: Sequence[Finding]) -> JSONResponse:
    """What the command line says with exit code 2."""
    count = len(findings)
    return problem(
        HTTPStatus.UNPROCESSABLE_ENTITY, f"{count} {'problem' if count == 1 else 'problems'}", findings=findings
    )


def queue_full(full: Full) -> JSONResponse:
    """Come again later."""
    return problem(HTTPStatus.TOO_MANY_REQUESTS, str(full), headers={"Retry-After": str(full.retry_after_s)})
