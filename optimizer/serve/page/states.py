"""A job as a page, as a part of a page and as a file: under way, cancelled, failed or answered."""

import asyncio
from collections.abc import Mapping
from typing import Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

from optimizer.serve.jobs.job import Job
from optimizer.serve.jobs.kinds import KINDS
from optimizer.serve.page.scenario_text import content_of
from optimizer.serve.page.site import Site

STATES: Final[Mapping[str, str]] = {"queued": "Waiting for its turn", "running": "Working"}


async def waiting(site: Site, job: Job, done: str) -> Response:
    """The page of a job that is under way, or ended without an answer.

    Args:
        site: Where it is shown.
        job: Without an answer.
        done: Where the answer will stand.
    """
    if job.ended:
        return _ended(site, job)
    # it may end while its text is read; the page follows it from here
    state = STATES[job.state]
    shown = {
        "job": job,
        "done": done,
        "scenario": (await asyncio.to_thread(content_of, job.question.scenario_text)).get("name", ""),
        "about": KINDS[job.question.kind].about,
        "state": state,
    }
    return site.pages.html("wait.html", shown)


def part(site: Site, job: Job, done: str) -> Response:
    """The same as a part of a page."""
    if job.ended:
        return line(site, _why(job))
    return site.pages.html("job.html", {"job": job, "done": done, "whole": False, "state": STATES[job.state]})


def line(site: Site, text: str, *, status_code: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A part of a page that only says something."""
    return site.pages.html("line.html", {"text": text}, status_code=status_code, headers=headers)


def download(job: Job, name: str) -> Response:
    """The answer of a job, byte for byte, as a file."""
    if job.answer is None or not job.answer.packed:
        raise HTTPException(404, "There is no answer to keep.")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(job.answer.content, headers=headers, media_type="application/json")


def _ended(site: Site, job: Job) -> Response:
    title = "Cancelled" if job.answer is None else "No answer"
    return site.message(title, _why(job), 200, ("Change the question", f"/again/{job.id}"))


def _why(job: Job) -> str:
    """Why a job has no answer."""
    if job.answer is None:
        return "Cancelled: nobody works on this question any more."
    return job.answer.problem or "; ".join(map(str, job.answer.findings))
