"""Every route of the page, and the files that it loads."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from optimizer.serve.jobs.service import JobService
from optimizer.serve.page.asking import Asking
from optimizer.serve.page.beside import Beside
from optimizer.serve.page.comparing import Comparing
from optimizer.serve.page.planning import Planning
from optimizer.serve.page.rendering import FOLDER
from optimizer.serve.page.site import Site
from optimizer.serve.page.states import line

Endpoint = Callable[[Request], Awaitable[Response]]


def page_routes(service: JobService) -> list[BaseRoute]:
    """The page that asks that service."""
    site = Site.of(service)
    routes = [
        route for part in (Asking(site), Planning(site), Beside(site), Comparing(site)) for route in part.routes()
    ]
    told = [Route(route.path, _told(site, route.endpoint), methods=_methods(route)) for route in routes]
    return [*told, Mount("/static", OwnFiles(directory=FOLDER / "static"))]


class OwnFiles(StaticFiles):
    """Files that a browser keeps, and asks each time whether they are still the same."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        """A file, or that the one which the browser has will do."""
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "no-cache"
        return response


def _methods(route: Route) -> list[str]:
    return sorted(route.methods or ())


def _told(site: Site, endpoint: Endpoint) -> Endpoint:
    """The same, but what it refuses is said on a page, to whoever reads one."""

    async def answered(request: Request) -> Response:
        try:
            return await endpoint(request)
        except HTTPException as refused:
            if "hx-request" in request.headers:
                return line(site, refused.detail, status_code=refused.status_code)
            return site.message("That cannot be shown", refused.detail, refused.status_code)

    return answered
