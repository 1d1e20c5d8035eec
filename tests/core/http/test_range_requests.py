from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from sandbox_server.core import Conflict, Content
from sandbox_server.core.http.range_requests import content_response

pytestmark = pytest.mark.anyio

BODY = b"0123456789"


class Source:
    """Ten bytes, and whether they were closed."""

    def __init__(self, body: bytes = BODY) -> None:
        self.body = body
        self.closed = 0

    async def read(self, start: int, stop: int) -> AsyncIterator[bytes]:
        for at in range(start, stop, 4):
            yield self.body[at : min(at + 4, stop)]

    def close(self) -> None:
        self.closed += 1

    def content(self) -> Content:
        return Content(len(self.body), "text/plain", self.read, self.close, '"v1"', modified=0.0, filename="ü.txt")


class Answer:
    """What a client receives; it may hang up before the first byte."""

    def __init__(self, *, gone: bool = False) -> None:
        self.gone = gone
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""

    async def send(self, message: Message) -> None:
        if self.gone:
            raise OSError("the client is gone")
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        self.body += message.get("body", b"")


def request(headers: Mapping[str, str], method: str = "GET") -> Request:
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": method, "headers": raw, "path": "/"})


async def ask(source: Source, headers: Mapping[str, str] = {}, method: str = "GET", *, gone: bool = False) -> Answer:
    answer = Answer(gone=gone)

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    response = content_response(source.content(), request(headers, method))
    await response({"type": "http", "asgi": {"spec_version": "2.4"}}, receive, answer.send)
    return answer


async def test_the_whole_is_given_with_what_is_needed_to_resume_it() -> None:
    answer = await ask(Source())

    assert (answer.status, answer.body) == (200, BODY)
    assert answer.headers["content-length"] == "10"
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["etag"] == '"v1"'
    assert answer.headers["last-modified"] == "Thu, 01 Jan 1970 00:00:00 GMT"
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''%C3%BC.txt"


@pytest.mark.parametrize(
    ("asked", "body", "given"),
    [
        ("bytes=2-4", b"234", "bytes 2-4/10"),
        ("bytes=7-", b"789", "bytes 7-9/10"),
        ("bytes=-3", b"789", "bytes 7-9/10"),
        ("bytes=-30", BODY, "bytes 0-9/10"),
        ("bytes=8-99", b"89", "bytes 8-9/10"),
        ("bytes=0-", BODY, "bytes 0-9/10"),
        ("bytes=9-9", b"9", "bytes 9-9/10"),
    ],
)
async def test_a_range_is_given_as_asked(asked: str, body: bytes, given: str) -> None:
    answer = await ask(Source(), {"Range": asked})

    assert (answer.status, answer.body) == (206, body)
    assert answer.headers["content-range"] == given
    assert answer.headers["content-length"] == str(len(body))


@pytest.mark.parametrize("asked", ["bytes=10-", "bytes=99-100", "bytes=-0", "bytes=5-2"])
async def test_a_range_outside_is_refused_with_the_size(asked: str) -> None:
    source = Source()
    answer = await ask(source, {"Range": asked})

    assert (answer.status, answer.body) == (416, b"")
    assert answer.headers["content-range"] == "bytes */10"
    assert source.closed == 1


@pytest.mark.parametrize("asked", ["bytes=0-1,4-5", "lines=1-2", "bytes=-", "bytes", "bytes=a-b", f"bytes=0-{'9' * 5000}", "bytes=-1-2"])
async def test_what_is_no_single_range_of_bytes_means_the_whole(asked: str) -> None:
    answer = await ask(Source(), {"Range": asked})

    assert (answer.status, answer.body) == (200, BODY)


async def test_a_resumed_download_starts_over_when_the_file_has_changed() -> None:
    same = await ask(Source(), {"Range": "bytes=5-", "If-Range": '"v1"'})
    changed = await ask(Source(), {"Range": "bytes=5-", "If-Range": '"v0"'})

    assert (same.status, same.body) == (206, b"56789")
    assert (changed.status, changed.body) == (200, BODY)


@pytest.mark.parametrize("known", ['"v1"', 'W/"v1"', '"v0", "v1"', "*"])
async def test_what_the_client_has_is_not_sent_again(known: str) -> None:
    source = Source()
    answer = await ask(source, {"If-None-Match": known})

    assert (answer.status, answer.body) == (304, b"")
    assert answer.headers["etag"] == '"v1"'
    assert source.closed == 1


async def test_an_older_version_is_replaced() -> None:
    assert (await ask(Source(), {"If-None-Match": '"v0"'})).body == BODY


async def test_head_gives_the_headers_alone() -> None:
    source = Source()
    answer = await ask(source, method="HEAD")

    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["content-length"] == "10"
    assert source.closed == 1


async def test_nothing_is_given_whole() -> None:
    answer = await ask(Source(b""))

    assert (answer.status, answer.body, answer.headers["content-length"]) == (200, b"", "0")


async def test_no_range_of_nothing_can_be_given() -> None:
    assert (await ask(Source(b""), {"Range": "bytes=0-"})).status == 416


async def test_the_content_is_closed_once_when_all_went_well() -> None:
    source = Source()
    await ask(source)

    assert source.closed == 1


async def test_the_content_is_closed_even_if_the_client_left_before_the_first_byte() -> None:
    source = Source()
    with pytest.raises(ClientDisconnect):
        await ask(source, gone=True)

    assert source.closed == 1


async def test_a_failure_half_way_ends_the_answer_before_its_length() -> None:
    class Shrinking(Source):
        async def read(self, start: int, stop: int) -> AsyncIterator[bytes]:
            yield self.body[:4]
            raise Conflict("the file became shorter")

    source = Shrinking()
    answer = await ask(source)

    assert (answer.headers["content-length"], answer.body, source.closed) == ("10", b"0123", 1)


async def test_a_name_of_arbitrary_bytes_makes_a_valid_header() -> None:
    source = Source()
    content: Any = source.content()
    response = content_response(
        Content(10, "text/plain", source.read, source.close, '"v1"', filename=b"\xff\n.txt".decode("utf-8", "surrogateescape")),
        request({}),
    )

    assert content.filename
    assert response.headers["content-disposition"] == "attachment; filename*=UTF-8''%3F%0A.txt"
