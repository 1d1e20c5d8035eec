"""Bytes of files, to and from a stub."""

import gzip
from typing import Any

import httpx2
import pytest
from starlette.responses import Response
from tandem_fleet.e2b.access import SandboxTokens
from tandem_fleet.fleet import Fleet

from tests.fleet.e2b.calling import Client, opened
from tests.fleet.e2b.stub_sandbox import StubSandbox, refused

pytestmark = pytest.mark.anyio
OCTETS = {"Content-Type": "application/octet-stream"}


@pytest.fixture
async def client(http: httpx2.AsyncClient, fleet: Fleet, tokens: SandboxTokens, stub: StubSandbox) -> Client:
    """A caller of a sandbox that takes files."""
    stub.on("POST /v1/file/upload", lambda _: {"file_path": "x"})
    stub.on("POST /v1/file/stat", lambda fields: {"type": "directory"} if fields["path"] == "/d" else refused(0, "none", "not_found"))
    for name in ("chmod", "move"):
        stub.on(f"POST /v1/file/{name}", lambda fields: fields)
    made = await opened(http, fleet, tokens)
    stub.bodies.clear()
    return made


def uploaded(stub: StubSandbox) -> list[tuple[str, bytes]]:
    """Path and bytes of what the sandbox was sent."""
    found = []
    for body in stub.bodies:
        if body.startswith(b"--") and b'name="path"' in body:
            boundary = body.split(b"\r\n", 1)[0]
            _, path, file, _ = body.split(boundary)
            found.append((path.split(b"\r\n\r\n", 1)[1][:-2].decode(), file.split(b"\r\n\r\n", 1)[1][:-2]))
    return found


async def test_a_body_is_a_file(client: Client, stub: StubSandbox) -> None:
    answer = await client.http.post("/files?path=a.txt", content=b"one\r\n--x", headers=client.headers | OCTETS)
    assert answer.json() == [{"name": "a.txt", "type": "file", "path": "/home/gem/a.txt"}]
    packed = gzip.compress(b"y" * 1_000_000)
    headers = client.headers | OCTETS | {"Content-Encoding": "gzip"}
    assert (await client.http.post("/files?path=/b", content=packed, headers=headers)).status_code == 200
    assert uploaded(stub) == [("/home/gem/a.txt", b"one\r\n--x"), ("/b", b"y" * 1_000_000)]


async def test_a_form_has_files(client: Client, stub: StubSandbox) -> None:
    one = await client.http.post("/files?path=/a", files=[("file", ("ignored", b"1"))], headers=client.headers)
    assert [file["path"] for file in one.json()] == ["/a"]
    two = await client.http.post("/files", files=[("file", ("/b", b"2")), ("file", ("c/d", b""))], headers=client.headers)
    assert [file["path"] for file in two.json()] == ["/b", "/home/gem/c/d"]
    assert uploaded(stub) == [("/a", b"1"), ("/b", b"2"), ("/home/gem/c/d", b"")]


async def test_a_file_of_roots_is_placed_by_root(client: Client, stub: StubSandbox) -> None:
    answer = await client.http.post("/files?path=a&username=root", content=b"1", headers=client.headers | OCTETS)
    assert answer.json()[0]["path"] == "/root/a"
    [(staged, _)] = uploaded(stub)
    assert stub.calls("POST /v1/file/move") == [{"path": staged, "destination": "/root/a", "overwrite": True, "sudo": True}]
    assert stub.calls("POST /v1/file/chmod")[0]["owner"] == "root"


async def test_a_download_passes_through_with_its_range(client: Client, stub: StubSandbox) -> None:
    def download(fields: dict[str, Any]) -> Response:
        return Response(b"bc", 206, {"content-range": "bytes 1-2/4", "etag": '"x"', "x-request-id": "not passed on"})

    stub.on("GET /v1/file/download", download)
    answer = await client.http.get("/files?path=~/a&username=root", headers=client.headers | {"Range": "bytes=1-2"})
    assert (answer.status_code, answer.content, answer.headers["content-range"]) == (206, b"bc", "bytes 1-2/4")
    assert "x-request-id" not in answer.headers
    assert stub.calls("GET /v1/file/download") == [{"path": "/root/a", "sudo": "true"}]
    assert stub.headers[-1]["range"] == "bytes=1-2"
    stub.on("GET /v1/file/download", lambda _: refused(404, "none"))
    gone = await client.http.get("/files?path=a", headers=client.headers)
    assert (gone.status_code, gone.json()["code"]) == (404, 404)


WRONG: tuple[tuple[str, dict[str, str], bytes, int], ...] = (
    ("path=/d", OCTETS, b"1", 400),
    ("", OCTETS, b"1", 400),
    (f"path={'a' * 5000}", OCTETS, b"1", 400),
    ("path=a", {"Content-Type": "text/plain"}, b"1", 400),
    ("path=a", {"Content-Type": "multipart/form-data; boundary=b"}, b"no form", 400),
    ("path=a", OCTETS | {"Content-Encoding": "br"}, b"1", 400),
    ("path=a", OCTETS | {"Content-Encoding": "gzip"}, b"no gzip", 400),
    ("path=a", OCTETS | {"Content-Encoding": "gzip"}, gzip.compress(b"1")[:-4], 400),
    ("path=a", OCTETS | {"X-Metadata-Author": "me"}, b"1", 400),
    ("path=a&username=postgres", OCTETS, b"1", 401),
    ("path=a%00b", OCTETS, b"1", 400),
)


async def test_what_cannot_be_written_is_refused(client: Client, stub: StubSandbox) -> None:
    for query, headers, content, status in WRONG:
        answer = await client.http.post(f"/files?{query}", content=content, headers=client.headers | headers)
        assert (answer.status_code, answer.json()["code"]) == (status, status), (query, headers)
    assert uploaded(stub) == []
