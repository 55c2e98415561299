"""What one may ask beside a plan: the frontier along one of its limits, and why not another choice."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from optimizer.answers.planning.frontier import Frontier
from optimizer.answers.planning.why_not import WhyNot
from optimizer.base.errors import InputError
from optimizer.report.layout.html import section_html
from optimizer.report.plan.frontier import frontier_answer
from optimizer.report.plan.why_not import why_not_answer
from optimizer.serve.jobs.job import Job
from optimizer.serve.jobs.question import JobQuestion
from optimizer.serve.jobs.service import Full
from optimizer.serve.page.site import Site, fields_of, in_words, retry
from optimizer.serve.page.sliders import Slider, curve_of, sliders_of, sweep_text
from optimizer.serve.page.states import line, part


@dataclass(frozen=True)
class Beside:
    """The routes of questions beside a plan; each answers with a part of its page."""

    site: Site

    def routes(self) -> list[Route]:
        """Every one of them."""
        return [
            Route("/frontier/{id}", self.frontier_asked, methods=["POST"]),
            Route("/frontier/{id}/{plan}", self.frontier),
            Route("/why-not/{id}", self.why_not_asked, methods=["POST"]),
            Route("/why-not/{id}/answer", self.why_not),
        ]

    async def frontier_asked(self, request: Request) -> Response:
        """The slider on a limit, with the frontier behind it as soon as that is there."""
        job = self.site.job_of(request, "plan")
        limit = dict(await fields_of(request)).get("limit", "")
        slider = await asyncio.to_thread(slider_of, self.site, job, limit)
        if not slider.sweep:
            return self._moving(slider, job, {"curve": None})
        asked = await self._asked(job, "frontier", {"sweep": [sweep_text(slider)]})
        return asked if isinstance(asked, Response) else await self._frontier(asked, job)

    async def frontier(self, request: Request) -> Response:
        """The same when it is there."""
        planned = self.site.job_of(request, "plan", name="plan")
        return await self._frontier(self.site.job_of(request, "frontier"), planned)

    async def _frontier(self, job: Job, planned: Job) -> Response:
        if job.answer is None or not job.answer.packed:
            return part(self.site, job, f"/frontier/{job.id}/{planned.id}")
        sweep = job.question.options.model_dump()["sweep"][0].partition("=")[0]
        movable = await asyncio.to_thread(sliders, self.site, planned)
        slider = next((slider for slider in movable if slider.sweep == sweep), None)
        if slider is None:
            raise HTTPException(404, "The plan has no such limit.")
        answer = Frontier.model_validate_json(job.answer.content)
        sections = [Markup(section_html(section)) for section in frontier_answer(answer).sections]
        shown = {"curve": curve_of(answer, slider), "summary": answer.summary, "sections": sections}
        return self._moving(slider, planned, shown)

    def _moving(self, slider: Slider, planned: Job, shown: Mapping[str, Any]) -> Response:
        slider_id = "slide-" + "".join(letter if letter.isalnum() else "-" for letter in slider.field)
        return self.site.pages.html(
            "frontier.html", {**shown, "slider": slider, "slider_id": slider_id, "job_id": planned.id}
        )

    async def why_not_asked(self, request: Request) -> Response:
        """What a choice would cost, as soon as that is known."""
        chosen = {name: value for name, value in await fields_of(request) if name in self.site.choices}
        asked = await self._asked(self.site.job_of(request, "plan"), "why-not", chosen)
        return asked if isinstance(asked, Response) else self._why_not(asked)

    async def why_not(self, request: Request) -> Response:
        """The same when it is there."""
        return self._why_not(self.site.job_of(request, "why-not"))

    def _why_not(self, job: Job) -> Response:
        if job.answer is None or not job.answer.packed:
            return part(self.site, job, f"/why-not/{job.id}/answer")
        answer = why_not_answer(WhyNot.model_validate_json(job.answer.content))
        sections = [Markup(section_html(section)) for section in answer.sections]
        return self.site.pages.html("why_not.html", {"summary": answer.summary, "sections": sections})

    async def _asked(self, job: Job, kind: str, options: Mapping[str, Any]) -> Job | Response:
        """Another question about the scenario of a plan; a line where it cannot be asked."""
        try:
            return await self.site.service.ask(JobQuestion.of(kind, job.question.scenario_text, options))
        except InputError as error:
            return line(self.site, "; ".join(map(str, error.findings)), status_code=422)
        except Full as full:
            return line(self.site, in_words(full), status_code=429, headers=retry(full))


def sliders(site: Site, job: Job) -> list[Slider]:
    """Every limit of a job's scenario that can be moved."""
    file = job.question.read(site.service.catalogs)
    return [] if file is None else sliders_of(file.scenario)


def slider_of(site: Site, job: Job, field: str) -> Slider:
    """The limit at a path.

    Raises:
        HTTPException: the scenario has no such limit.
    """
    found = next((slider for slider in sliders(site, job) if slider.field == field), None)
    if found is None:
        raise HTTPException(404, "The plan has no such limit.")
    return found
