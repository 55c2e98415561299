"""What is known without a solve: the catalogs, the shipped scenarios, what describes the service, and how it is."""

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from optimizer.base.errors import InputError
from optimizer.base.version import VERSION
from optimizer.report.catalog.catalog import catalog_rows
from optimizer.report.catalog.content import entries_content, overview_content, rows_content
from optimizer.report.catalog.entry import catalog_entries
from optimizer.report.export import as_json
from optimizer.serve.http.jobs import JSON, service_of, streams_of
from optimizer.serve.http.metrics import MEDIA_TYPE, RequestCounts, exposition
from optimizer.serve.http.openapi import openapi_document
from optimizer.serve.http.problems import bad_input, problem
from optimizer.serve.jobs.scenario_text import shipped_scenarios


def known_routes() -> list[Route]:
    """Every route that asks for no solve."""
    return [
        Route("/v1/catalog", _overview, methods=["GET"]),
        Route("/v1/catalog/{name}", _listing, methods=["GET"]),
        Route("/v1/catalog-entries/{name:path}", _entries, methods=["GET"]),
        Route("/v1/scenarios", _scenarios, methods=["GET"]),
        Route("/v1/scenarios/{name}", _scenario, methods=["GET"]),
        Route("/v1/openapi.json", _openapi, methods=["GET"]),
        Route("/openapi.json", _openapi, methods=["GET"]),
        Route("/health", _health, methods=["GET"]),
        Route("/metrics", _metrics, methods=["GET"]),
    ]


async def _overview(request: Request) -> Response:
    return Response(as_json(overview_content(service_of(request).catalogs)), media_type=JSON)


async def _listing(request: Request) -> Response:
    """The rows of one catalog, those that `filter` matches where it is given."""
    name, pattern = request.path_params["name"], request.query_params.get("filter", "")
    catalogs = service_of(request).catalogs
    try:
        rows = catalog_rows(catalogs, name, pattern)
    except InputError as error:
        return problem(404, str(error), findings=error.findings)
    return Response(await asyncio.to_thread(lambda: as_json(rows_content(name, rows))), media_type=JSON)


async def _entries(request: Request) -> Response:
    """All that is said about a GPU, a model, a provider."""
    catalogs, name = service_of(request).catalogs, request.path_params["name"]
    try:
        found = await asyncio.to_thread(catalog_entries, catalogs, name)
    except InputError as error:
        return bad_input(error.findings)
    return Response(as_json(entries_content(found)), media_type=JSON)


async def _scenarios(_: Request) -> Response:
    return JSONResponse({"scenarios": list(shipped_scenarios())})


async def _scenario(request: Request) -> Response:
    text = shipped_scenarios().get(request.path_params["name"])
    if text is None:
        return problem(404, "no shipped scenario has that name")
    return Response(text, media_type="application/yaml")


async def _openapi(_: Request) -> Response:
    return Response(openapi_document(), media_type=JSON)


async def _health(request: Request) -> Response:
    del request
    return JSONResponse({"status": "ok", "version": VERSION})


async def _metrics(request: Request) -> Response:
    requests: RequestCounts = request.app.state.requests
    return PlainTextResponse(exposition(service_of(request), requests, streams_of(request).open), media_type=MEDIA_TYPE)
