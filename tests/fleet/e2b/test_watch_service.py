"""Watches of directories, on the operations of a stub."""

import asyncio
from typing import Any

import httpx2
import pytest
from tandem_fleet.e2b import watch_service
from tandem_fleet.e2b.access import SandboxTokens
from tandem_fleet.fleet import Fleet

from tests.fleet.e2b.calling import Client, opened
from tests.fleet.e2b.stub_sandbox import StubSandbox, events, refused
from tests.fleet.e2b.test_entries import STATUS

pytestmark = pytest.mark.anyio
CREATED = {"type": "create", "path": "/d/a", "relative_path": "a"}
MOVED = {"type": "rename", "path": "/d/s/new", "relative_path": "s/new", "old_path": "/d/old"}
LOST = {"type": "overflow", "path": "/d", "relative_path": "."}
SAID = [
    {"name": "a", "type": "EVENT_TYPE_CREATE"},
    {"name": "old", "type": "EVENT_TYPE_RENAME"},
    {"name": "s/new", "type": "EVENT_TYPE_CREATE"},
]


@pytest.fixture
async def client(http: httpx2.AsyncClient, fleet: Fleet, tokens: SandboxTokens, stub: StubSandbox) -> Client:
    """A caller of a sandbox in which two things happened to files."""
    stub.on("POST /v1/file/stat", lambda fields: STATUS | {"type": "directory" if fields["path"] == "/d" else "file"})
    stub.on("POST /v1/file/watch", lambda _: {"watcher_id": "w-1"})
    stub.on("DELETE /v1/file/watch/w-1", lambda _: {})
    happened = [CREATED, MOVED, LOST]
    stub.on("POST /v1/file/watch/w-1/poll", lambda fields: {"events": happened[fields["cursor"] :], "cursor": 3})
    sent = [("watch_started", {}), *(("file_change", one) for one in happened[:2]), ("overflow", LOST)]
    stub.on("GET /v1/file/watch/w-1/events", lambda _: events(*sent))
    return await opened(http, fleet, tokens)


async def call(client: Client, method: str, **fields: Any) -> Any:
    """The answer of a call."""
    answer = await client.unary(f"filesystem.Filesystem/{method}", fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_events_are_told_once(client: Client, stub: StubSandbox) -> None:
    assert await call(client, "CreateWatcher", path="/d", recursive=True) == {"watcherId": "w-1"}
    assert stub.calls("POST /v1/file/watch") == [{"path": "/d", "recursive": True, "exclude": [], "debounce": 50}]
    assert (await call(client, "GetWatcherEvents", watcherId="w-1"))["events"] == SAID
    assert (await call(client, "GetWatcherEvents", watcherId="w-1"))["events"] == []
    assert await call(client, "RemoveWatcher", watcherId="w-1") == {}
    assert (await call(client, "GetWatcherEvents", watcherId="w-1"))["events"] == SAID


async def test_events_say_what_the_file_is_if_asked(client: Client, stub: StubSandbox) -> None:
    made = await call(client, "CreateWatcher", path="/d", includeEntry=True)
    told = (await call(client, "GetWatcherEvents", watcherId=made["watcherId"]))["events"]
    assert [one.get("entry", {}).get("path") for one in told] == ["/d/a", None, "/d/s/new"]
    stub.on("POST /v1/file/stat", lambda _: refused(0, "gone", "not_found"))
    again = await call(client, "GetWatcherEvents", watcherId=made["watcherId"])
    assert again["events"] == []


async def test_a_directory_is_followed_until_the_caller_leaves(client: Client, stub: StubSandbox) -> None:
    removed = asyncio.Event()
    stub.on("DELETE /v1/file/watch/w-1", lambda _: removed.set())
    messages, end = await client.stream("filesystem.Filesystem/WatchDir", {"path": "/d"})
    assert messages == [{"start": {}}, *({"filesystem": one} for one in SAID)]
    assert end == {}
    async with asyncio.timeout(60):
        await removed.wait()


async def test_a_file_is_not_watched(client: Client) -> None:
    assert (await client.unary("filesystem.Filesystem/CreateWatcher", {"path": "/f"})).status_code == 400
    messages, end = await client.stream("filesystem.Filesystem/WatchDir", {"path": "/f"})
    assert (messages, end["error"]["code"]) == ([], "invalid_argument")


async def test_an_id_leads_nowhere_else(client: Client, stub: StubSandbox) -> None:
    before = len(stub.asked)
    for watcher in ("", "..", "../../bash/sessions", "a/b", "a?b", "w%2F1", "x" * 129):
        for method in ("GetWatcherEvents", "RemoveWatcher"):
            answer = await client.unary(f"filesystem.Filesystem/{method}", {"watcherId": watcher})
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), watcher
    assert len(stub.asked) == before


async def test_what_is_kept_in_memory_is_bounded(client: Client, stub: StubSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_service, "KEPT", 1)
    for name in ("w-1", "w-2"):
        stub.on(f"POST /v1/file/watch/{name}/poll", lambda fields: {"events": [CREATED][fields["cursor"] :], "cursor": 1})
        assert len((await call(client, "GetWatcherEvents", watcherId=name))["events"]) == 1
    assert len((await call(client, "GetWatcherEvents", watcherId="w-1"))["events"]) == 1
