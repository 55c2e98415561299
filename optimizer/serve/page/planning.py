"""The page of a plan, and the plans that one goes on to from there: another limit, a way out, every limit varied."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Final, get_args

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from optimizer.inputs.scenario.fields import FieldError
from optimizer.plan.record.report import PlanReport
from optimizer.report.plan.page import plan_charts
from optimizer.serve.jobs.job import Job
from optimizer.serve.jobs.options import CompareOptions
from optimizer.serve.jobs.question import JobQuestion
from optimizer.serve.page.beside import slider_of, sliders
from optimizer.serve.page.plan_view import plan_view
from optimizer.serve.page.scenario_text import with_values
from optimizer.serve.page.site import Site, fields_of
from optimizer.serve.page.states import download, part, waiting

COMPARED: Final[tuple[str, ...]] = get_args(CompareOptions.model_fields["by"].annotation)
MAX_WRITTEN: Final = 64
"""Pages that are kept, of some 50 kB each."""
DRAWING: Final = asyncio.Lock()
"""The library that draws has one style at a time."""


@dataclass(frozen=True)
class Planning:
    """The routes of a plan; the pages that were written last are kept, by their jobs."""

    site: Site
    written: dict[Job, bytes] = field(default_factory=dict)

    def routes(self) -> list[Route]:
        """Every one of them."""
        return [
            Route("/plan/{id}", self.plan),
            Route("/plan/{id}/plan.json", self.plan_file),
            Route("/plan/{id}/{number:int}.svg", self.chart),
            Route("/thorough/{id}", self.thorough, methods=["POST"]),
            Route("/move/{id}", self.moved, methods=["POST"]),
            Route("/way/{id}/{number:int}", self.way_taken, methods=["POST"]),
            Route("/cancel/{id}", self.cancelled, methods=["POST"]),
        ]

    async def plan(self, request: Request) -> Response:
        """The plan; until it is there, how far it is."""
        job = self.site.job_of(request, "plan")
        if job.answer is None or not job.answer.packed:
            return await waiting(self.site, job, f"/plan/{job.id}")
        if job not in self.written:
            # answers do not change: a page that is opened again, as after a step back, need not be written again
            self.written[job] = await asyncio.to_thread(self._written, job)
            if len(self.written) > MAX_WRITTEN:
                del self.written[next(iter(self.written))]
        return HTMLResponse(self.written[job])

    def _written(self, job: Job) -> bytes:
        return bytes(self.site.pages.html("plan.html", self._shown(job)).body)

    def _shown(self, job: Job) -> dict[str, Any]:
        """What the page of a plan shows."""
        report = _report(job)
        return {
            "view": plan_view(report),
            "sliders": sliders(self.site, job) if report.monthly_cost_usd is not None else [],
            "choices": self.site.choices,
            "compared": COMPARED,
            "charts": plan_charts(report) if find_spec("matplotlib") else (),
            "job_id": job.id,
            "text": job.question.scenario_text,
            "thorough": job.question.options.model_dump().get("verbose", False),
        }

    async def plan_file(self, request: Request) -> Response:
        """The plan as `optimizer plan --format json` writes it, to be kept."""
        return download(self.site.job_of(request, "plan"), "plan.json")

    async def chart(self, request: Request) -> Response:
        """One of the charts of the report."""
        report, number = _report(self.site.job_of(request, "plan")), request.path_params["number"]
        charts = plan_charts(report)
        if number >= len(charts) or not find_spec("matplotlib"):
            raise HTTPException(404, "There is no such chart.")
        async with DRAWING:
            svg = await asyncio.to_thread(charts[number].draw, report)
        return Response(svg, media_type="image/svg+xml")

    async def thorough(self, request: Request) -> Response:
        """The same plan with every limit and price varied."""
        await fields_of(request)
        text = self.site.job_of(request, "plan").question.scenario_text
        return await self.site.asked(JobQuestion.of("plan", text, {"verbose": True}), "/plan/{}")

    async def moved(self, request: Request) -> Response:
        """The plan with one limit set to where its slider stands."""
        fields = dict(await fields_of(request))
        job = self.site.job_of(request, "plan")
        slider = await asyncio.to_thread(slider_of, self.site, job, fields.get("limit", ""))
        try:
            value = float(fields.get("value", ""))
        except ValueError as error:
            raise HTTPException(400, "This is no number.") from error
        return await self._changed(job, {slider.field: int(value) if value.is_integer() else value})

    async def way_taken(self, request: Request) -> Response:
        """The plan with what one of the ways out changes."""
        await fields_of(request)
        job = self.site.job_of(request, "plan")
        ways, number = _report(job).explanation.relaxations, request.path_params["number"]
        if number >= len(ways):
            raise HTTPException(404, "There is no such way out.")
        values = {item.field: list(item.to) if isinstance(item.to, tuple) else item.to for item in ways[number].changes}
        return await self._changed(job, values)

    async def _changed(self, job: Job, values: Mapping[str, Any]) -> Response:
        """The way to the plan of a question with some fields set anew."""
        text = job.question.scenario_text
        try:
            text = await asyncio.to_thread(with_values, text, values)
        except FieldError as error:
            return await self.site.ask_page(text, refused=f"{error.field}: {error}", status_code=422)
        return await self.site.asked(JobQuestion.of("plan", text, {}), "/plan/{}")

    async def cancelled(self, request: Request) -> Response:
        """Nobody works on it any more."""
        await fields_of(request)
        job = self.site.job_of(request)
        self.site.service.cancel(job.id)
        if "hx-request" in request.headers:
            return part(self.site, job, "")
        # other kinds of answer are parts of a page and have none of their own
        page = job.question.kind if job.question.kind in {"plan", "compare"} else "again"
        return RedirectResponse(f"/{page}/{job.id}", 303)


def _report(job: Job) -> PlanReport:
    if job.answer is None or not job.answer.packed:
        raise HTTPException(404, "There is no plan to go on from.")
    return PlanReport.model_validate_json(job.answer.content)
