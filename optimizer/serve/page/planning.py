"""The page of a plan, and what one may ask from there: other limits, ways out, why not another choice."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from optimizer.answers.frontier import Frontier
from optimizer.answers.why_not import WhyNot
from optimizer.base.errors import InputError
from optimizer.inputs.scenario.fields import FieldError
from optimizer.plan.record.report import PlanReport
from optimizer.report.layout.html import section_html
from optimizer.report.plan.frontier import frontier_answer
from optimizer.report.plan.why_not import why_not_answer
from optimizer.serve.jobs.job import Job
from optimizer.serve.jobs.kinds import KINDS
from optimizer.serve.jobs.options import CompareOptions
from optimizer.serve.jobs.question import Question
from optimizer.serve.jobs.service import Full
from optimizer.serve.page.levers import Lever, curve_of, levers_of, sweep_text
from optimizer.serve.page.plan_view import plan_view
from optimizer.serve.page.scenario_text import content_of, with_values
from optimizer.serve.page.site import Site, fields_of, in_words, retry

COMPARED: Final[tuple[str, ...]] = get_args(CompareOptions.model_fields["by"].annotation)
STATES: Final[Mapping[str, str]] = {"queued": "Waiting for its turn", "running": "Working"}


@dataclass(frozen=True)
class Planning:
    """The routes of a plan."""

    site: Site

    def routes(self) -> list[Route]:
        """Every one of them."""
        return [
            Route("/plan/{id}", self.plan),
            Route("/plan/{id}/plan.json", self.plan_file),
            Route("/thorough/{id}", self.thorough, methods=["POST"]),
            Route("/move/{id}", self.moved, methods=["POST"]),
            Route("/way/{id}/{number:int}", self.way_taken, methods=["POST"]),
            Route("/frontier/{id}", self.frontier_asked, methods=["POST"]),
            Route("/frontier/{id}/{plan}", self.frontier),
            Route("/why-not/{id}", self.why_not_asked, methods=["POST"]),
            Route("/why-not/{id}/answer", self.why_not),
            Route("/cancel/{id}", self.cancelled, methods=["POST"]),
        ]

    async def plan(self, request: Request) -> Response:
        """The plan; until it is there, how far it is."""
        job = self.site.job_of(request)
        if job.answer is None or not job.answer.content:
            return waiting(self.site, job, f"/plan/{job.id}")
        shown = await asyncio.to_thread(self._shown, job)
        return self.site.pages.html("plan.html", **shown)

    def _shown(self, job: Job) -> dict[str, Any]:
        """What the page of a plan shows."""
        report = _report(job)
        return {
            "view": plan_view(report),
            "levers": self._levers(job) if report.monthly_cost_usd is not None else [],
            "choices": self.site.choices,
            "compared": COMPARED,
            "job_id": job.id,
            "text": job.question.scenario_text,
            "thorough": job.question.options.model_dump().get("verbose", False),
        }

    async def plan_file(self, request: Request) -> Response:
        """The plan as `optimizer plan --format json` writes it, to be kept."""
        return download(self.site.job_of(request), "plan.json")

    async def thorough(self, request: Request) -> Response:
        """The same plan with every limit and price varied."""
        await fields_of(request)
        text = self.site.job_of(request).question.scenario_text
        return await self.site.asked(Question.of("plan", text, {"verbose": True}), "/plan/{}")

    async def moved(self, request: Request) -> Response:
        """The plan with one limit set to where its slider stands."""
        fields = dict(await fields_of(request))
        job = self.site.job_of(request)
        lever = self._lever(job, fields.get("limit", ""))
        try:
            value = float(fields.get("value", ""))
        except ValueError as error:
            raise HTTPException(400, "This is no number.") from error
        return await self._changed(job, {lever.field: int(value) if value.is_integer() else value})

    async def way_taken(self, request: Request) -> Response:
        """The plan with what one of the ways out changes."""
        await fields_of(request)
        job = self.site.job_of(request)
        ways, number = _report(job).explanation.relaxations, request.path_params["number"]
        if number >= len(ways):
            raise HTTPException(404, "There is no such way out.")
        values = {item.field: list(item.to) if isinstance(item.to, tuple) else item.to for item in ways[number].changes}
        return await self._changed(job, values)

    async def _changed(self, job: Job, values: Mapping[str, Any]) -> Response:
        """The way to the plan of a question with some fields set anew."""
        text = job.question.scenario_text
        try:
            text = with_values(text, values)
        except FieldError as error:
            return self.site.ask_page(text, refused=f"{error.field}: {error}", status_code=422)
        return await self.site.asked(Question.of("plan", text, {}), "/plan/{}")

    async def frontier_asked(self, request: Request) -> Response:
        """The slider on a limit, with the frontier behind it as soon as that is there."""
        job = self.site.job_of(request)
        lever = self._lever(job, dict(await fields_of(request)).get("limit", ""))
        if not lever.sweep:
            return self.site.pages.html("frontier.html", lever=lever, curve=None, job_id=job.id, slider=_slider(lever))
        asked = await self._asked_beside(job, "frontier", {"sweep": [sweep_text(lever)]})
        return asked if isinstance(asked, Response) else self._frontier(asked, job)

    async def frontier(self, request: Request) -> Response:
        """The same when it is there."""
        return self._frontier(self.site.job_of(request), self.site.job_of(request, "plan"))

    def _frontier(self, job: Job, planned: Job) -> Response:
        if job.answer is None or not job.answer.content:
            return part(self.site, job, f"/frontier/{job.id}/{planned.id}")
        sweep = job.question.options.model_dump()["sweep"][0].partition("=")[0]
        lever = next((lever for lever in self._levers(planned) if lever.sweep == sweep), None)
        if lever is None:
            raise HTTPException(404, "The plan has no such limit.")
        answer = Frontier.model_validate_json(job.answer.content)
        sections = [Markup(section_html(section)) for section in frontier_answer(answer).sections]
        shown = {"answer": answer, "sections": sections, "curve": curve_of(answer, lever), "slider": _slider(lever)}
        return self.site.pages.html("frontier.html", lever=lever, job_id=planned.id, **shown)

    async def why_not_asked(self, request: Request) -> Response:
        """What a choice would cost, as soon as that is known."""
        chosen = {name: value for name, value in await fields_of(request) if name in self.site.choices}
        asked = await self._asked_beside(self.site.job_of(request), "why-not", chosen)
        return asked if isinstance(asked, Response) else self._why_not(asked)

    async def why_not(self, request: Request) -> Response:
        """The same when it is there."""
        return self._why_not(self.site.job_of(request))

    def _why_not(self, job: Job) -> Response:
        if job.answer is None or not job.answer.content:
            return part(self.site, job, f"/why-not/{job.id}/answer")
        answer = why_not_answer(WhyNot.model_validate_json(job.answer.content))
        sections = [Markup(section_html(section)) for section in answer.sections]
        return self.site.pages.html("why_not.html", summary=answer.summary, sections=sections)

    async def cancelled(self, request: Request) -> Response:
        """Nobody works on it any more."""
        await fields_of(request)
        job = self.site.job_of(request)
        self.site.service.cancel(job.id)
        if "hx-request" in request.headers:
            return part(self.site, job, "")
        return RedirectResponse(f"/{job.question.kind}/{job.id}", 303)

    async def _asked_beside(self, job: Job, kind: str, options: Mapping[str, Any]) -> Job | Response:
        """Another question about the scenario of a plan; a line where it cannot be asked."""
        try:
            return await self.site.service.ask(Question.of(kind, job.question.scenario_text, options))
        except InputError as error:
            told = "; ".join(map(str, error.findings))
            return self.site.pages.html("line.html", 422, text=told)
        except Full as full:
            return self.site.pages.html("line.html", 429, retry(full), text=in_words(full))

    def _levers(self, job: Job) -> list[Lever]:
        file = job.question.read(self.site.service.catalogs)
        return [] if file is None else levers_of(file.scenario)

    def _lever(self, job: Job, field: str) -> Lever:
        lever = next((lever for lever in self._levers(job) if lever.field == field), None)
        if lever is None:
            raise HTTPException(404, "The plan has no such limit.")
        return lever


def waiting(site: Site, job: Job, done: str) -> Response:
    """The page of a job that is under way, or ended without an answer."""
    if job.ended:
        return site.ended_without(job)
    scenario = content_of(job.question.scenario_text).get("name", "")
    about = KINDS[job.question.kind].about
    return site.pages.html("wait.html", job=job, done=done, scenario=scenario, about=about, state=STATES[job.state])


def part(site: Site, job: Job, done: str) -> Response:
    """The same as a part of a page."""
    if job.answer is not None:
        return site.pages.html("line.html", text=job.answer.problem or "; ".join(map(str, job.answer.findings)))
    if job.ended:
        return site.pages.html("line.html", text="Cancelled.")
    return site.pages.html("job.html", job=job, done=done, whole=False, state=STATES[job.state])


def download(job: Job, name: str) -> Response:
    """The answer of a job, byte for byte, as a file."""
    if job.answer is None or not job.answer.content:
        raise HTTPException(404, "There is no answer to keep.")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(job.answer.content, headers=headers, media_type="application/json")


def _report(job: Job) -> PlanReport:
    if job.question.kind != "plan" or job.answer is None or not job.answer.content:
        raise HTTPException(404, "There is no plan to go on from.")
    return PlanReport.model_validate_json(job.answer.content)


def _slider(lever: Lever) -> str:
    """What the slider is called within a page."""
    return "slide-" + "".join(letter if letter.isalnum() else "-" for letter in lever.field)
