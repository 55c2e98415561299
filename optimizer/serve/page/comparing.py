"""The page of a comparison: choices in a table that can be sorted and taken away as a sheet."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from optimizer.answers.compare.types import Compared, Comparison, Verdict
from optimizer.base.errors import InputError
from optimizer.report.compare.compare import compare_answer, compare_csv
from optimizer.report.layout.amounts import change, money
from optimizer.report.layout.html import section_html
from optimizer.serve.jobs.job import Job
from optimizer.serve.jobs.question import JobQuestion
from optimizer.serve.page.site import Site, fields_of
from optimizer.serve.page.states import download, waiting

VERDICTS: Final[Mapping[Verdict, str]] = {
    "complies": "complies",
    "not_admitted": "not admitted",
    "fails": "fails",
    "not_compared": "not compared",
}


@dataclass(frozen=True)
class ComparedRow:
    """A choice as its row shows it; the numbers behind the cells order them."""

    choice: str
    verdict: str
    cost: str
    cost_usd: str
    difference: str
    difference_usd: str
    per_million: str
    gpus: str
    summary: str


@dataclass(frozen=True)
class Comparing:
    """The routes of comparisons."""

    site: Site

    def routes(self) -> list[Route]:
        """Every one of them."""
        return [
            Route("/compare/{id}", self.asked, methods=["POST"]),
            Route("/compare/{id}", self.comparison),
            Route("/compare/{id}/choices.csv", self.sheet),
            Route("/compare/{id}/comparison.json", self.file),
        ]

    async def asked(self, request: Request) -> Response:
        """The way to a comparison of the scenario of a plan."""
        by = dict(await fields_of(request)).get("by", "")
        text = self.site.job_of(request, "plan").question.scenario_text
        try:
            question = JobQuestion.of("compare", text, {"by": by})
        except InputError as error:
            raise HTTPException(400, str(error)) from error
        return await self.site.asked(question, "/compare/{}")

    async def comparison(self, request: Request) -> Response:
        """The comparison; until it is there, how far it is."""
        job = self.site.job_of(request, "compare")
        if job.answer is None or not job.answer.packed:
            return await waiting(self.site, job, f"/compare/{job.id}")
        shown = await asyncio.to_thread(_shown, _comparison(job))
        return self.site.pages.html("compare.html", {"job_id": job.id, **shown})

    async def sheet(self, request: Request) -> Response:
        """Every choice as a line of a sheet."""
        content = compare_csv(_comparison(self.site.job_of(request, "compare")))
        headers = {"Content-Disposition": 'attachment; filename="choices.csv"'}
        return Response(content, headers=headers, media_type="text/csv")

    async def file(self, request: Request) -> Response:
        """The comparison as `optimizer compare --format json` writes it."""
        return download(self.site.job_of(request, "compare"), "comparison.json")


def _comparison(job: Job) -> Comparison:
    if job.answer is None or not job.answer.packed:
        raise HTTPException(404, "There is no such comparison.")
    return Comparison.model_validate_json(job.answer.content)


def _shown(answer: Comparison) -> dict[str, Any]:
    """What the page of a comparison shows."""
    written = compare_answer(answer)
    return {
        "title": written.title,
        "summary": written.summary,
        "by": answer.by.replace("_", " "),
        "rows": tuple(_rows(answer.choices)),
        "sections": [Markup(section_html(section)) for section in written.sections],
    }


def _rows(choices: list[Compared]) -> Iterator[ComparedRow]:
    for row in choices:
        told = row.summary or "; ".join(item.text for item in row.stopped_by)
        per_million = row.cost_per_million_output_tokens_usd
        yield ComparedRow(
            choice=row.choice,
            verdict=VERDICTS[row.verdict],
            cost=money(row.monthly_cost_usd),
            cost_usd="" if row.monthly_cost_usd is None else str(row.monthly_cost_usd),
            difference=change(row.difference_usd),
            difference_usd="" if row.difference_usd is None else str(row.difference_usd),
            per_million="" if per_million is None else f"{per_million:.3f}",
            gpus="" if row.gpus is None else str(row.gpus),
            summary=told,
        )
