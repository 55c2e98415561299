"""The OpenAPI document, made from the models that the questions are checked by and the answers are written from."""

import json
from functools import cache
from typing import Any, Final

from pydantic import BaseModel, create_model
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from optimizer.base.version import VERSION
from optimizer.inputs.scenario.scenario import Scenario
from optimizer.serve.http.asking import MAX_WAIT_S
from optimizer.serve.http.records import JobRecord, JobWithResult, ProblemDetails
from optimizer.serve.jobs.kinds import KINDS, JobKind
from optimizer.serve.jobs.question import PLAN

REFERENCE: Final = "#/components/schemas/{model}"
EXAMPLES: Final[dict[str, dict[str, Any]]] = {
    "plan": {"scenario": "chat-8b"},
    "why-not": {"scenario": "chat-8b", "gpu": "h100-sxm"},
    "frontier": {"scenario": "chat-8b", "sweep": ["ttft_ms=200:1000:5"]},
    "compare": {"scenario": "chat-8b", "by": "provider"},
    "simulate": {"scenario": "chat-8b", "arrivals": "gamma:4"},
    "gate": {"scenario": "ci-gate", "max_monthly_usd": 20000},
    "lifecycle": {"scenario": "lifecycle-70b"},
    "predict": {
        "model": "llama-3.1-8b",
        "gpu": "l4",
        "precision": "fp8",
        "input_tokens": 1024,
        "output_tokens": 256,
        "concurrency": 8,
    },
}
"""A question of each kind that is answered as it stands."""


@cache
def openapi_document() -> str:
    """The document as JSON; the same bytes every time."""
    bodies = {name: _body(name, kind) for name, kind in KINDS.items()}
    written: list[tuple[type[BaseModel], JsonSchemaMode]] = [(Scenario, "validation")]
    written += [(body, "validation") for body in bodies.values()]
    written += [(model, "serialization") for model in (ProblemDetails, JobRecord, JobWithResult)]
    written += [(kind.shape, "serialization") for kind in KINDS.values()]
    references, shapes = models_json_schema(written, ref_template=REFERENCE)

    def of(model: type[BaseModel], mode: JsonSchemaMode = "serialization") -> dict[str, Any]:
        return references[model, mode]

    problems = {code: _content(text, of(ProblemDetails), "application/problem+json") for code, text in PROBLEMS.items()}
    paths: dict[str, Any] = {
        f"/v1/{name}": {
            "post": {
                "operationId": name,
                "summary": kind.about,
                "parameters": [WAIT],
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {"schema": of(bodies[name], "validation"), "example": EXAMPLES[name]},
                        **({"application/yaml": {"schema": of(Scenario, "validation")}} if kind.of_scenario else {}),
                    },
                },
                "responses": {
                    "200": _content("The answer, as the command writes it.", of(kind.shape)),
                    "202": _content("The job that will have it.", of(JobRecord)),
                    **problems,
                },
            }
        }
        for name, kind in KINDS.items()
    }
    paths |= _job_paths(of(JobRecord), of(JobWithResult), problems) | _known_paths(problems)
    document = {
        "openapi": "3.1.0",
        "info": {"title": "optimizer", "version": VERSION, "description": ABOUT},
        "paths": paths,
        "components": {
            "schemas": shapes["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


ABOUT: Final = (
    "The cheapest LLM deployment that meets its SLAs, proven and explained. A question is a job; the same question is "
    "the same job. That no plan exists is an answer (Optimizer-Exit-Code: 3), not an error."
)
PROBLEMS: Final = {
    "401": "The server wants its token.",
    "413": "The body is larger than a question may be.",
    "422": "The question is wrong: each problem with its line and field.",
    "429": "The queue is full; Retry-After says in how many seconds to ask again.",
}
WAIT: Final = {
    "name": "wait_s",
    "in": "query",
    "description": "Answer with the answer itself where it is there within so many seconds; 0 where it is there now.",
    "schema": {"type": "number", "minimum": 0, "maximum": MAX_WAIT_S},
}


def _body(name: str, kind: JobKind) -> type[BaseModel]:
    """The question as one object: the scenario beside its options."""
    title = f"{name.title().replace('-', '')}Question"
    if not kind.of_scenario:
        return create_model(title, __base__=kind.options)
    if PLAN in kind.options.model_fields:
        return create_model(title, __base__=kind.options, scenario=(Scenario | str | None, None))
    return create_model(title, __base__=kind.options, scenario=(Scenario | str, ...))


def _content(text: str, shape: dict[str, Any], media_type: str = "application/json") -> dict[str, Any]:
    return {"description": text, "content": {media_type: {"schema": shape}}}


def _parameter(name: str, place: str, text: str) -> dict[str, Any]:
    return {"name": name, "in": place, "required": place == "path", "description": text, "schema": {"type": "string"}}


def _job_paths(record: dict[str, Any], result: dict[str, Any], problems: dict[str, Any]) -> dict[str, Any]:
    job = [_parameter("id", "path", "Of the job.")]
    missing = {"404": problems["422"] | {"description": "No such job, or it is forgotten."}}
    known, ended = _content("The job.", {"anyOf": [result, record]}), _content("The job.", record)
    events = _content("Events `progress` and, last, `end`; the data of each is the job.", {"type": "string"}, SSE)
    answer = _content("The answer, as the command writes it.", {"type": "object"})
    early = {"409": problems["422"] | {"description": "It has not ended, or was cancelled."}}
    crowd = {"429": problems["429"] | {"description": "Too many are watched already: GET the job now and then."}}
    return {
        "/v1/jobs/{id}": {
            "get": _operation("job", "Where a job is, and its answer.", job, {"200": known, **missing}),
            "delete": _operation("cancel", "Ends a job.", job, {"200": ended, **missing}),
        },
        "/v1/jobs/{id}/answer": {
            "get": _operation("answer", "The answer of a job.", job, {"200": answer, **early, **missing})
        },
        "/v1/jobs/{id}/events": {
            "get": _operation("events", "Where a job is, as it changes.", job, {"200": events, **missing, **crowd})
        },
    }


SSE: Final = "text/event-stream"


def _known_paths(problems: dict[str, Any]) -> dict[str, Any]:
    rows = {"200": _content("As `catalog list` writes it.", {"type": "object"})}
    missing = {"404": problems["422"] | {"description": "Nothing has that name."}}
    name = _parameter("name", "path", "Of the catalog, of what stands in one, or of the scenario.")
    pattern = _parameter("filter", "query", "A word or wildcard, held against the rows' names.")
    shipped = {"200": _content("Their names.", {"type": "object"})}
    text = {"200": _content("Its text.", {"type": "string"}, "application/yaml")}
    entry = {"200": _content("As `catalog show` writes it.", {"type": "object"}), "422": problems["422"]}
    metrics = {"200": _content("In the text format of Prometheus.", {"type": "string"}, "text/plain")}
    return {
        "/v1/catalog": {"get": _operation("catalogs", "The catalogs, with their number of rows.", [], rows)},
        "/v1/catalog/{name}": {
            "get": _operation("catalog", "The rows of a catalog.", [name, pattern], {**rows, **missing})
        },
        "/v1/catalog-entries/{name}": {"get": _operation("entry", "All that is known of a name.", [name], entry)},
        "/v1/scenarios": {"get": _operation("scenarios", "The shipped scenarios.", [], shipped)},
        "/v1/scenarios/{name}": {"get": _operation("scenario", "A shipped scenario.", [name], {**text, **missing})},
        "/health": {"get": _operation("health", "Whether it answers.", [], {"200": {"description": "It does."}})},
        "/metrics": {"get": _operation("metrics", "What it is doing.", [], metrics)},
    }


def _operation(name: str, text: str, parameters: list[Any], responses: dict[str, Any]) -> dict[str, Any]:
    return {"operationId": name, "summary": text, "parameters": parameters, "responses": responses}
