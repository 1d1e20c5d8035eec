"""The running API is the one that is described, and no input that it is sent makes it fail."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import sandbox_server
from tests.image.container import Sandbox

COMMITTED = json.loads((Path(sandbox_server.__file__).parent / "openapi.json").read_text("utf-8"))
WAIT_SECONDS = 120.0
"""Seconds within which any wrong request is answered; a few wait a quarter of it for what is not on a page."""
SHORT = {"timeout": 1, "duration": 0.1}
"""Fields that say how long an operation goes on, in seconds, and what they are set to."""

SPARED = {"POST /v1/file/watch/wait": "it waits for a file, whatever the path"}
"""Operations that are not called, and why."""

SLOW = {
    f"POST /v1/browser/{name}"
    for name in ("restart", "page/record", "page/upload_file", "page/check", "page/uncheck", "page/select_option")
}
"""Operations that take over five seconds, because some of the requests are right: they film, or wait for what is not on the page."""

OAUTH = {"/v1/identity/exchange"}
"""Operations whose errors have the form that OAuth clients read."""

WRONG_VALUES: tuple[Any, ...] = (None, True, -1, 1e308, 2**63, "", "x" * 5000, "a\0b", [None], {"a": {"b": []}})
WRONG_BODIES = (b"", b"{", b"[]", b"null", b'"text"', b"\xff\xfe", b'{"a": NaN}', b"[" * 50_000, b'{"a":' * 2000 + b"1" + b"}" * 2000)


def operations() -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Name, verb, path and entry of every operation."""
    for path, verbs in COMMITTED["paths"].items():
        for verb, entry in verbs.items():
            if f"{verb.upper()} {path}" not in SPARED:
                yield f"{verb.upper()} {path}", verb.upper(), path, entry


def schema_of(schema: dict[str, Any]) -> dict[str, Any]:
    return schema_of(COMMITTED["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]) if "$ref" in schema else dict(schema)


@pytest.fixture(scope="module")
def target(sandbox_with: Callable[..., Sandbox]) -> Sandbox:
    """A container that may be left in any state: one for all operations, so that none leaves anything that the others meet."""
    return sandbox_with()


def test_the_running_api_is_the_one_that_is_described(sandbox: Sandbox) -> None:
    assert sandbox.request("GET", "/v1/openapi.json").json() == COMMITTED


def test_every_described_route_is_there(sandbox: Sandbox) -> None:
    for name, _, path, _ in operations():
        answer = sandbox.request("OPTIONS", path.replace("{", "").replace("}", ""))
        assert answer.status_code in (200, 204, 405), f"{name}: {answer.status_code} {answer.text}"


@pytest.mark.parametrize(
    ("verb", "path", "entry"),
    [pytest.param(*rest, id=name, marks=pytest.mark.slow if name in SLOW else ()) for name, *rest in operations()],
)
def test_no_wrong_request_makes_the_api_fail(target: Sandbox, verb: str, path: str, entry: dict[str, Any]) -> None:
    for label, request in wrong_requests(path, entry):
        url = f"{target.base_url}{request.pop('path')}"
        try:
            with target.http.stream(verb, url, headers=target.headers, timeout=WAIT_SECONDS, **request) as answer:
                check(label, answer)
        except httpx.ReadTimeout:
            pytest.fail(f"{label}: no answer within {WAIT_SECONDS:g} s")


def check(label: str, answer: httpx.Response) -> None:
    """A request that is wrong is answered by what is wrong with it; some wrong values are right somewhere."""
    kind = answer.headers.get("content-type", "").partition(";")[0]
    assert answer.status_code < 500, f"{label}: {answer.status_code} {answer.read()!r}"
    if answer.status_code >= 400 and answer.request.method != "HEAD":
        assert kind == "application/json", f"{label}: {answer.status_code} {kind}"
        body = json.loads(answer.read())
        if answer.request.url.path in OAUTH and "error" in body:  # RFC 6749, 5.2
            assert set(body) <= {"error", "error_description"}, f"{label}: {body}"
        else:
            assert ("detail" in body) != ("success" in body), f"{label}: {body}"


def wrong_requests(path: str, entry: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Requests of which at least most are wrong, each with a name."""
    filled = path
    for found in entry["parameters"]:
        if found["in"] == "path":
            filled = filled.replace(f"{{{found['name']}}}", "never-seen")
    content = entry.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        yield from wrong_json(filled, schema_of(content["application/json"]["schema"]))
    if "multipart/form-data" in content:
        yield "no form", {"path": filled, "json": {}}
    for found in entry["parameters"]:
        if found["in"] == "query":
            for value in ("", "-1", "x" * 3000, "a\0b", "1e999"):
                yield f"query {found['name']}={value[:10]!r}", {"path": filled, "params": {found["name"]: value}}
    yield "nothing", {"path": filled}


def wrong_json(path: str, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for body in WRONG_BODIES:
        yield f"body {body[:20]!r}", {"path": path, "content": body}
    for variant in schema.get("oneOf", [schema]):
        yield from wrong_fields(path, schema_of(variant))


def wrong_fields(path: str, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    given = {name: sample(schema["properties"][name]) for name in schema.get("required", [])}
    given |= {name: value for name, value in SHORT.items() if name in schema.get("properties", {})}
    for name in schema.get("properties", {}):
        for value in WRONG_VALUES:
            yield f"{name}={str(value)[:20]!r}", {"path": path, "json": {**given, name: value}}


def sample(schema: dict[str, Any]) -> object:
    """A value of the right kind, that names nothing there is."""
    if "const" in schema:
        return schema["const"]
    return schema["enum"][0] if "enum" in schema else {"integer": 1, "array": [], "object": {}}.get(schema.get("type", ""), "never-seen")
