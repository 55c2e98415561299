"""What is asked over HTTP: bodies of any form, findings with their lines, and nothing for those who should not ask."""

import asyncio
import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient
from support.command import Command
from support.serving import client, threaded

from optimizer.base.errors import Exit
from optimizer.inputs.catalog.records import Catalogs
from optimizer.serve.application import application
from optimizer.serve.http import jobs
from optimizer.serve.http.openapi import EXAMPLES
from optimizer.serve.http.safety import MAX_BODY_BYTES, SAFE_HEADERS, Admission, Safety
from optimizer.serve.jobs.job import JobAnswer
from optimizer.serve.jobs.kinds import KINDS
from optimizer.serve.jobs.question import JobQuestion
from optimizer.serve.jobs.scenario_text import shipped_scenarios

TOKEN = "a-token-that-nobody-guesses"
JSON = {"Content-Type": "application/json"}
YAML = {"Content-Type": "application/yaml"}


@pytest.fixture(scope="module")
def asker(catalogs: Catalogs) -> Iterator[TestClient]:
    with pytest.MonkeyPatch.context() as patch, client(threaded(patch, catalogs)) as opened:
        yield opened


@pytest.fixture(scope="module")
def openapi(asker: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = asker.get("/v1/openapi.json").json()
    return found


def test_a_question_is_a_job_with_an_answer(asker: TestClient) -> None:
    asked = asker.post("/v1/plan", json={"scenario": "chat-8b", "time_limit_s": 3})
    assert asked.status_code == 202
    assert asked.headers["Location"] == f"/v1/jobs/{asked.json()['job']}"
    answered = asker.post("/v1/plan?wait_s=5", json={"scenario": "chat-8b", "time_limit_s": 3})
    assert answered.status_code == 200
    assert answered.headers["Optimizer-Exit-Code"] == "0"
    job = asker.get(asked.headers["Location"]).json()
    assert job["state"] == "done"
    assert job["result"] == answered.json()
    assert asker.get(f"{asked.headers['Location']}/answer").content == answered.content
    events = asker.get(f"{asked.headers['Location']}/events").text
    assert re.fullmatch(r"event: end\ndata: \{.*\"state\":\"done\".*\}\n\n", events)


def test_a_scenario_is_the_same_in_every_form(asker: TestClient) -> None:
    text = shipped_scenarios()["chat-8b"]
    named = asker.post("/v1/compare", json={"scenario": "chat-8b", "by": "gpu"})
    quoted = asker.post("/v1/compare", json={"scenario": text, "by": "gpu"})
    itself = asker.post("/v1/compare?by=gpu", content=text, headers=YAML)
    assert named.json()["job"] == quoted.json()["job"] == itself.json()["job"]
    written = {"name": "x", "workloads": [{"name": "c", "model": "llama-3.1-8b", "users": 10}]}
    # written out, with lines of its own, it lacks the same
    enveloped = asker.post("/v1/compare", json={"scenario": written, "by": "gpu"}).json()["findings"]
    bare = asker.post("/v1/compare?by=gpu", content=json.dumps(written, indent=2), headers=JSON).json()["findings"]
    assert enveloped == bare
    assert enveloped[0]["line"] > 1


def test_a_plan_is_asked_of_as_it_stands(asker: TestClient) -> None:
    plan = {"schema_version": 1, "scenario": "x"}
    itself = asker.post("/v1/simulate?requests=500", json=plan)
    beside = asker.post("/v1/simulate", json={"plan": plan, "requests": 500})
    assert itself.json()["job"] == beside.json()["job"]
    assert asker.post("/v1/frontier", json=plan).status_code == 422


def test_findings_are_those_of_the_command_line(asker: TestClient, optimizer: Command, tmp_path: Any) -> None:
    text = "name: x\nworkloads:\n  - name: c\n    modell: llama-3.1-8b\n    requests_per_second: -1\n"
    (tmp_path / "scenario").write_text(text, encoding="utf-8")
    said = optimizer("plan", str(tmp_path / "scenario"))
    refused = asker.post("/v1/plan", json={"scenario": text})
    assert (said.code, refused.status_code) == (Exit.BAD_INPUT, 422)
    found = refused.json()["findings"]
    assert {(each["file"], each["line"], each["field"]) for each in found} >= {("scenario", 4, "workloads[c].modell")}
    assert len(found) == len(said.err.splitlines())
    assert all(each["problem"] in said.err for each in found)


@pytest.mark.parametrize(
    ("lines", "field"),
    [
        ("    trace: /etc/passwd\n", "workloads[c].trace"),
        ("    demand: {profile: ../week.csv}\n    input_tokens: 9\n    output_tokens: 9\n", "workloads[c].demand"),
    ],
)
def test_no_file_is_read_for_a_request(asker: TestClient, lines: str, field: str) -> None:
    text = f"name: x\nworkloads:\n  - name: c\n    model: llama-3.1-8b\n{lines}    slo: {{ttft_ms: 500}}\n"
    (found,) = asker.post("/v1/plan", json={"scenario": text}).json()["findings"]
    assert found["field"] == field
    assert "none is read for a scenario that came from elsewhere" in found["problem"]


def test_a_plan_in_force_is_no_file_either(asker: TestClient) -> None:
    text = re.sub(r"in_force:(\n      .*)+", "from_plan: /etc/passwd", shipped_scenarios()["moving-day"])
    (found,) = asker.post("/v1/plan", json={"scenario": text}).json()["findings"]
    assert found["field"] == "policy.migration.from_plan"


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{", 422, "broken JSON"),
        (b"[]", 422, "expected an object"),
        (b'{"scenario": "x", "scenario": "y"}', 422, "stands twice"),
        (b'{"scenario": 5}', 422, "expected an object, or text"),
        (b"[" * 100_000, 422, "nested too deeply"),
        (b'{"scenario": ' + b"1" * 5_000 + b"}", 422, "thousands of digits"),
        (b'{"scenario": {"name": ' + b"[" * 300 + b"]" * 300 + b"}}", 422, "body: nested too deeply"),
        (b'{"scenario": "\xff"}', 422, "not UTF-8"),
        (b'{"scenario": "chat-8b", "verbose": "\\ud800"}', 422, "half of a surrogate pair"),
        (b'{"scenario": {"\\udfff": 1}}', 422, "half of a surrogate pair"),
        (b'{"\\ud800": 1, "\\ud800": 2}', 422, "stands twice"),
        (b'{"scenario": "chat-8"}', 422, "did you mean chat-8b"),
        (b'{"scenario": "a: &x 1\\nb: *x"}', 422, "anchors and aliases"),
        (b'{"scenario": "chat-8b", "catalogs": "/etc"}', 422, "unknown field"),
        (b'{"scenario": "chat-8b", "time_limit_s": 1e9}', 422, "less than or equal to 600"),
        (b"x" * (MAX_BODY_BYTES + 1), 413, "262,144 bytes"),
    ],
)
def test_what_is_malformed_is_refused_in_words(asker: TestClient, body: bytes, status: int, said: str) -> None:
    refused = asker.post("/v1/plan", content=body, headers=JSON)
    assert refused.status_code == status
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert said in refused.text
    assert "Traceback" not in refused.text


def test_a_body_without_an_announced_size_is_cut_off(asker: TestClient) -> None:
    def long() -> Iterator[bytes]:
        for _ in range(8):
            yield b"x" * 65_536

    assert asker.post("/v1/plan", content=long(), headers=JSON).status_code == 413


@pytest.mark.parametrize(
    "path", ["/v1/nosuch", "/v1/jobs/nosuch", "/v1/jobs/..%2f..%2fetc", "/../etc/passwd", "/v1/scenarios/..%2fx"]
)
def test_what_is_not_there_is_not_found(asker: TestClient, path: str) -> None:
    assert asker.get(path).status_code == 404


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/v1/plam", "did you mean /v1/plan?"),
        ("/why-not", "did you mean /v1/why-not?"),
        ("/helth", "did you mean /health?"),
        ("/zzz", "GET /v1/openapi.json names every one"),
    ],
)
def test_the_nearest_path_is_named(asker: TestClient, path: str, hint: str) -> None:
    refused = asker.post(path, json={"scenario": "chat-8b"})
    assert (refused.status_code, refused.json()["detail"]) == (404, f"no such path ({hint})")


def test_who_watches_leaves_room_for_who_asks(asker: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    job = asker.post("/v1/plan?wait_s=5", json={"scenario": "chat-8b"}).headers["Optimizer-Job"]
    assert asker.get(f"/v1/jobs/{job}/events").status_code == 200
    assert "optimizer_event_streams 0\n" in asker.get("/metrics").text
    monkeypatch.setattr(jobs, "MAX_STREAMS", 0)
    refused = asker.get(f"/v1/jobs/{job}/events")
    assert (refused.status_code, refused.headers["Retry-After"], refused.headers["Connection"]) == (429, "1", "close")
    assert f"GET /v1/jobs/{job} tells the same" in refused.json()["detail"]
    assert asker.get(f"/v1/jobs/{job}").json()["state"] == "done"


def test_another_way_of_asking_is_named(asker: TestClient) -> None:
    assert asker.get("/v1/plan").status_code == 405
    assert asker.post("/v1/plan", content=b"x", headers={"Content-Type": "text/plain"}).status_code == 415
    assert asker.post("/v1/plan?wait_s=-1", json={"scenario": "chat-8b"}).status_code == 422


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "a@b:c"])
def test_a_name_that_is_not_ours_is_refused(asker: TestClient, host: str) -> None:
    assert asker.get("/health", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost:9", "127.0.0.1", "[::1]:8080", "10.1.2.3:80"])
def test_addresses_and_this_machine_are_ours(asker: TestClient, host: str) -> None:
    assert asker.get("/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://["}, {"Sec-Fetch-Site": "cross-site"}],
)
def test_pages_of_other_sites_may_not_ask(asker: TestClient, headers: dict[str, str]) -> None:
    assert asker.post("/v1/plan", json={"scenario": "chat-8b"}, headers=headers).status_code == 403
    own = {"Origin": "http://127.0.0.1:8080", "Sec-Fetch-Site": "same-origin"}
    assert asker.post("/v1/plan", json={"scenario": "chat-8b"}, headers=own).status_code == 202


def test_every_response_has_the_safe_headers_and_none_opens_it_to_others(asker: TestClient) -> None:
    for response in (asker.get("/health"), asker.get("/nosuch"), asker.get("/health", headers={"Host": "evil"})):
        assert {name: response.headers[name] for name in SAFE_HEADERS} == SAFE_HEADERS
        assert not [name for name in response.headers if name.startswith("access-control")]


def test_a_token_is_wanted_for_all_but_health(monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs) -> None:
    with client(threaded(monkeypatch, catalogs), Admission(TOKEN, frozenset({"gpu.example"}))) as opened:
        shown = {"Authorization": f"Bearer {TOKEN}"}
        signed_in = {"Authorization": f"Basic {base64.b64encode(f'me:{TOKEN}'.encode()).decode()}"}
        refused = opened.get("/metrics")
        assert refused.status_code == 401
        assert "Basic" in refused.headers["WWW-Authenticate"]
        assert opened.get("/metrics", headers={"Authorization": "Bearer x"}).status_code == 401
        assert opened.get("/metrics", headers={"Authorization": "Basic =%"}).status_code == 401
        assert opened.get("/metrics", headers=shown | {"Host": "gpu.example"}).status_code == 200
        assert opened.get("/metrics", headers=signed_in).status_code == 200
        assert opened.get("/health").status_code == 200


def test_a_full_queue_is_429_with_the_time_to_wait(monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs) -> None:
    with client(threaded(monkeypatch, catalogs, max_waiting=0)) as opened:
        refused = opened.post("/v1/plan", json={"scenario": "chat-8b"})
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) >= 1


def test_our_own_fault_is_said_in_a_line(
    monkeypatch: pytest.MonkeyPatch, catalogs: Catalogs, capsys: pytest.CaptureFixture[str]
) -> None:
    service = threaded(
        monkeypatch, catalogs, lambda _: JobAnswer(b"", Exit.OUR_FAULT, problem="a plan broke a promise")
    )
    with client(service) as opened:
        failed = opened.post("/v1/plan?wait_s=5", json={"scenario": "chat-8b"})
        assert (failed.status_code, failed.json()["detail"]) == (500, "a plan broke a promise")
        monkeypatch.setattr(service, "job", lambda _: 1 / 0)
        broken = opened.get("/v1/jobs/x")
    assert (broken.status_code, broken.json()["detail"]) == (500, "this is a defect of optimizer")
    assert "Traceback" not in broken.text
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "messages"),
    [
        ("/v1/plan", [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]),
        ("/v1/jobs/JOB/events", [{"type": "http.request", "body": b"x" * (MAX_BODY_BYTES + 1), "more_body": True}]),
    ],
)
def test_who_leaves_or_sends_what_nobody_asked_for_is_no_defect(
    monkeypatch: pytest.MonkeyPatch,
    catalogs: Catalogs,
    capsys: pytest.CaptureFixture[str],
    path: str,
    messages: list[dict[str, Any]],
) -> None:
    service = threaded(monkeypatch, catalogs)
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    statuses = list[int]()

    async def ask() -> None:
        async with service:
            job = await service.ask(JobQuestion.of("plan", shipped_scenarios()["chat-8b"], {}))
            asked = path.replace("JOB", job.id)
            method = "GET" if asked != path else "POST"
            scope = {"type": "http", "method": method, "path": asked, "query_string": b"", "headers": headers}

            async def receive() -> dict[str, Any]:
                return messages.pop(0)

            async def send(message: Any) -> None:
                statuses.append(message.get("status", 0))
                await asyncio.sleep(0.01)

            await application(service, Admission())(scope, receive, send)

    asyncio.run(ask())
    assert statuses[0] in {200, 400}
    assert capsys.readouterr().err == ""


def test_who_waits_when_the_server_ends_is_told_so() -> None:
    async def waits(*_: Any) -> None:
        await asyncio.Event().wait()

    async def asked() -> list[Any]:
        told = list[Any]()

        async def send(message: Any) -> None:
            told.append(message)

        scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")]}
        request = asyncio.create_task(Safety(waits, Admission(), lambda *_: None)(scope, waits, send))
        await asyncio.sleep(0)
        request.cancel()
        await request
        return told

    assert asyncio.run(asked())[0]["status"] == 503


def test_the_catalogs_are_those_of_the_command_line(asker: TestClient, optimizer: Command) -> None:
    listed = optimizer("catalog", "list", "gpus", "--filter", "h100", "--format", "json")
    assert asker.get("/v1/catalog/gpus?filter=h100").text == listed.out
    assert asker.get("/v1/catalog-entries/l4").text == optimizer("catalog", "show", "l4", "--format", "json").out
    assert asker.get("/v1/catalog").text == optimizer("catalog", "list", "--format", "json").out
    assert asker.get("/v1/catalog/nosuch").status_code == 404
    assert asker.get("/v1/scenarios").json() == {"scenarios": list(shipped_scenarios())}
    assert asker.get("/v1/scenarios/chat-8b").text == shipped_scenarios()["chat-8b"]


def test_metrics_are_read_by_prometheus(asker: TestClient) -> None:
    lines = asker.get("/metrics").text.splitlines()
    line = re.compile(r'optimizer_\w+(\{\w+="[^"\\]*"(,\w+="[^"\\]*")*\})? [0-9.e+-]+')
    assert [each for each in lines if not each.startswith("#") and not line.fullmatch(each)] == []
    named = [each.split()[2] for each in lines if each.startswith("# TYPE")]
    assert len(named) == len(set(named)) > 8


def test_the_document_describes_every_route(asker: TestClient, openapi: dict[str, Any]) -> None:
    inside: Any = asker.app
    routes = {route.path.replace(":path", "") for route in inside._app.routes if route.path.startswith("/v1/")}
    assert routes - {"/v1/openapi.json"} <= set(openapi["paths"])
    names = [each["operationId"] for path in openapi["paths"].values() for each in path.values()]
    assert len(names) == len(set(names))
    text = json.dumps(openapi)
    shapes = {f"#/components/schemas/{name}" for name in openapi["components"]["schemas"]}
    assert set(re.findall(r'"\$ref": "([^"]+)"', text)) <= shapes


@pytest.mark.parametrize("kind", KINDS)
def test_every_example_is_a_question(kind: str, catalogs: Catalogs) -> None:
    options = dict(EXAMPLES[kind])
    text = shipped_scenarios().get(options.pop("scenario", ""), "")
    question = JobQuestion.of(kind, text, options)
    assert (question.read(catalogs) is None) == (kind == "predict")
