"""`optimizer mcp`: the same answers as tools for agents, over standard input and output."""

from typing import Annotated

import typer

from optimizer.base.extras import optional
from optimizer.cli import calls
from optimizer.cli.options import CatalogsOption

EXTRA = "mcp"


def mcp(
    workers: Annotated[int, typer.Option(min=1, max=256, help="Questions at a time, a process each.")] = 1,
    catalogs: CatalogsOption = None,
) -> None:
    """The same answers as tools for agents (Model Context Protocol), over standard input and output."""
    optional("mcp", extra=EXTRA)
    calls.serve_agents(calls.ServiceLimits(workers=workers), catalogs)
