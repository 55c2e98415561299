"""What every page needs: the templates, and the names that the catalogs and the shipped scenarios offer to choose."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from optimizer.base.errors import Finding, InputError
from optimizer.inputs.catalog.kinds import PricingTerm
from optimizer.inputs.scenario.loading import scenario_in
from optimizer.inputs.scenario.yaml_lines import parse
from optimizer.serve.jobs.job import Job
from optimizer.serve.jobs.question import SCENARIO, JobQuestion
from optimizer.serve.jobs.scenario_text import shipped_scenarios
from optimizer.serve.jobs.service import Full, JobService
from optimizer.serve.page.form import (
    BY_KIND,
    DEFAULTS,
    PLAIN_FIELDS,
    FormValues,
    form_values,
    length_profiles,
)
from optimizer.serve.page.rendering import Pages

FIELDS: Final = {field.name: field for field in (*PLAIN_FIELDS, *(f for fields in BY_KIND.values() for f in fields))}
KINDS_OF_DEMAND: Final = {"rate": "a rate", "users": "people", "day": "a drawn day", "text": "as the text says"}
MAX_FIELDS: Final = 200
"""Of a form, which has a third of that."""
FIRST_SCENARIO: Final = "chat-8b"


@dataclass(frozen=True)
class Site:
    """What is the same for all who ask.

    Attributes:
        service: Who answers.
        pages: The templates.
        shipped: Texts of the shipped scenarios by name.
        profiles: Lengths of requests to choose from, and what they are like.
        choices: GPUs, providers and precisions that one may ask for instead.
    """

    service: JobService
    pages: Pages
    shipped: Mapping[str, str]
    profiles: Mapping[str, str]
    choices: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, service: JobService) -> "Site":
        """For the catalogs of a service."""
        shipped = shipped_scenarios()
        read = (scenario_in(parse(text, f"{name}.yaml"), None).scenario for name, text in shipped.items())
        offers = service.catalogs.offers
        choices = {
            "gpu": tuple(sorted({offer.gpu for offer in offers})),
            "provider": tuple(sorted({offer.provider for offer in offers})),
            "precision": tuple(sorted(service.catalogs.schemes)),
        }
        return cls(service, Pages(service.catalogs.as_of), shipped, length_profiles(read), choices)

    async def ask_page(
        self,
        text: str,
        findings: Iterable[Finding] = (),
        *,
        refused: str = "",
        chosen: str = "",
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """The page to ask on, with a scenario in it; what is wrong with it is told where it stands."""
        shown = {"text": text, "findings": tuple(findings), "refused": refused, "chosen": chosen}
        about = {name: _about(shipped) for name, shipped in self.shipped.items()}
        return self.pages.html(
            "ask.html", {"shipped": about, **shown, **await self.form(text)}, status_code=status_code, headers=headers
        )

    async def form(self, text: str, at: int = 0) -> dict[str, Any]:
        """What the form shows of a text and of the workload at a position in it.

        Of a text that cannot be read it shows nothing, and tells by `is_read` that it is not.
        """
        try:
            values, is_read = await asyncio.to_thread(form_values, text, at), True
        except InputError:
            values, is_read = form_values("{}"), False
        return {
            "form": values,
            "is_read": is_read,
            "before": values.model_dump_json(),
            "fields": FIELDS,
            "defaults": {name: DEFAULTS.get(name, "") for name in FIELDS},
            "kinds": KINDS_OF_DEMAND,
            "highest": _highest(values),
            "models": sorted(self.service.catalogs.models),
            "profiles": self.profiles,
            "all_terms": get_args(PricingTerm),
        }

    async def asked(self, question: JobQuestion, address: str) -> Response:
        """The way to a question's answer; or back to the question, with what is wrong with it."""
        try:
            job = await self.service.ask(question)
        except InputError as error:
            return await self.ask_page(question.scenario_text, error.findings, status_code=422)
        except Full as full:
            return await self.ask_page(
                question.scenario_text, refused=in_words(full), status_code=429, headers=retry(full)
            )
        return RedirectResponse(address.format(job.id), 303)

    def job_of(self, request: Request, *kinds: str, name: str = "id") -> Job:
        """The job that a path names, of one of those kinds; of any where none is named.

        Raises:
            HTTPException: it is not kept (any more), or of another kind.
        """
        job = self.service.job(request.path_params[name])
        if job is None or (kinds and job.question.kind not in kinds):
            raise HTTPException(404, "This answer is not kept any more; ask again.")
        return job

    def message(self, title: str, text: str, status_code: int, *links: tuple[str, str]) -> Response:
        """A page with one thing to say, and where to go from there."""
        shown = {"title": title, "text": text, "links": (*links, ("Ask a question", "/"))}
        return self.pages.html("message.html", shown, status_code=status_code)


async def fields_of(request: Request) -> list[tuple[str, str]]:
    """The fields of a form that was sent.

    Raises:
        HTTPException: it is none.
    """
    try:
        body = (await request.body()).decode()
        return parse_qsl(body, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError as error:
        raise HTTPException(400, "This is no form of this page.") from error


def text_in(fields: Iterable[tuple[str, str]]) -> str:
    """The scenario of a form, its lines ended as files end them: browsers send two signs for each end."""
    return dict(fields).get(SCENARIO, "").replace("\r\n", "\n")


def in_words(full: Full) -> str:
    """What a full queue says to people."""
    return f"As many questions wait as may. Ask again in {full.retry_after_s} s."


def retry(full: Full) -> dict[str, str]:
    """What a full queue says to programs."""
    return {"Retry-After": str(full.retry_after_s)}


def _highest(values: FormValues) -> float:
    return max(*values.hours, 1)


def _about(text: str) -> str:
    """The first sentence of a shipped scenario's own comment."""
    comment = " ".join(line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#"))
    return comment.partition(". ")[0].rstrip(".")
