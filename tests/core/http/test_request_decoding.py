import json
from dataclasses import replace
from typing import Any

import orjson
import pytest
from starlette.requests import Request
from starlette.types import Message

from sandbox_server.core import Body, InvalidArgument, Model, ResourceExhausted, TooLarge, operation
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.core.http import request_decoding
from sandbox_server.core.http.concurrency_limits import Limits
from sandbox_server.core.http.request_decoding import fields_of, with_locations
from sandbox_server.core.operation import Spec, operations
from sandbox_server.core.quota import Quota

pytestmark = pytest.mark.anyio


class Fields(Model):
    name: str
    count: int = 0
    tags: list[str] | None = None
    version: str | None = None


class Feature:
    tag = "feature"

    @operation("POST /v1/things/{name}", scope="view", query=("version",))
    async def make(self, request: Fields) -> None:
        """Make."""

    @operation("GET /v1/things/{name}", scope="view")
    async def read(self, request: Fields) -> None:
        """Read."""

    @operation("PUT /v1/things/{name}", scope="view")
    async def put(self, request: Fields, body: Body) -> None:
        """Put."""

    @operation("DELETE /v1/things/{name}", scope="view", takes_body=True)
    async def remove(self, request: Fields) -> None:
        """Remove."""


SPECS: dict[str, Spec] = {op.spec.name: op.spec for op in operations(Feature())}


def request(body: bytes = b"", query: str = "", chunks: int = 1, **headers: str) -> Request:
    size = max(1, -(-len(body) // chunks))
    parts = [body[at : at + size] for at in range(0, len(body), size)] or [b""]
    messages = [{"type": "http.request", "body": part, "more_body": number < len(parts)} for number, part in enumerate(parts, 1)]

    async def receive() -> Message:
        return messages.pop(0)

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "headers": raw, "query_string": query.encode(), "path_params": {"name": "a"}, "path": "/"}
    return Request(scope, receive)


async def test_the_body_gives_the_fields_and_the_path_wins() -> None:
    assert await fields_of(request(b'{"name": "b", "count": 2}', chunks=3), SPECS["make"]) == {"name": "a", "count": 2}


async def test_the_query_gives_only_what_is_declared_where_there_is_a_body() -> None:
    assert await fields_of(request(b"{}", "version=20&count=9"), SPECS["make"]) == {"name": "a", "version": "20"}


async def test_the_query_gives_every_field_where_there_is_no_body() -> None:
    found = await fields_of(request(query="count=9&tags=x&tags=y&ticket=t"), SPECS["read"])

    assert found == {"name": "a", "count": "9", "tags": ["x", "y"]}


async def test_the_query_gives_the_fields_where_the_body_is_raw() -> None:
    assert await fields_of(request(b'{"count": 3}', "count=9"), SPECS["put"]) == {"name": "a", "count": "9"}


async def test_a_delete_may_have_a_body() -> None:
    assert await fields_of(request(b'{"count": 1}'), SPECS["remove"]) == {"name": "a", "count": 1}


@pytest.mark.parametrize("body", [b"", b"  \n", b"null"])
async def test_no_body_is_no_fields(body: bytes) -> None:
    assert await fields_of(request(body), SPECS["make"]) == {"name": "a"}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"{", "json_invalid"),
        (b"{'a': 1}", "json_invalid"),
        (b"\xff\xfe", "json_invalid"),
        (b'{"a": NaN}', "json_invalid"),
        (b"[" * 100_000, "json_invalid"),
        (b"[1]", "model_attributes_type"),
        (b'"text"', "model_attributes_type"),
    ],
)
async def test_a_body_that_is_no_object_is_refused_as_such(body: bytes, kind: str) -> None:
    with pytest.raises(InvalidFields) as refused:
        await fields_of(request(body), SPECS["make"])

    [problem] = refused.value.problems
    assert problem["loc"][0] == "body"
    assert problem["type"] == kind


async def test_a_body_over_the_limit_is_refused_by_its_header_and_by_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(SPECS["make"], max_body=10)
    for asked in (request(content_length="11"), request(b" " * 11, chunks=11)):
        with pytest.raises(TooLarge, match="upload larger files"):
            await fields_of(asked, small)


@pytest.mark.parametrize("body", [b'{"a":' * 200 + b"1" + b"}" * 200, b'{"a":' + b"[" * 200 + b"]" * 200 + b"}"])
async def test_a_body_that_is_too_deep_is_malformed(body: bytes) -> None:
    with pytest.raises(InvalidFields, match="more than 128 levels"):
        await fields_of(request(body), SPECS["make"])


async def test_a_body_of_too_many_values_is_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orjson, "loads", pytest.fail)
    with pytest.raises(TooLarge, match="500000 values"):
        await fields_of(request(b'{"a":[' + b"[]," * 600_000 + b"1]}"), SPECS["make"])
    with pytest.raises(TooLarge, match="500000 values"):
        await fields_of(request(b'{"a":[' + b'"",' * 600_000 + b"1]}"), SPECS["make"])


async def test_a_long_text_counts_as_one_value_whatever_is_in_it() -> None:
    text = '\\"[],{}\n' * 200_000
    assert await fields_of(request(json.dumps({"tags": [text]}).encode()), SPECS["make"]) == {"name": "a", "tags": [text]}


@pytest.mark.parametrize(("length", "chunks"), [(None, 5), ("3000000", 1)])
async def test_the_memory_of_a_body_is_reserved_while_it_is_read_and_its_bytes_while_it_is_used(length: str | None, chunks: int) -> None:
    quota = Quota("bytes", 20 << 20, programs=10 << 20, each=8 << 20)
    place = quota.take("agent", person=False, size=0)
    body = b'{"name": "' + b"x" * 2_999_988 + b'"}'
    await fields_of(request(body, chunks=chunks, **({} if length is None else {"content_length": length})), SPECS["make"], place)
    assert place.size == quota.taken == 3_000_000


async def test_a_body_for_which_there_is_no_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_decoding, "BODY_WAIT_SECONDS", 0)
    quota = Quota("bytes", 20 << 20, programs=10 << 20, each=8 << 20)
    with pytest.raises(ResourceExhausted, match=r"agent has reached its limit of \d+ bytes"):
        await fields_of(request(content_length="5000000"), SPECS["make"], quota.take("agent", person=False, size=0))
    ann = quota.take("ann", person=True, size=0)
    assert await fields_of(request(b"{}", content_length="5000000"), SPECS["make"], ann) == {"name": "a"}


async def test_a_client_that_stops_half_way_is_told_so_in_the_log_not_taken_for_a_defect() -> None:
    messages: list[Message] = [{"type": "http.request", "body": b'{"count"', "more_body": True}, {"type": "http.disconnect"}]

    async def receive() -> Message:
        return messages.pop(0)

    scope = {"type": "http", "method": "POST", "headers": [], "query_string": b"", "path_params": {}, "path": "/"}
    with pytest.raises(InvalidArgument, match="incomplete"):
        await fields_of(Request(scope, receive), SPECS["make"])


@pytest.mark.parametrize(
    ("loc", "expected"),
    [
        (("name",), ["path", "name"]),
        (("count",), ["body", "count"]),
        (("version",), ["query", "version"]),
        (("tags", 0), ["body", "tags", 0]),
        ((), ["body"]),
        (("body", 3), ["body", 3]),
    ],
)
def test_a_problem_is_located_where_its_field_came_from(loc: tuple[Any, ...], expected: list[Any]) -> None:
    [problem] = with_locations([{"loc": loc, "msg": "m", "type": "t"}], SPECS["make"])

    assert problem == {"loc": expected, "msg": "m", "type": "t"}


@pytest.mark.parametrize("name", ["read", "put"])
def test_without_a_json_body_fields_came_from_the_query(name: str) -> None:
    [problem] = with_locations([{"loc": ("count",), "msg": "m", "type": "t"}], SPECS[name])

    assert problem["loc"] == ["query", "count"]


async def test_a_programs_large_bodies_are_read_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_decoding, "BODY_WAIT_SECONDS", 0)
    quota = Limits().body_bytes
    first, second = (quota.take(name, person=False, size=0) for name in ("agent", "other"))
    body = b'{"name": "' + b"x" * request_decoding.LARGE + b'"}'
    with first:
        await first.grow(request_decoding.LARGE_COST, 0)
        with pytest.raises(ResourceExhausted, match="programs have reached their limit"):
            await fields_of(request(body, content_length=str(len(body))), replace(SPECS["make"], max_body=len(body)), second)
    assert await fields_of(request(body, content_length=str(len(body))), replace(SPECS["make"], max_body=len(body)), second) == {
        "name": "a"
    }
