from collections.abc import Iterator

import pytest
from starlette.requests import Request
from starlette.types import Message

from sandbox_server.core import InvalidArgument, TooLarge
from sandbox_server.core.http import multipart
from sandbox_server.core.http.multipart import MultipartUpload

pytestmark = pytest.mark.anyio

CONTENT = bytes(range(256)) * 40 + b"\r\n--edg"
BODY = (
    b'--edge\r\nContent-Disposition: form-data; name="path"\r\n\r\n/tmp/\xc3\xbc\r\n'
    b'--edge\r\nContent-Disposition: form-data; name="file"; filename="\xc3\xbc.bin"\r\nContent-Type: image/png\r\n\r\n' + CONTENT + b"\r\n"
    b'--edge\r\nContent-Disposition: form-data; name="file"; filename="empty"\r\n\r\n\r\n'
    b'--edge\r\nContent-Disposition: form-data; name="mode"\r\n\r\n0600\r\n'
    b"--edge--\r\n"
)


def upload(
    body: bytes = BODY, size: int = 7, kind: str = "multipart/form-data; boundary=edge", *, hang_up: bool = False
) -> MultipartUpload:
    def messages() -> Iterator[Message]:
        for at in range(0, len(body), size):
            yield {"type": "http.request", "body": body[at : at + size], "more_body": True}
        yield {"type": "http.disconnect"} if hang_up else {"type": "http.request", "body": b"", "more_body": False}

    left = messages()

    async def receive() -> Message:
        return next(left)

    return MultipartUpload(Request({"type": "http", "method": "POST", "headers": [(b"content-type", kind.encode())], "path": "/"}, receive))


async def everything(found: MultipartUpload) -> list[tuple[str, str, str, bytes]]:
    return [(part.name, part.filename, part.media_type, b"".join([chunk async for chunk in part.chunks()])) async for part in found]


@pytest.mark.parametrize("size", [1, 7, 64, 4096, len(BODY)])
async def test_files_and_fields_arrive_whole_however_they_are_cut(size: int) -> None:
    found = upload(size=size)

    assert await everything(found) == [("file", "ü.bin", "image/png", CONTENT), ("file", "empty", "application/octet-stream", b"")]
    assert found.field("path") == "/tmp/ü"
    assert found.field("mode") == "0600"
    assert found.field("missing") is None


async def test_a_field_before_the_file_is_known_while_the_file_arrives() -> None:
    found = upload()
    async for part in found:
        assert (part.filename, found.field("path"), found.field("mode")) == ("ü.bin", "/tmp/ü", None)
        break


async def test_a_file_that_is_not_read_is_passed_over() -> None:
    found = upload()

    assert [part.filename async for part in found] == ["ü.bin", "empty"]
    assert found.field("mode") == "0600"


async def test_a_multipart_file_is_held_one_chunk_at_a_time() -> None:
    async for part in upload(size=512):
        async for chunk in part.chunks():
            assert len(chunk) <= 512


@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data", "multipart/form-data; boundary=", ""])
def test_another_kind_of_body_is_refused(kind: str) -> None:
    with pytest.raises(InvalidArgument, match="multipart/form-data with a boundary"):
        upload(kind=kind)


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ('filename="日本.txt"', "日本.txt"),
        ("filename*=UTF-8''%E6%97%A5.txt", "日.txt"),
        ("filename=\"plain\"; filename*=utf-8'en'%C3%BC", "ü"),
        ("filename=bare", "bare"),
        ('filename=""', ""),
        ('filename="a;b=c"', "a;b=c"),
    ],
)
async def test_a_file_is_called_what_its_client_called_it(disposition: str, name: str) -> None:
    body = f'--edge\r\nContent-Disposition: form-data; name="file"; {disposition}\r\n\r\nx\r\n--edge--\r\n'

    assert await everything(upload(body.encode())) == [("file", name, "application/octet-stream", b"x")]


@pytest.mark.parametrize("hang_up", [False, True])
@pytest.mark.parametrize("at", [3, 40, 200, 1000, len(BODY) - 20])
async def test_a_body_that_ends_half_way_is_refused(at: int, hang_up: bool) -> None:
    with pytest.raises(InvalidArgument, match="ended before"):
        await everything(upload(BODY[:at], hang_up=hang_up))


async def test_a_body_that_is_no_multipart_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="malformed"):
        await everything(upload(b"hello there, this is no form at all"))


async def test_a_field_over_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multipart, "MAX_FIELD_BYTES", 3)
    with pytest.raises(TooLarge, match="'path'"):
        await everything(upload())


async def test_more_fields_than_the_limit_are_refused() -> None:
    field = b'--edge\r\nContent-Disposition: form-data; name="f%d"\r\n\r\n1\r\n'
    body = b"".join(field % number for number in range(multipart.MAX_FIELDS + 1)) + b"--edge--\r\n"
    with pytest.raises(TooLarge, match="fields"):
        await everything(upload(body, size=4096))


async def test_a_header_over_the_limit_is_refused() -> None:
    body = b'--edge\r\nContent-Disposition: form-data; name="file"; filename="' + b"x" * 200_000 + b'"\r\n\r\nabc\r\n--edge--\r\n'
    with pytest.raises(InvalidArgument, match="malformed"):
        await everything(upload(body, size=4096))
