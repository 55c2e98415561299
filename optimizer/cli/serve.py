"""`optimizer serve`: the same answers over HTTP, with a page to ask in."""

from typing import Annotated

import typer

from optimizer.base.extras import optional
from optimizer.base.workers import cores
from optimizer.cli import calls
from optimizer.cli.options import CatalogsOption

EXTRA = "web"
LIBRARIES = ("starlette", "uvicorn", "jinja2")


def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 for any that is free.")] = 8080,
    host: Annotated[
        str, typer.Option(help="The address to listen on; one that other machines reach needs a token.")
    ] = "127.0.0.1",
    token: Annotated[
        str, typer.Option(envvar="OPTIMIZER_TOKEN", help="What clients must show; better given in the environment.")
    ] = "",
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A name that the server is called by, as in a proxy's; repeatable.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=256, help="Questions at a time, a process each; as many as cores.")
    ] = None,
    catalogs: CatalogsOption = None,
) -> None:
    """The same answers over HTTP, and a page to ask in; until Ctrl-C."""
    for library in LIBRARIES:
        optional(library, extra=EXTRA)
    calls.serve(
        calls.Address(host, port),
        calls.Admission(token, frozenset(name.lower() for name in allow_host or ())),
        calls.ServiceLimits(workers=workers or cores()),
        catalogs,
    )
