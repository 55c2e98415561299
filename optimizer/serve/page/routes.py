"""Every route of the page, and the files that it loads."""

from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from optimizer.serve.jobs.service import Service
from optimizer.serve.page.asking import Asking
from optimizer.serve.page.comparing import Comparing
from optimizer.serve.page.planning import Planning
from optimizer.serve.page.rendering import FOLDER
from optimizer.serve.page.site import Site


def page_routes(service: Service) -> list[BaseRoute]:
    """The page that asks that service."""
    site = Site.of(service)
    parts = (Asking(site), Planning(site), Comparing(site))
    return [*(route for part in parts for route in part.routes()), Mount("/static", StaticFiles(directory=FOLDER / "static"))]
