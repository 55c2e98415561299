"""A tool's call as a question: asked of the service, awaited with progress, and its answer written."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from optimizer.base.errors import Finding, InputError
from optimizer.report.layout.amounts import money, percent
from optimizer.report.layout.markdown import answer_markdown
from optimizer.serve.agents.catalog import LIST_CATALOG, CatalogArguments, list_catalog
from optimizer.serve.agents.excerpt import Excerpt, excerpt
from optimizer.serve.agents.tools import QUESTION_TOOLS, QuestionTool, Reading
from optimizer.serve.jobs.job import Job, JobAnswer, JobProgress
from optimizer.serve.jobs.question import SCENARIO, JobQuestion, checked
from optimizer.serve.jobs.scenario_text import scenario_text
from optimizer.serve.jobs.service import JobService

GAP_DIGITS: Final = 4
Watcher = Callable[[float, float, str], Awaitable[None]]
"""Told how many steps are done, of how many, and what is known by then."""


class NoAnswer(Exception):
    """The question is sound and there is no answer all the same; says why."""


class ToolCalls:
    """Answers calls of tools with one service."""

    def __init__(self, service: JobService) -> None:
        self._service = service
        self._waiting: Counter[Job] = Counter()

    async def call(self, name: str, given: Mapping[str, Any], watcher: Watcher) -> Excerpt:
        """What a tool answers.

        Raises:
            InputError: the arguments or the scenario are wrong, with every problem.
            Full: as many questions wait as may.
            NoAnswer: any other reason.
        """
        if name == LIST_CATALOG:
            arguments = checked(CatalogArguments, given)
            return await asyncio.to_thread(list_catalog, self._service.catalogs, arguments)
        tool = QUESTION_TOOLS[name]
        asked = checked(tool.arguments, given)
        options = asked.model_dump(include=set(tool.asks.options.model_fields))
        question = JobQuestion.of(tool.kind, scenario_text(getattr(asked, SCENARIO, None)), options)
        answer = await self._answer(question, asked, watcher)
        if answer.findings:
            raise InputError(answer.findings)
        if not answer.packed:
            raise NoAnswer(answer.problem)
        return await asyncio.to_thread(_written, tool, question, answer, asked)

    async def _answer(self, question: JobQuestion, reading: Reading, watcher: Watcher) -> JobAnswer:
        """The answer that is being read already, whatever cut it short; else that of the question's job."""
        if reading.from_character:
            begun = self._service.job(question.id(self._service.catalogs_sha256))
            if begun is not None and begun.answer is not None:
                return begun.answer
        return await self._awaited(await self._service.ask(question), watcher)

    async def _awaited(self, job: Job, watcher: Watcher) -> JobAnswer:
        """The answer of a job; one that nobody waits for any more is ended."""
        self._waiting[job] += 1
        try:
            told = -1.0
            async for progress in job.events():
                # the protocol wants each figure above the one before
                if progress.steps and (done := _done(progress)) > told:
                    told = done
                    await watcher(done, float(progress.steps), _words(progress))
        finally:
            self._waiting[job] -= 1
            if not self._waiting[job]:
                del self._waiting[job]
                self._service.cancel(job.id)
        if job.answer is None:
            raise NoAnswer("the question was cancelled")
        return job.answer


def _written(tool: QuestionTool, question: JobQuestion, answer: JobAnswer, reading: Reading) -> Excerpt:
    record = tool.asks.shape.model_validate_json(answer.content)
    written = tool.written(record, question.options)
    summary = tool.sentence(record) if tool.sentence else written.summary
    # the sentence stands above the answer, and not in it again
    body = answer_markdown(replace(written, summary="")) if reading.format == "markdown" else answer.content.decode()
    return excerpt(summary, answer.exit_code, body, reading)


def _done(progress: JobProgress) -> float:
    """Steps that are done, and of the one at work the share of the best plan's cost that is proven."""
    return progress.step + (0.0 if progress.gap is None else 1.0 - progress.gap)


def _words(progress: JobProgress) -> str:
    if progress.best_usd is None or progress.gap is None:
        return progress.phase
    gap = percent(round(progress.gap, GAP_DIGITS))
    return f"{progress.phase}: {money(progress.best_usd)} a month, at most {gap} above the least"


def finding_lines(findings: tuple[Finding, ...], most: int) -> str:
    """Every problem on a line of its own, as the command line says it; the first of them where there are very many."""
    lines = [f"error: {each}" for each in findings[:most]]
    more = len(findings) - most
    return "\n".join([*lines, f"error: {more:,} more problems like these are not shown"] if more > 0 else lines)
