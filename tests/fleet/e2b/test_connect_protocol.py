"""Envelopes, errors and limits of the Connect protocol."""

import asyncio
import json
import struct
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.types import Receive, Scope, Send
from tandem_fleet.e2b import connect_protocol
from tandem_fleet.e2b.connect_protocol import ClientStream, Method, RPCError, ServerStream, Unary, envelope
from tandem_fleet.e2b.messages import Message

pytestmark = pytest.mark.anyio


class Words(Message):
    """A message of these tests."""

    some_text: str = ""
    number: int = 0


async def echo(_: Any, words: Words) -> Words:
    if words.some_text == "fail":
        raise RPCError("not_found", "there is none")
    if words.some_text == "slow":
        await asyncio.sleep(60)
    return words


async def count(_: Any, words: Words) -> AsyncIterator[Message]:
    for number in range(words.number):
        yield Words(number=number)
    if words.some_text:
        raise RPCError("unavailable", words.some_text)


async def join(_: Any, sent: AsyncIterator[Words]) -> Words:
    return Words(some_text="".join([words.some_text async for words in sent]))


async def call(method: Method, content: Any, **headers: str) -> httpx2.Response:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await (await connect_protocol.serve(method, None, Request(scope, receive)))(scope, receive, send)

    kind = "application/json" if isinstance(method, Unary) else "application/connect+json"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://t") as http:
        return await http.post("/", content=content, headers={"content-type": kind} | named)


def opened(content: bytes) -> list[tuple[int, Any]]:
    """The envelopes of an answer."""
    found = []
    while content:
        flags, length = struct.unpack_from(">BI", content)
        found.append((flags, json.loads(content[5 : 5 + length])))
        content = content[5 + length :]
    return found


UNARY, SERVER, CLIENT = Unary(Words, echo), ServerStream(Words, count), ClientStream(Words, join)


async def test_a_message_is_answered_and_unknown_fields_are_ignored() -> None:
    answer = await call(UNARY, b'{"someText": "hi", "later": {"a": 1}, "number": null}')
    assert (answer.status_code, answer.json()) == (200, {"someText": "hi", "number": 0})
    assert (await call(UNARY, b"")).json() == {"someText": "", "number": 0}


async def test_an_error_has_the_protocols_form() -> None:
    answer = await call(UNARY, b'{"someText": "fail"}')
    assert (answer.status_code, answer.json()) == (404, {"code": "not_found", "message": "there is none"})


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"number": "x"}', b"\xff", b'{"a":' * 100_000, b"1"])
async def test_what_is_no_message_is_refused(content: bytes) -> None:
    answer = await call(UNARY, content)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_argument")
    [(flags, end)] = opened((await call(SERVER, envelope(content))).content)
    assert (flags, end["error"]["code"]) == (2, "invalid_argument")


async def test_a_message_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect_protocol, "MAX_MESSAGE", 100)
    assert (await call(UNARY, b" " * 101)).json()["code"] == "resource_exhausted"
    lies = [struct.pack(">BI", 0, 0xFFFFFFFF), struct.pack(">BI", 0, 101), struct.pack(">BI", 1, 2) + b"{}"]
    for lie in lies:
        for method in (SERVER, CLIENT):
            [(_, end)] = opened((await call(method, lie)).content)
            assert end["error"]["code"] == "resource_exhausted"


async def test_a_stream_that_ends_within_a_message_is_refused() -> None:
    for content in (b"\0", envelope(b"{}")[:-1]):
        [(_, end)] = opened((await call(CLIENT, content)).content)
        assert end["error"]["code"] == "invalid_argument"
    [(_, end)] = opened((await call(SERVER, b"")).content)
    assert end["error"]["code"] == "invalid_argument"


async def test_a_stream_is_answered_with_envelopes_and_its_end() -> None:
    answer = await call(SERVER, envelope(b'{"number": 2}'))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/connect+json")
    assert opened(answer.content) == [(0, {"someText": "", "number": 0}), (0, {"someText": "", "number": 1}), (2, {})]
    failed = opened((await call(SERVER, envelope(b'{"number": 1, "someText": "gone"}'))).content)
    assert failed[-1] == (2, {"error": {"code": "unavailable", "message": "gone"}})


async def test_a_stream_of_the_caller_is_read_piece_by_piece() -> None:
    sent = b"".join(envelope(json.dumps({"someText": word}).encode()) for word in "abc") + envelope(b"{}", 2) + b"ignored"

    async def bytewise() -> AsyncIterator[bytes]:
        for byte in sent:
            yield bytes([byte])

    assert opened((await call(CLIENT, bytewise())).content) == [(0, {"someText": "abc", "number": 0}), (2, {})]


async def test_silence_of_a_caller_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect_protocol, "RECEIVE_SECONDS", 0.05)
    monkeypatch.setattr(connect_protocol, "IDLE_SECONDS", 0.05)

    async def silent() -> AsyncIterator[bytes]:
        yield envelope(b"{}")[:-1]
        await asyncio.sleep(60)

    [(_, end)] = opened((await call(CLIENT, silent())).content)
    assert end["error"]["code"] == "deadline_exceeded"


async def test_a_call_ends_at_its_time() -> None:
    answer = await call(UNARY, b'{"someText": "slow"}', connect_timeout_ms="50")
    assert (answer.status_code, answer.json()["code"]) == (504, "deadline_exceeded")
    for wrong in ("soon", "-1", "1" * 11, "٣"):
        with_wrong = await call(UNARY, b"{}", connect_timeout_ms=wrong) if wrong.isascii() else None
        assert with_wrong is None or with_wrong.json()["code"] == "invalid_argument"


async def test_another_encoding_or_type_is_refused() -> None:
    assert (await call(UNARY, b"{}", content_type="application/proto")).status_code == 415
    assert (await call(SERVER, envelope(b"{}"), content_type="application/json")).status_code == 415
    assert (await call(UNARY, b"{}", content_encoding="gzip")).json()["code"] == "unimplemented"
    [(_, end)] = opened((await call(SERVER, envelope(b"{}"), connect_content_encoding="gzip")).content)
    assert end["error"]["code"] == "unimplemented"
