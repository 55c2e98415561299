"""What a request asks: a question in its body, as JSON with the scenario in it or as the scenario itself."""

import asyncio
import json
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request

from optimizer.base.errors import Finding, InputError
from optimizer.base.files import RepeatedKey, without_repeats
from optimizer.inputs.scenario.yaml_lines import MAX_DEPTH
from optimizer.serve.http.problems import RequestRefused
from optimizer.serve.jobs.question import PLAN, SCENARIO, JobQuestion
from optimizer.serve.jobs.scenario_text import scenario_text

JSON: Final = "application/json"
YAML: Final = frozenset({"application/yaml", "application/x-yaml", "text/yaml"})
BODY: Final = "body"
"""What findings call a request's body."""
WAIT: Final = "wait_s"
MAX_WAIT_S: Final = 30.0


async def question_of(request: Request, kind: str) -> JobQuestion:
    """The question of a request.

    Its body is `{"scenario": …, OPTION: …}`, the scenario as an object, as text or by a shipped name; or it is the
    scenario itself, in YAML or JSON, or a plan, and the options stand in the query.

    Raises:
        InputError: it cannot be read, or an option is unknown or out of range.
        RequestRefused: the body is of another kind.
    """
    # a body as large as it may be takes a while to read, in which others are answered
    return await asyncio.to_thread(_question, request, kind, await request.body())


def _question(request: Request, kind: str, body: bytes) -> JobQuestion:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type in YAML:
        return JobQuestion.of(kind, _text(body), _query(request))
    if media_type != JSON:
        raise RequestRefused(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send the question as {JSON}, or a scenario as application/yaml"
        )
    text = _text(body)
    content = _object(text)
    if "workloads" in content and SCENARIO not in content:
        return JobQuestion.of(kind, text, _query(request))
    if "schema_version" in content:
        return JobQuestion.of(kind, "", {**_query(request), PLAN: content})
    options = {name: value for name, value in content.items() if name != SCENARIO}
    return JobQuestion.of(kind, scenario_text(content.get(SCENARIO)), options)


def wait_s(request: Request) -> float | None:
    """How long the client would wait for the answer itself; None where it wants to be told of the job.

    Raises:
        InputError: it is no number of seconds.
    """
    given = request.query_params.get(WAIT)
    if given is None:
        return None
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= MAX_WAIT_S:
        hint = f"seconds from 0 to {MAX_WAIT_S:g}"
        raise InputError([Finding("query", 0, WAIT, "is no number that anybody waits for", hint)])
    return seconds


def _query(request: Request) -> dict[str, Any]:
    """The options in a query; one that stands there more than once is a list, and `sweep` always is."""
    names = [name for name in request.query_params if name != WAIT]
    values = {name: request.query_params.getlist(name) for name in names}
    return {name: each if len(each) > 1 or name == "sweep" else each[0] for name, each in values.items()}


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError([Finding(BODY, 0, "", f"byte {error.start} is not UTF-8")]) from error


def _object(text: str) -> dict[str, Any]:
    """The fields of a JSON object, none of which stands twice or lies deeper than a scenario may.

    Raises:
        InputError: it is none.
    """
    try:
        content = json.loads(text or "{}", object_pairs_hook=without_repeats)
    except json.JSONDecodeError as error:
        problem = f"broken JSON: {error.msg} (column {error.colno})"
        raise InputError([Finding(BODY, error.lineno, "", problem)]) from error
    except RecursionError as error:
        raise InputError([Finding(BODY, 0, "", "nested too deeply")]) from error
    except RepeatedKey as error:
        raise InputError([Finding(BODY, 0, str(error), "this key stands twice", "keep one")]) from error
    except ValueError as error:
        # the number of digits that Python reads at all
        raise InputError([Finding(BODY, 0, "", "holds a number of thousands of digits", "round it")]) from error
    if not isinstance(content, dict):
        raise InputError([Finding(BODY, 1, "", "expected an object", 'for instance {"scenario": "chat-8b"}')])
    _check_writable(content)
    return content


def _check_writable(node: object, room: int = MAX_DEPTH + 1) -> None:
    """Refuses what JSON can hold and no scenario can: groups without end, and half of a character.

    Raises:
        InputError: there is some.
    """
    if isinstance(node, str) and not _is_text(node):
        raise InputError([Finding(BODY, 0, "", "holds half of a surrogate pair, which is no character", "write both")])
    if not isinstance(node, dict | list):
        return
    if room < 0:
        raise InputError([Finding(BODY, 0, "", "nested too deeply")])
    for item in (*node, *node.values()) if isinstance(node, dict) else node:
        _check_writable(item, room - 1)


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
