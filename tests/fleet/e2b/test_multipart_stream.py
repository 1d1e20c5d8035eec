"""Files of a multipart body."""

from collections.abc import AsyncIterator

import pytest
from starlette.requests import Request
from tandem_fleet.e2b import multipart_stream
from tandem_fleet.e2b.connect_protocol import RPCError
from tandem_fleet.e2b.multipart_stream import MultipartFiles

pytestmark = pytest.mark.anyio
TWO = (
    b'--b\r\nContent-Disposition: form-data; name="note"\r\n\r\nx\r\n'
    b'--b\r\nContent-Disposition: form-data; name="file"; filename="/tmp/a b.txt"\r\nContent-Type: text/plain\r\n\r\none\r\n--c\r\n'
    b'--b\r\ncontent-disposition: form-data; name="file"; filename="\xc3\xa4.txt"\r\n\r\n\r\n--b--\r\n'
)


def request(body: bytes, kind: str = "multipart/form-data; boundary=b", step: int = 1) -> Request:
    """A request whose body comes in small pieces."""
    pieces = [body[start : start + step] for start in range(0, len(body), step)]

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": pieces.pop(0) if pieces else b"", "more_body": bool(pieces)}

    return Request({"type": "http", "headers": [(b"content-type", kind.encode())]}, receive)


async def read(files: MultipartFiles) -> list[tuple[str, bytes]]:
    """All files with their bytes."""
    found = []
    while (name := await files.next_file()) is not None:
        found.append((name, b"".join([chunk async for chunk in files.chunks()])))
    return found


@pytest.mark.parametrize("step", [1, 7, 10_000])
async def test_files_are_read_however_they_arrive(step: int) -> None:
    assert await read(MultipartFiles(request(TWO, step=step))) == [("/tmp/a b.txt", b"one\r\n--c"), ("ä.txt", b"")]


async def test_a_file_that_is_not_read_is_passed_over() -> None:
    files = MultipartFiles(request(TWO))
    assert [await files.next_file(), await files.next_file(), await files.next_file()] == ["/tmp/a b.txt", "ä.txt", None]


@pytest.mark.parametrize("body", [b"", TWO[:-6], b"no form at all", b"--b\r\n" + b"x" * 40_000 + b": 1\r\n\r\n\r\n--b--\r\n"])
async def test_what_is_no_form_is_refused(body: bytes) -> None:
    with pytest.raises(RPCError):
        await read(MultipartFiles(request(body, step=4096)))


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data", f"multipart/form-data; boundary={'b' * 300}"])
async def test_another_type_is_refused(kind: str) -> None:
    with pytest.raises(RPCError, match="multipart"):
        MultipartFiles(request(TWO, kind))


async def test_files_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multipart_stream, "MAX_FILES", 1)
    with pytest.raises(RPCError, match="at most 1"):
        await read(MultipartFiles(request(TWO, step=100)))


async def test_memory_holds_a_piece_alone() -> None:
    piece = b"x" * 65_536

    async def body() -> AsyncIterator[bytes]:
        yield TWO[: TWO.index(b"one")]
        for _ in range(1000):
            yield piece
        yield b"\r\n--b--\r\n"

    source = body()

    async def receive() -> dict[str, object]:
        chunk = await anext(source, None)
        return {"type": "http.request", "body": chunk or b"", "more_body": chunk is not None}

    files = MultipartFiles(Request({"type": "http", "headers": [(b"content-type", b"multipart/form-data; boundary=b")]}, receive))
    await files.next_file()
    size = 0
    async for chunk in files.chunks():
        size += len(chunk)
        assert len(files._events) < 10
    assert size == 1000 * len(piece)
