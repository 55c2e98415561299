"""`optimizer serve`: the same answers over HTTP, with a page to ask in."""

from typing import Annotated

import typer

from optimizer.base.extras import optional
from optimizer.cli import calls
from optimizer.cli.options import CatalogsOption

EXTRA = "web"


def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 for any that is free.")] = 8080,
    host: Annotated[
        str, typer.Option(help="The address to listen on; another than this machine's own needs a token.")
    ] = "127.0.0.1",
    workers: Annotated[int, typer.Option(min=1, max=256, help="Questions at a time, a process each.")] = 2,
    catalogs: CatalogsOption = None,
) -> None:
    """The same answers over HTTP, and a page to ask in; until Ctrl-C."""
    for library in ("starlette", "uvicorn"):
        optional(library, extra=EXTRA)
    calls.serve(calls.Address(host, port), calls.ServiceLimits(workers=workers), catalogs)
