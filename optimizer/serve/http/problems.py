"""What went wrong with a request, as problem details: findings where there are any, never a traceback."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final

from starlette.responses import Response

from optimizer.base.errors import Finding
from optimizer.serve.http.records import ProblemDetails
from optimizer.serve.jobs.service import Full

MEDIA_TYPE: Final = "application/problem+json"


class RequestRefused(Exception):
    """A request that is not answered, with the status that says why."""

    def __init__(self, status: HTTPStatus, detail: str) -> None:
        self.status, self.detail = status, detail
        super().__init__(detail)


def problem(
    status: int, detail: str, *, findings: Sequence[Finding] = (), headers: Mapping[str, str] | None = None
) -> Response:
    """A response that says what is wrong, and where."""
    told = ProblemDetails(title=HTTPStatus(status).phrase, status=status, detail=detail, findings=tuple(findings))
    return Response(told.model_dump_json(), status, headers, MEDIA_TYPE)


def bad_input(findings: Sequence[Finding]) -> Response:
    """What the command line says with exit code 2."""
    detail = "; ".join(str(each) for each in findings[:1])
    more = f", and {len(findings) - 1:,} more" if len(findings) > 1 else ""
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{detail}{more}", findings=findings)


def queue_full(full: Full) -> Response:
    """Come again later."""
    return problem(HTTPStatus.TOO_MANY_REQUESTS, str(full), headers={"Retry-After": str(full.retry_after_s)})
