"""Where one asks: the form with the text beside it, checked while it is written, and the way to the answer."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from optimizer.base.errors import Finding, InputError
from optimizer.inputs.scenario.fields import FieldError
from optimizer.serve.jobs.question import SCENARIO, JobQuestion
from optimizer.serve.page.form import FormValues, applied
from optimizer.serve.page.scenario_text import with_workload, without_workload
from optimizer.serve.page.site import FIRST_SCENARIO, Site, fields_of, text_in

TERMS = "terms"
"""The input of which several may be ticked."""
SHOWN = "show"
"""The input that says which workload the form is to show."""
MAX_POSITION = 1000


@dataclass(frozen=True)
class Asking:
    """The routes of asking."""

    site: Site

    def routes(self) -> list[Route]:
        """Every one of them."""
        return [
            Route("/", self.opened),
            Route("/again/{id}", self.again),
            Route("/form", self.form_changed, methods=["POST"]),
            Route("/check", self.text_changed, methods=["POST"]),
            Route("/ask", self.asked, methods=["POST"]),
        ]

    async def opened(self, request: Request) -> Response:
        """The page with a shipped scenario in it."""
        name = request.query_params.get("scenario", FIRST_SCENARIO)
        if name not in self.site.shipped:
            return self.site.message("No such scenario", f"No shipped scenario is called {name}.", 404)
        return await self.site.ask_page(self.site.shipped[name], chosen=name)

    async def again(self, request: Request) -> Response:
        """The page with the question of a job in it."""
        return await self.site.ask_page(self.site.job_of(request).question.scenario_text)

    async def form_changed(self, request: Request) -> Response:
        """The text with what the form says now; and the form of another workload, where that is wanted."""
        fields = await fields_of(request)
        changed = await asyncio.to_thread(_changed, fields)
        found = changed.findings or await self._findings(changed.text)
        shown = {"text": changed.text, "findings": found, "turned": changed.turned}
        return self.site.pages.html("form_changed.html", {**shown, **await self.site.form(changed.text, changed.at)})

    async def text_changed(self, request: Request) -> Response:
        """What is wrong with the text, and the form as it is by now."""
        fields = await fields_of(request)
        text = text_in(fields)
        findings, form = await self._findings(text), await self.site.form(text, _position(fields))
        return self.site.pages.html("text_changed.html", {"findings": findings, **form})

    async def asked(self, request: Request) -> Response:
        """The way to the plan; what was changed in the form a moment ago counts."""
        text, findings = await asyncio.to_thread(_written, await fields_of(request))
        if findings:
            return await self.site.ask_page(text, findings, status_code=422)
        try:
            question = JobQuestion.of("plan", text, {})
        except InputError as error:
            return await self.site.ask_page(text, error.findings, status_code=422)
        return await self.site.asked(question, "/plan/{}")

    async def _findings(self, text: str) -> tuple[Finding, ...]:
        """What is wrong with a text, in the words of the command line."""
        try:
            await asyncio.to_thread(JobQuestion.of("plan", text, {}).read, self.site.service.catalogs)
        except InputError as error:
            return error.findings
        return ()


@dataclass(frozen=True)
class _Changed:
    """What a form that was changed comes to: the text, what is wrong, and which workload the form shows from now on."""

    text: str
    at: int
    turned: bool
    findings: tuple[Finding, ...] = ()


def _changed(fields: Sequence[tuple[str, str]]) -> _Changed:
    """The text with what was changed in the form, with a workload more or less, and the workload that is looked at."""
    text, findings = _written(fields)
    at, posted = _position(fields), dict(fields)
    before = _before(posted)
    shown = at if before is None else before.at
    if findings:
        return _Changed(text, shown, False, findings)
    try:
        match posted.get("do"):
            case "add":
                return _Changed(with_workload(text, shown), shown + 1, True)
            case "remove":
                return _Changed(without_workload(text, shown), max(shown - 1, 0), True)
    except InputError as error:
        return _Changed(text, shown, False, error.findings)
    return _Changed(text, at, at != shown)


def _position(fields: Sequence[tuple[str, str]]) -> int:
    """Of the workload that the form is to show."""
    given = dict(fields).get(SHOWN, "")
    return min(int(given), MAX_POSITION) if given.isdecimal() else 0


def _written(fields: Sequence[tuple[str, str]]) -> tuple[str, tuple[Finding, ...]]:
    """The text with what was changed in the form, and why it could not be written where it could not."""
    text, posted = text_in(fields), dict(fields)
    if "demand" not in posted:
        return text, ()
    terms = [value for name, value in fields if name == TERMS]
    try:
        return applied(text, posted, terms, _before(posted)), ()
    except FieldError as error:
        return text, (Finding(SCENARIO, 1, error.field, error.problem, error.hint),)
    except InputError as error:
        return text, error.findings


def _before(posted: Mapping[str, str]) -> FormValues | None:
    """What the form showed before it was changed, as it came with the form."""
    try:
        return FormValues.model_validate_json(posted.get("before", ""))
    except ValidationError:
        return None
