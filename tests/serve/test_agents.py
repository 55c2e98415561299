"""Agents call the same questions as tools: typed, a sentence first, long answers in parts, mistakes in plain words."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from subprocess import PIPE
from typing import Any

import pytest
from support.paths import ROOT
from support.serving import threaded

from optimizer.base.errors import Exit
from optimizer.inputs.catalog.records import Catalogs
from optimizer.report.catalog.catalog import catalog_rows
from optimizer.report.catalog.content import rows_content
from optimizer.report.export import as_json
from optimizer.serve.agents import calling
from optimizer.serve.agents.calling import ToolCalls
from optimizer.serve.agents.excerpt import MAX_CHARACTERS, excerpt
from optimizer.serve.agents.tools import QUESTION_TOOLS, Reading
from optimizer.serve.jobs.job import JobAnswer
from optimizer.serve.jobs.kinds import KINDS
from optimizer.serve.jobs.question import JobQuestion
from optimizer.serve.jobs.scenario_text import shipped_scenarios
from optimizer.serve.jobs.service import JobService
from optimizer.serve.jobs.working import Held, answered

PREDICTED = {
    "model": "llama-3.1-8b",
    "gpu": "l4",
    "precision": "fp8",
    "input_tokens": 1024,
    "output_tokens": 256,
    "concurrency": 8,
}
NAMES = ["plan", "why_not", "compare", "frontier", "predict", "list_catalog"]


client = pytest.importorskip("mcp.client.client", reason="the extra [mcp] is not installed")
protocol = pytest.importorskip("optimizer.serve.agents.protocol")


def asked(service: JobService, asking: Callable[[Any], Awaitable[None]]) -> None:
    """Lets a client in memory ask a server of that service."""

    async def run() -> None:
        async with service, client.Client(protocol.agent_server(service)) as agent:
            await asking(agent)

    asyncio.run(run())


def really(catalogs: Catalogs) -> Callable[[JobQuestion], JobAnswer]:
    return lambda question: answered(question, Held(catalogs, 8.0), lambda _: None)


def test_every_tool_tells_what_it_takes_and_answers(monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs) -> None:
    async def asking(agent: Any) -> None:
        listed = {tool.name: tool for tool in (await agent.list_tools()).tools}
        assert list(listed) == NAMES
        for name, tool in QUESTION_TOOLS.items():
            taken = listed[name].input_schema
            assert set(taken["properties"]) >= {*KINDS[tool.kind].options.model_fields, *Reading.model_fields}
            assert ("scenario" in taken["required"]) == KINDS[tool.kind].of_scenario
            assert not taken["additionalProperties"]
            assert next(iter(listed[name].output_schema["properties"])) == "summary"
            assert listed[name].annotations.read_only_hint
        with pytest.raises(client.MCPError, match="no such tool: simulate"):
            await agent.call_tool("simulate", {})

    asked(threaded(monkeypatch, catalogs), asking)


def test_an_answer_begins_with_its_sentence(monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def hears(*progress: Any) -> None:
        told.append(progress)

    async def asking(agent: Any) -> None:
        answer = await agent.call_tool("predict", PREDICTED, progress_callback=hears)
        summary = answer.structured_content["summary"]
        assert summary.startswith("llama-3.1-8b fp8 on 1× l4")
        assert "time to first token" in summary
        assert answer.content[0].text.startswith(f"{summary}\n\n# llama-3.1-8b")
        assert answer.structured_content["exit_code"] == 0
        exactly = await agent.call_tool("predict", {**PREDICTED, "format": "json"})
        assert json.loads(exactly.structured_content["answer"])["setting"]["gpu"] == "l4"

    asked(threaded(monkeypatch, catalogs, really(catalogs)), asking)
    # as a test's process tells it: the second of six steps, with a gap of a tenth
    assert told == [(pytest.approx(1 + 100 / 110), 6.0, "solving: $110.00 a month, at most 9.09 % above the least")]


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("plan", {}, "error: options: scenario: missing"),
        ("plan", {"scenario": 5}, "error: scenario: expected an object, or text in YAML or JSON"),
        ("plan", {"scenario": "chat-8b", "verbos": True}, "did you mean verbose?"),
        ("plan", {"scenario": "/etc/passwd"}, "error: scenario:1:"),
        ("plan", {"scenario": "name: a\nworkload: []\n"}, "error: scenario:2: workload: unknown field"),
        ("compare", {"scenario": "chat-8b", "by": "colour"}, "error: options: by: must be 'provider'"),
        ("predict", PREDICTED | {"from_character": 10**6}, "behind the end of the answer"),
        ("predict", PREDICTED | {"gpu": "l5"}, "unknown GPU 'l5'"),
        ("list_catalog", {"catalog": "gpuz"}, "did you mean gpus?"),
        ("list_catalog", {"catalog": "gpus", "name": "l4"}, "cannot stand beside catalog"),
    ],
)
def test_a_mistake_is_told_in_the_words_of_the_command_line(
    monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs, name: str, given: dict[str, Any], said: str
) -> None:
    async def asking(agent: Any) -> None:
        refused = await agent.call_tool(name, given)
        assert refused.is_error
        assert said in refused.content[0].text
        assert "Traceback" not in refused.content[0].text

    asked(threaded(monkeypatch, catalogs, really(catalogs)), asking)


def test_a_defect_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs) -> None:
    def broken(*_: object) -> None:
        raise KeyError("of no concern to an agent")

    async def asking(agent: Any) -> None:
        refused = await agent.call_tool("list_catalog", {})
        assert refused.is_error
        assert refused.content[0].text == "error: this is a defect of optimizer: KeyError"

    monkeypatch.setattr(calling, "list_catalog", broken)
    asked(threaded(monkeypatch, catalogs), asking)


def test_a_long_answer_is_read_in_parts_that_make_the_whole(
    monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs
) -> None:
    async def asking(agent: Any) -> None:
        parts, start = [], 0
        while start is not None:
            listed = await agent.call_tool(
                "list_catalog", {"catalog": "gpus", "format": "json", "from_character": start}
            )
            told, text = listed.structured_content, listed.content[0].text
            assert len(told["answer"]) <= MAX_CHARACTERS
            assert ("call again with the same arguments" in text) == (told["next_from_character"] is not None)
            parts.append(told["answer"])
            start = told["next_from_character"]
        assert len(parts) > 1
        assert "".join(parts) == as_json(rows_content("gpus", catalog_rows(catalogs, "gpus")))

    asked(threaded(monkeypatch, catalogs), asking)


def test_an_answer_cut_short_is_read_to_its_end_and_looked_for_again_from_its_beginning(
    monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs
) -> None:
    solved: list[JobQuestion] = []

    def cut_short(question: JobQuestion) -> JobAnswer:
        solved.append(question)
        return replace(really(catalogs)(question), is_whole=False)

    async def asking(agent: Any) -> None:
        for start, times in ((0, 1), (100, 1), (0, 2)):
            part = await agent.call_tool("predict", {**PREDICTED, "from_character": start})
            assert not part.is_error
            assert len(solved) == times

    asked(threaded(monkeypatch, catalogs, cut_short), asking)


def test_a_line_that_is_too_long_is_cut_too() -> None:
    part = excerpt("It is long.", Exit.ANSWERED, "x" * (MAX_CHARACTERS + 1), Reading())
    assert (len(part.answer), part.next_from_character) == (MAX_CHARACTERS, MAX_CHARACTERS)


def test_what_is_known_is_listed(monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs) -> None:
    async def asking(agent: Any) -> None:
        async def text(**given: str) -> str:
            said: str = (await agent.call_tool("list_catalog", given)).content[0].text
            return said

        assert "catalogs as of" in await text()
        assert (await text(catalog="gpus", filter="h100-sxm")).startswith("gpus: 1 rows.")
        assert (await text(name="l4")).startswith("l4 is the name of a GPU.")
        assert "- chat-8b" in await text(catalog="scenarios")
        assert shipped_scenarios()["chat-8b"].strip() in await text(name="chat-8b")

    asked(threaded(monkeypatch, catalogs), asking)


def test_a_call_that_is_given_up_ends_its_job_unless_another_waits(
    monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs
) -> None:
    released = threading.Event()

    def waiting(question: JobQuestion) -> JobAnswer:
        released.wait(10)
        return really(catalogs)(question)

    told: list[str] = []

    async def hears(*progress: Any) -> None:
        told.append(progress[-1])

    async def run() -> None:
        async with threaded(monkeypatch, catalogs, waiting) as service:
            asking = ToolCalls(service)
            first, second = (asyncio.create_task(asking.call("predict", PREDICTED, hears)) for _ in range(2))
            while len(told) < 2:
                await asyncio.sleep(0.001)
            [job] = service.jobs()
            first.cancel()
            await asyncio.wait([first])
            assert not job.ended
            second.cancel()
            await asyncio.wait([second])
            assert job.state == "cancelled"
            released.set()

    asyncio.run(run())


@pytest.mark.slow("starts the program and plans")
def test_over_standard_streams_nothing_but_the_protocol_is_written() -> None:
    """What the solver prints, and what its processes inherit, never reaches standard output."""
    asks = [
        (
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": ""}},
        ),
        ("tools/call", {"name": "plan", "arguments": {"scenario": "chat-8b"}}),
    ]
    command = [sys.executable, "-m", "optimizer", "mcp"]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True, cwd=ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for number, (method, params) in enumerate(asks):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            assert answer["id"] == number
        assert answer["result"]["structuredContent"]["summary"].endswith("1× l40s fp8 (runpod).")
        process.stdin.close()
        assert (process.stdout.read(), process.stderr.read(), process.wait(30)) == ("", "", 0)
