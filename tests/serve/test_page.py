"""What the page shows and takes: words that are never run, questions in any form, answers where they belong."""

import asyncio
import csv
import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from html import escape, unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from support.paths import ROOT
from support.scenarios import BY_FAMILY
from support.serving import client, threaded

from optimizer.answers.compare.types import Comparison
from optimizer.answers.planning.page import Page
from optimizer.base.errors import Exit
from optimizer.inputs.catalog.records import Catalogs
from optimizer.plan.record.report import PlanReport
from optimizer.report.compare.compare import compare_csv
from optimizer.report.plan.page import page_html
from optimizer.serve.http import asking as http_asking
from optimizer.serve.jobs.job import Job, JobAnswer, JobProgress
from optimizer.serve.jobs.question import JobQuestion
from optimizer.serve.jobs.scenario_text import shipped_scenarios
from optimizer.serve.page import asking, planning, site, states
from optimizer.serve.page.form import form_values
from optimizer.serve.page.plan_view import plan_view
from optimizer.serve.page.rendering import FOLDER, Pages

GOLDEN = ROOT / "tests/golden"
CHAT = shipped_scenarios()["chat-8b"]
IMPOSSIBLE = shipped_scenarios()["infeasible-latency"]
HTMX = {"HX-Request": "true"}
TRIES = 100
MAX_LINES = 350
"""Of a file that can be read in one sitting."""


def stored(question: JobQuestion) -> JobAnswer:
    """An answer that was published, of the kind that is asked for."""
    names = {"frontier": "answers/frontier.line", "why-not": "answers/why-not.dearer", "compare": "compare/providers"}
    if "infeasible" in question.scenario_text:
        return JobAnswer.of((GOLDEN / "reports/infeasible.json").read_bytes(), Exit.NO_PLAN)
    name = names.get(question.kind, "reports/feasible")
    return JobAnswer.of((GOLDEN / f"{name}.json").read_bytes(), Exit.ANSWERED)


@pytest.fixture(scope="module")
def reader(catalogs: Catalogs) -> Iterator[TestClient]:
    with pytest.MonkeyPatch.context() as patch, client(threaded(patch, catalogs, stored)) as opened:
        yield opened


def shown(reader: TestClient, address: str) -> str:
    """The page of an answer, as soon as that is there; nothing in it is run or styled but by files of ours."""
    for _ in range(TRIES):
        html = reader.get(address).text
        if "data-job" not in html:
            break
    assert "data-job" not in html
    inline = re.findall(r"<script(?![^>]* src=\"/static/)|<style|\sstyle=|\son\w+=|javascript:", html)
    assert not inline
    return html


def asked(reader: TestClient, text: str) -> str:
    """The address of the answer to a scenario."""
    answer = reader.post("/ask", data={"scenario": text}, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def part(reader: TestClient, address: str, **fields: str) -> str:
    """A part of a page that is asked for from it, as soon as it is there."""
    html = reader.post(address, data=fields, headers=HTMX).text
    waiting = re.search(r'data-done="([^"]+)"', html)
    return html if waiting is None else shown(reader, waiting[1])


@pytest.mark.parametrize("name", sorted(shipped_scenarios()))
def test_every_shipped_scenario_can_be_opened(reader: TestClient, name: str) -> None:
    html = shown(reader, f"/?scenario={name}")
    area = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", html, re.DOTALL)
    assert area is not None
    assert unescape(area[1]) == shipped_scenarios()[name]


@pytest.mark.parametrize("name", sorted({*shipped_scenarios()} - {*BY_FAMILY}))
def test_the_plan_of_every_shipped_scenario_is_shown(planned: Callable[[str], PlanReport], name: str) -> None:
    report = planned(name)
    view = plan_view(report)
    shown = {"view": view, "sliders": [], "choices": {}, "compared": (), "charts": (), "text": ""}
    html = Pages(report.catalog_as_of).html("plan.html", {**shown, "job_id": "x", "thorough": False}).body.decode()
    assert (view.amount or "Ways out, re-solved") in html
    assert round(sum(part.width for part in view.bill)) == (1000 if report.deployments else 0)
    assert len(view.bought) == len(report.purchases) + len(report.hosted)
    assert sum(len(card.runs) for card in view.bought) == len(report.deployments)
    assert all(0 <= item.used <= 100 for item in view.held if item.used is not None)


@pytest.mark.parametrize("ways", [True, False])
def test_what_is_no_way_out_stands_beside_those_that_are(planned: Callable[[str], PlanReport], ways: bool) -> None:
    """The terminal said it, this page did not; the one of `report` does."""
    report, broken = planned("infeasible-latency"), "set <b>: no way out, for no plan was found that holds"
    told = {"broken_ways": (broken,)} | ({} if ways else {"relaxations": []})
    report = report.model_copy(update={"explanation": report.explanation.model_copy(update=told)})
    view = plan_view(report)
    shown = {"view": view, "sliders": [], "choices": {}, "compared": (), "charts": (), "text": ""}
    html = Pages(report.catalog_as_of).html("plan.html", {**shown, "job_id": "x", "thorough": False}).body.decode()
    under = html.partition("Ways out, re-solved")[2].partition("</section>")[0]
    assert f"<li>{escape(broken)}</li>" in under
    assert ("Plan it so" in under) == ways
    assert escape(broken) in page_html(Page(report, None, (), (), ()))


def test_what_is_typed_is_shown_and_never_run(reader: TestClient) -> None:
    hostile = "</textarea><script>alert(1)</script>"
    refused = reader.post("/ask", data={"scenario": f"name: {hostile}"})
    assert refused.status_code == 422
    assert hostile not in refused.text
    assert unescape(refused.text).count(hostile) >= 2
    assert "<script>" not in reader.get("/?scenario=<script>").text


@pytest.mark.parametrize("height", [".nan", ".inf", "9" * 400])
def test_a_day_that_nobody_can_draw_is_mended_in_the_text(reader: TestClient, height: str) -> None:
    day = f"workloads: [{{name: x, demand: {{hourly: [{', '.join([height] * 24)}]}}}}]"
    assert reader.post("/check", data={"scenario": day}).status_code == 200


def test_a_form_beside_a_text_of_another_shape_is_refused_in_words(reader: TestClient) -> None:
    refused = reader.post("/ask", data={"scenario": "workloads: [1]", "demand": "day", "peak": "2"})
    assert refused.status_code == 422
    assert "has no fields" in refused.text


def test_long_texts_are_read_while_others_are_answered(reader: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def apart(read: Callable[..., object]) -> Callable[..., object]:
        def checked(*given: object) -> object:
            with pytest.raises(RuntimeError):
                asyncio.get_running_loop()
            return read(*given)

        return checked

    monkeypatch.setattr(site, "form_values", apart(site.form_values))
    monkeypatch.setattr(asking, "applied", apart(asking.applied))
    monkeypatch.setattr(http_asking, "_object", apart(http_asking._object))
    for address in ("/form", "/check", "/ask"):
        assert reader.post(address, data={"scenario": "name: x", "demand": "rate"}).status_code in {200, 422}
    assert reader.post("/v1/plan", json={"scenario": "chat-8b"}).status_code == 202


def test_findings_are_those_of_the_command_line(reader: TestClient) -> None:
    found = reader.post("/check", data={"scenario": CHAT.replace("llama-3.1-8b", "llama-3.1-8bb")}, headers=HTMX)
    assert 'data-line="7"' in found.text
    assert "scenario:7: workloads[chat].model: unknown model 'llama-3.1-8bb' (did you mean" in unescape(found.text)
    assert "Every field is sound." in reader.post("/check", data={"scenario": CHAT}).text
    assert "broken YAML" in reader.post("/check", data={"scenario": "a: ["}).text


def test_the_form_shows_any_workload(reader: TestClient) -> None:
    form = {"scenario": CHAT, "demand": "rate", "requests_per_second": "7", "terms": "on_demand"}
    form["before"] = form_values(CHAT).model_dump_json()
    added = unescape(reader.post("/form", data={**form, "do": "add"}, headers=HTMX).text)
    assert "name: chat-2" in added
    assert added.count("requests_per_second: 7\n") == 2
    two = reader.post("/form", data={**form, "show": "5"}, headers=HTMX).text
    assert 'id="form"' in two
    assert 'id="form"' not in reader.post("/form", data=form, headers=HTMX).text
    hostile = {**form, "before": form_values(CHAT).model_copy(update={"at": 7}).model_dump_json(), "do": "remove"}
    assert "1 thing to mend" in reader.post("/form", data=hostile, headers=HTMX).text


def test_the_form_writes_into_the_text(reader: TestClient) -> None:
    form = {"scenario": CHAT, "demand": "rate", "requests_per_second": "7", "terms": "on_demand"}
    assert "requests_per_second: 7\n" in reader.post("/form", data=form, headers=HTMX).text
    wrong = reader.post("/form", data={**form, "requests_per_second": "many"}, headers=HTMX).text
    assert "expected a number, not 'many'" in unescape(wrong)
    listed = reader.post("/form", data={**form, "scenario": "policy: [1]", "max_gpus": "3"}, headers=HTMX).text
    assert "leads through a list" in listed


def test_the_form_leaves_alone_what_was_written_meanwhile(reader: TestClient) -> None:
    before = form_values(CHAT).model_dump_json()
    written = CHAT.replace("requests_per_second: 4.5", "requests_per_second: 8")
    form = {"demand": "rate", "requests_per_second": "4.5", "terms": "on_demand", "max_gpus": "3", "before": before}
    text = reader.post("/form", data={"scenario": written, **form}, headers=HTMX).text
    assert "requests_per_second: 8\n" in text
    assert "max_gpus: 3" in text
    asked_at_once = reader.post("/ask", data={"scenario": written, **form}, follow_redirects=False)
    assert "max_gpus: 3" in shown(reader, asked_at_once.headers["location"])
    broken = reader.post("/check", data={"scenario": "a: ["}, headers=HTMX).text
    assert 'id="form"' not in broken
    assert 'id="form"' in reader.post("/check", data={"scenario": CHAT}, headers=HTMX).text


def test_a_plan_leads_to_other_plans(reader: TestClient) -> None:
    address = asked(reader, CHAT)
    html = shown(reader, address)
    assert "What to rent" in html
    assert reader.get(f"{address}/plan.json").content == (GOLDEN / "reports/feasible.json").read_bytes()
    assert reader.get(f"{address}/0.svg").text.startswith("<?xml")
    assert reader.get(f"{address}/9.svg").status_code == 404
    job = address.removeprefix("/plan/")
    limit = "workloads[chat].slo.tpot_ms.mean"
    moved = reader.post(f"/move/{job}", data={"limit": limit, "value": "20"}, follow_redirects=False)
    assert "tpot_ms: {mean: 20}" in shown(reader, moved.headers["location"])
    assert reader.post(f"/move/{job}", data={"limit": limit, "value": "fast"}).status_code == 400
    assert reader.post(f"/move/{job}", data={"limit": "policy.max_gpus", "value": "1"}).status_code == 404
    refused = reader.post(f"/move/{job}", data={"limit": limit, "value": "-1"})
    assert refused.status_code == 422
    assert "Find the cheapest plan" in refused.text


def test_a_page_is_written_once(reader: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    address = asked(reader, CHAT.replace("requests_per_second: 4.5", "requests_per_second: 4"))
    first = shown(reader, address)
    monkeypatch.setattr(planning, "plan_view", lambda _: pytest.fail("it is written again"))
    assert reader.get(address).text == first


def test_beside_a_plan_stand_frontiers_and_other_choices(reader: TestClient) -> None:
    job = asked(reader, CHAT).removeprefix("/plan/")
    frontier = part(reader, f"/frontier/{job}", limit="workloads[chat].slo.tpot_ms.mean")
    assert "data-curve" in frontier
    assert "Where it changes" in frontier
    answer = part(reader, f"/why-not/{job}", gpu="l40s")
    assert "What makes the difference" in answer
    assert "matches nothing" not in answer


def test_without_a_plan_a_way_out_is_taken(reader: TestClient) -> None:
    address = asked(reader, IMPOSSIBLE)
    assert "Ways out, re-solved" in shown(reader, address)
    job = address.removeprefix("/plan/")
    taken = reader.post(f"/way/{job}/0", follow_redirects=False)
    assert "p95: 1556" in shown(reader, taken.headers["location"])
    assert reader.post(f"/way/{job}/99").status_code == 404


def test_a_comparison_is_a_table_and_a_sheet(reader: TestClient) -> None:
    job = asked(reader, CHAT).removeprefix("/plan/")
    compared = reader.post(f"/compare/{job}", data={"by": "provider"}, follow_redirects=False).headers["location"]
    answer = Comparison.model_validate_json((GOLDEN / "compare/providers.json").read_bytes())
    assert shown(reader, compared).count('<th scope="row">') >= len(answer.choices)
    sheet = reader.get(f"{compared}/choices.csv")
    assert sheet.text == compare_csv(answer)
    assert reader.post(f"/compare/{job}", data={"by": "colour"}).status_code == 400


def test_who_waits_may_cancel_and_who_comes_late_comes_again(catalogs: Catalogs) -> None:
    released = threading.Event()

    def slowly(question: JobQuestion) -> JobAnswer:
        released.wait(10)
        return stored(question)

    with pytest.MonkeyPatch.context() as patch, client(threaded(patch, catalogs, slowly, max_waiting=1)) as reader:
        rated = [CHAT.replace("requests_per_second: 4.5", f"requests_per_second: {rate}") for rate in (6, 7, 8, 9)]
        first = asked(reader, rated[0])
        assert "data-job" in reader.get(first).text
        answers = [reader.post("/ask", data={"scenario": text}, follow_redirects=False) for text in rated[1:]]
        full = answers[-1]
        assert full.status_code == 429
        assert int(full.headers["retry-after"]) > 0
        assert "requests_per_second: 9" in full.text
        cancelled = reader.post(first.replace("/plan/", "/cancel/"))
        assert "Cancelled" in cancelled.text
        released.set()


@pytest.mark.parametrize(("kind", "page"), [("plan", "plan"), ("why-not", "again"), ("gate", "again")])
def test_who_cancels_without_scripts_comes_to_a_page(reader: TestClient, kind: str, page: str) -> None:
    job = reader.post(f"/v1/{kind}", json={"scenario": "chat-8b"}).json()["job"]
    sent = reader.post(f"/cancel/{job}", follow_redirects=False).headers["location"]
    assert sent == f"/{page}/{job}"
    assert reader.get(sent).status_code == 200


def test_a_job_may_end_while_its_page_is_written(monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs) -> None:
    job = Job("x", JobQuestion.of("plan", CHAT, {}))

    def meanwhile(text: str) -> dict[str, object]:
        job.tell(JobProgress("done"))
        return {"name": text[:1]}

    monkeypatch.setattr(states, "content_of", meanwhile)
    with pytest.MonkeyPatch.context() as patch:
        page = asyncio.run(states.waiting(site.Site.of(threaded(patch, catalogs)), job, "/plan/x"))
    assert b"Waiting for its turn" in page.body


def test_what_is_not_there_is_said_in_words(reader: TestClient) -> None:
    assert "not kept any more" in reader.get("/plan/0123").text
    assert reader.get("/plan/0123").status_code == 404
    assert reader.get("/again/0123").status_code == 404
    setting = {"model": "llama-3.1-8b", "gpu": "l4", "precision": "fp8", "input_tokens": 9, "output_tokens": 9}
    job = reader.post("/v1/predict", json={**setting, "concurrency": 1}).json()["job"]
    for path in ("/plan/{}", "/compare/{}", "/why-not/{}/answer", "/frontier/{}/{}", "/plan/{}/plan.json"):
        assert reader.get(path.format(job, job)).status_code == 404
    for path in ("/static/../site.py", "/static/%2e%2e/site.py", "/static/..%2fsite.py", "/static/templates/base.html"):
        assert reader.get(path).status_code == 404
    style = reader.get("/static/page.css")
    assert style.headers["content-security-policy"].startswith("default-src 'self'")
    assert reader.get("/static/page.css", headers={"If-None-Match": style.headers["etag"]}).status_code == 304


def test_files_of_others_are_what_their_source_published() -> None:
    folder = FOLDER / "static/vendor"
    with (folder / "vendored.csv").open(encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    assert {row["file"] for row in rows} == {file.name for file in folder.iterdir()} - {"vendored.csv"}
    for row in rows:
        assert hashlib.sha256((folder / row["file"]).read_bytes()).hexdigest() == row["sha256"], row["file"]
    licensed = {row["package"] for row in rows if "LICENSE" in row["file"]}
    assert licensed == {row["package"] for row in rows}


def test_nothing_is_loaded_from_elsewhere_and_all_can_be_read() -> None:
    own = [*(FOLDER / "templates").glob("*.html"), *Path(FOLDER / "static").glob("*.*")]
    assert not [file.name for file in own if re.search(r"(src|href|url)\W{1,3}(https?:)?//", file.read_text("utf-8"))]
    assert not [file.name for file in own if len(file.read_text("utf-8").splitlines()) > MAX_LINES]
