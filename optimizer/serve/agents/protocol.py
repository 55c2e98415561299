"""The tools as the Model Context Protocol tells and calls them, over standard input and output."""

import asyncio
from pathlib import Path
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from optimizer.base.errors import InputError
from optimizer.base.version import VERSION
from optimizer.inputs.catalog.loading import load_catalogs
from optimizer.serve.agents.calling import NoAnswer, ToolCalls, finding_lines
from optimizer.serve.agents.catalog import ABOUT, LIST_CATALOG, CatalogArguments
from optimizer.serve.agents.excerpt import Excerpt
from optimizer.serve.agents.tools import QUESTION_TOOLS, Reading
from optimizer.serve.jobs.service import Full, JobService, ServiceLimits

INSTRUCTIONS: Final = (
    "The cheapest LLM deployment that meets its service levels, proven and explained. Begin with `plan` on a shipped "
    "scenario, or show one with `list_catalog` and change it. Each answer begins with its sentence; that no plan "
    "exists is an answer, and says what would lead out. The same question is answered at once when it is asked again. "
    "Where an answer names an option of the command line, as --verbose, it is an argument here: verbose=true."
)
MAX_FINDINGS: Final = 50
READS_ONLY: Final = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


def serve_agents(limits: ServiceLimits, catalogs: Path | None = None) -> None:
    """Answers over standard input and output until the input ends.

    Args:
        limits: How much is done and kept at once.
        catalogs: A folder of catalog files laid over the shipped ones.

    Raises:
        InputError: the catalogs cannot be read.
    """
    service = JobService(load_catalogs(catalogs), limits)
    asyncio.run(_over_standard_streams(service))


async def _over_standard_streams(service: JobService) -> None:
    # the streams are taken first: what processes of the service print, or the solver, then goes to standard error
    async with stdio_server() as (reading, writing), service:
        server = agent_server(service)
        await server.run(reading, writing, server.create_initialization_options())


def agent_server(service: JobService) -> Server[Any]:
    """The server, whose tools that service answers."""
    calls = ToolCalls(service)

    async def listed(_: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=tools())

    async def called(context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        if params.name not in (*QUESTION_TOOLS, LIST_CATALOG):
            raise MCPError(INVALID_PARAMS, f"no such tool: {params.name}")
        try:
            answer = await calls.call(params.name, params.arguments or {}, context.session.report_progress)
        except InputError as error:
            return _refused(finding_lines(error.findings, MAX_FINDINGS))
        except (Full, NoAnswer) as error:
            return _refused(f"error: {error}")
        except Exception as error:  # noqa: BLE001 (our fault: the call ends with it, the server goes on)
            return _refused(f"error: this is a defect of optimizer: {type(error).__name__}")
        return CallToolResult(
            content=[TextContent(type="text", text=answer.text)], structured_content=answer.model_dump()
        )

    return Server("optimizer", version=VERSION, instructions=INSTRUCTIONS, on_list_tools=listed, on_call_tool=called)


def tools() -> list[Tool]:
    """Every tool with the schemas of what it takes and answers."""
    questions = [_tool(name, tool.asks.about, tool.arguments) for name, tool in QUESTION_TOOLS.items()]
    return [*questions, _tool(LIST_CATALOG, ABOUT, CatalogArguments)]


def _tool(name: str, about: str, arguments: type[Reading]) -> Tool:
    return Tool(
        name=name,
        description=about,
        input_schema=arguments.model_json_schema(),
        output_schema=Excerpt.model_json_schema(),
        annotations=READS_ONLY,
    )


def _refused(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
