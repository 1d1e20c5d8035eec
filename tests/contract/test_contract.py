"""Our OpenAPI document against the one that the AIO Sandbox publishes: every part that is built, and the list of those that are not.

Where we are more lenient than the published document, it is by one of these rules:
- null for a field that need not be given counts as not given, whether or not our schema says so;
- we answer more fields than are published, and take more, as long as they need not be given;
- an answer that is published as anything at all may be something particular.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sandbox_server import generate
from tests.contract.compare import Comparison, Side
from tests.tables import table_test

PUBLISHED: dict[str, Any] = json.loads(Path(__file__).with_name("aio-openapi-1.9.4.json").read_text("utf-8"))
OURS: dict[str, Any] = json.loads(generate.openapi())

MORE_LANGUAGES = "['python', 'javascript', 'typescript', 'bash'] is not within ['python', 'javascript']"
DIFFERENT = {
    "GET /v1/browser/page/screenshot query format: any value is not within ['png', 'jpg', 'jpeg']": "no other picture can be had of a page",
    "POST /v1/browser/page/click body.button: any value is not within ['left', 'right', 'middle']": "a mouse has these three",
    "POST /v1/browser/page/scroll body.direction: any value is not within ['up', 'down', 'left', 'right']": "there are these four",
    "POST /v1/browser/page/wait body.state: any value is not within "
    "['visible', 'hidden', 'attached', 'detached', 'load', 'domcontentloaded', 'networkidle']": "Playwright knows these",
    "POST /v1/browser/page/scroll_to_element body.selector: must be given, and need not": "an index names an element too",
    "POST /v1/file/glob body.sort_by: any value is not within ['path', 'name', 'size', 'modified']": "the published text names these four",
    "POST /v1/file/list body.sort_by: any value is not within ['name', 'size', 'modified', 'type']": "the published text names these four",
    "POST /v1/bash/kill body.signal: any value is not within ['SIGTERM', 'SIGKILL', 'SIGINT']": "the published text names these three",
    "POST /v1/code/execute body.language: must be given, and need not": "the published tool may leave it out",
    "POST /v1/code/execute body.language: defaults to 'python', not None": "the published tool may leave it out",
    f"POST /v1/code/execute answer.data.language: {MORE_LANGUAGES}": "only who asks for another language is answered with one",
    f"GET /v1/code/info answer.data.languages[].language: {MORE_LANGUAGES}": "the SDKs take any language",
}
"""Differences that are meant: where, and why."""


def _operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {f"{verb.upper()} {path}": entry for path, verbs in document["paths"].items() for verb, entry in verbs.items()}


THEIRS, MINE = _operations(PUBLISHED), _operations(OURS)
BUILT = sorted(set(THEIRS) & set(MINE))
SIDES = Side(OURS["components"]["schemas"]), Side(PUBLISHED["components"]["schemas"])
REQUESTS, RESPONSES = Comparison(*SIDES, answer=False), Comparison(*SIDES, answer=True)


def _request_problems(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[str]:
    mine = {(found["in"], found["name"]): found for found in ours.get("parameters", [])}
    for found in theirs.get("parameters", []):
        at = f"{found['in']} {found['name']}"
        own = mine.get((found["in"], found["name"]))
        if own is None:
            yield f"{at}: missing"
        else:
            yield from REQUESTS.problems(own["schema"], found["schema"], at, nullable=not own["required"])
            if own["required"] != found["required"]:
                yield f"{at}: required is {own['required']}, not {found['required']}"
            if own["schema"].get("default") != found["schema"].get("default"):
                yield f"{at}: defaults to {own['schema'].get('default')!r}, not {found['schema'].get('default')!r}"
    for media_type, content in theirs.get("requestBody", {}).get("content", {}).items():
        own = ours.get("requestBody", {}).get("content", {}).get(media_type)
        if own is None:
            yield f"a body of {media_type}: missing"
        else:
            yield from REQUESTS.problems(own["schema"], content["schema"], "body", nullable=not ours["requestBody"]["required"])


def _response_problems(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[str]:
    mine = ours["responses"]["200"]["content"]
    for media_type, content in theirs["responses"]["200"].get("content", {}).items():
        if media_type in mine:
            yield from RESPONSES.problems(mine[media_type]["schema"], content.get("schema", {}), "answer")
        elif content.get("schema"):
            yield f"an answer of {media_type}: missing"


def _differences(problems: Callable[[dict[str, Any], dict[str, Any]], Iterator[str]]) -> Iterator[str]:
    return (f"{name} {problem}" for name in BUILT for problem in problems(MINE[name], THEIRS[name]))


def test_what_a_client_may_send_is_taken() -> None:
    wrong = [found for found in _differences(_request_problems) if found not in DIFFERENT]
    assert not wrong, "\n".join(wrong)


def test_what_is_answered_is_what_a_client_understands() -> None:
    wrong = [found for found in _differences(_response_problems) if found not in DIFFERENT]
    assert not wrong, "\n".join(wrong)


@table_test(BUILT)
def test_an_operation_is_called_as_the_sdks_call_it(name: str) -> None:
    generated = THEIRS[name]["operationId"].partition("_v1_")[0]
    assert MINE[name]["x-name"] == THEIRS[name].get("x-fern-sdk-method-name", generated)


def test_every_operation_of_the_contract_is_there() -> None:
    assert (len(THEIRS), set(THEIRS) - set(MINE)) == (140, set())


def test_every_difference_that_is_meant_still_exists() -> None:
    assert set(DIFFERENT) <= {*_differences(_request_problems), *_differences(_response_problems)}


def test_no_two_operations_share_a_name_within_a_tag() -> None:
    names = [(entry["tags"][0], entry["x-name"]) for entry in MINE.values()]

    assert len(names) == len(set(names))


def test_every_stream_says_what_its_events_are() -> None:
    streams = [content["text/event-stream"] for entry in MINE.values() if "text/event-stream" in (content := _contents(entry))]
    named = [stream["x-itemSchema"]["$ref"].rsplit("/", 1)[1] for stream in streams]

    assert len(named) == 10
    assert all(len(OURS["components"]["schemas"][name]["oneOf"]) >= 2 for name in named)


def _contents(entry: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = entry["responses"]["200"].get("content", {})
    return found


def test_no_two_operations_share_an_id_and_no_schema_is_named_after_a_module() -> None:
    ids = [entry["operationId"] for entry in MINE.values()]

    assert len(ids) == len(set(ids))
    assert [name for name in OURS["components"]["schemas"] if "__" in name] == []
