"""Files, on the operations of a stub."""

import base64
from typing import Any

import httpx2
import pytest
from tandem_fleet.e2b.access import SandboxTokens
from tandem_fleet.fleet import Fleet

from tests.fleet.e2b.calling import Client, opened
from tests.fleet.e2b.stub_sandbox import StubSandbox, refused
from tests.fleet.e2b.test_entries import STATUS

pytestmark = pytest.mark.anyio


@pytest.fixture
async def client(http: httpx2.AsyncClient, fleet: Fleet, tokens: SandboxTokens, stub: StubSandbox) -> Client:
    """A caller of a sandbox whose files all exist."""
    for name in ("mkdir", "move", "delete"):
        stub.on(f"POST /v1/file/{name}", lambda fields: fields)
    stub.on("POST /v1/file/stat", lambda fields: STATUS | {"type": "file" if "." in fields["path"] else "directory"})
    stub.on("POST /v1/file/list", lambda _: {"files": [{"path": "/d/a.txt"}]})
    return await opened(http, fleet, tokens)


async def test_files_are_described_made_moved_and_removed(client: Client, stub: StubSandbox) -> None:
    async def entry(method: str, **fields: Any) -> Any:
        return (await client.unary(f"filesystem.Filesystem/{method}", fields)).json()["entry"]["path"]

    assert await entry("Stat", path="a.txt") == "/home/gem/a.txt"
    assert await entry("MakeDir", path="~/d") == "/home/gem/d"
    assert await entry("Move", source="/a", destination="../b") == "/home/b"
    assert stub.calls("POST /v1/file/mkdir") == [{"path": "/home/gem/d", "exist_ok": False, "sudo": False}]
    assert stub.calls("POST /v1/file/move") == [{"path": "/a", "destination": "/home/b", "overwrite": True, "sudo": False}]
    listed = (await client.unary("filesystem.Filesystem/ListDir", {"path": "/d", "depth": 0})).json()["entries"]
    assert [one["path"] for one in listed] == ["/d/a.txt"]
    assert (await client.unary("filesystem.Filesystem/Remove", {"path": "/d"})).json() == {}
    assert stub.calls("POST /v1/file/delete") == [{"path": "/d", "recursive": True, "missing_ok": True, "sudo": False}]


async def test_root_is_root(client: Client, stub: StubSandbox) -> None:
    root = f"Basic {base64.b64encode(b'root:').decode()}"
    await client.unary("filesystem.Filesystem/Remove", {"path": "a"}, authorization=root)
    assert stub.calls("POST /v1/file/delete") == [{"path": "/root/a", "recursive": True, "missing_ok": True, "sudo": True}]


WRONG: tuple[tuple[str, dict[str, Any], int], ...] = (
    ("ListDir", {"path": "/a.txt"}, 400),
    ("ListDir", {"path": "/d", "depth": 65}, 400),
    ("Remove", {"path": "/"}, 400),
    ("Remove", {"path": "/a/.."}, 400),
    ("Stat", {"path": "~other/a"}, 400),
    ("Stat", {"path": "a\0b"}, 400),
    ("Stat", {"path": "a" * 5000}, 400),
    ("Stat", {"path": 7}, 400),
    ("Link", {}, 404),
)


async def test_what_cannot_be_is_refused(client: Client) -> None:
    for method, fields, status in WRONG:
        assert (await client.unary(f"filesystem.Filesystem/{method}", fields)).status_code == status, fields


async def test_a_directory_that_exists_is_said_so(client: Client, stub: StubSandbox) -> None:
    stub.on("POST /v1/file/mkdir", lambda _: refused(0, "File exists", "already_exists"))
    answer = await client.unary("filesystem.Filesystem/MakeDir", {"path": "d"})
    assert (answer.status_code, answer.json()["code"]) == (409, "already_exists")
