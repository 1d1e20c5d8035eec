"""The socket on which root prepares, releases and binds."""

import asyncio
import json
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.drivers.recorder.event_log import EventLog
from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.drivers.snapshots.snapshot_state import SnapshotState
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.drivers.workload_identity.binding import BindingStore
from sandbox_server.features.snapshots.operations import MAX_LINE, SnapshotOperations

pytestmark = pytest.mark.anyio


class Served:
    """The socket, and what is behind it."""

    def __init__(self, folder: Path, journal: Journal) -> None:
        self.path = str(folder / "snapshot.sock")
        self.identity = JsonFile(str(folder / "identity.json"))
        self.state = SnapshotState(JsonFile(str(folder / "snapshot.json")))
        self.bindings = BindingStore(self.identity)
        self.state.when("bound", self.bindings.forget)
        self.journal = journal
        self.operations = SnapshotOperations(self.path, self.state, self.bindings, journal)

    async def send(self, line: bytes) -> bytes:
        reader, writer = await asyncio.open_unix_connection(self.path)
        try:
            writer.write(line + b"\n")
            async with asyncio.timeout(60):
                return await reader.readline()
        except ConnectionError:
            return b""
        finally:
            writer.close()

    async def ask(self, operation: str, **fields: str) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(await self.send(json.dumps({"op": operation, **fields}).encode()))
        return answer

    async def recorded(self) -> list[str]:
        return [entry["event"] for entry in await self.journal.read(0, lambda entry: bool(entry["actor"]["name"] == "snapshot"), 100)]


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with Journal(EventLog(str(tmp_path / "events"), 1 << 20)) as journal:
        made = Served(tmp_path, journal)
        async with made.operations:
            yield made


async def test_only_its_owner_and_root_may_connect(served: Served) -> None:
    assert stat.S_IMODE(os.stat(served.path).st_mode) == 0o600


async def test_an_origin_goes_on_as_what_it_was(served: Served) -> None:
    origin = served.bindings.sandbox_id
    prepared = (await served.ask("prepare"))["ok"]
    assert await served.ask("status") == {"ok": {"snapshot": prepared["snapshot"], "sandbox_id": origin}}
    assert await served.ask("release", token=prepared["token"]) == {"ok": {"snapshot": prepared["snapshot"]}}
    assert (await served.ask("status"))["ok"] == {"snapshot": None, "sandbox_id": origin}
    assert await served.recorded() == ["prepared", "released"]


async def test_a_copy_is_told_of_its_new_identity(served: Served) -> None:
    origin = served.bindings.sandbox_id
    prepared = (await served.ask("prepare"))["ok"]
    served.identity.write({"id": "copy-1"})
    bound = await served.ask("bind")
    assert bound == {"ok": {"snapshot": prepared["snapshot"], "origin": origin, "sandbox_id": "copy-1"}}
    assert await served.recorded() == ["prepared", "restored"]


async def test_what_is_refused_says_why(served: Served) -> None:
    assert "not prepared" in (await served.ask("bind"))["refused"]
    assert "not prepared" in (await served.ask("release", token="x"))["refused"]
    await served.ask("prepare")
    assert "already" in (await served.ask("prepare"))["refused"]
    assert "not the token" in (await served.ask("release", token="x"))["refused"]
    assert "no operation" in (await served.ask("open"))["refused"]


@pytest.mark.parametrize("line", [b"1", b"[]", b"null"])
async def test_what_is_no_request_is_refused(served: Served, line: bytes) -> None:
    assert b"no operation" in await served.send(line)


@pytest.mark.parametrize("line", [b"", b"{", b"x" * (2 * MAX_LINE), b"\xff"])
async def test_what_cannot_be_read_gets_no_answer(served: Served, line: bytes) -> None:
    assert await served.send(line) == b""
    assert (await served.ask("status"))["ok"]["snapshot"] is None
