"""Prepare, release and bind, on a socket in a directory that the agent cannot enter: `sandbox snapshot` asks there, as root.

One JSON object a line, and one for an answer: `{"ok": {...}}`, or `{"refused": "..."}`.
"""

import asyncio
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from sandbox_server.core import Failure
from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.drivers.snapshots.snapshot_state import SnapshotState
from sandbox_server.drivers.workload_identity.binding import BindingStore

ACTOR = "snapshot"
MAX_LINE = 64 << 10
"""Bytes of a request."""

type Answer = Mapping[str, object]


class SnapshotOperations:
    """Serves the socket; an asynchronous context manager."""

    def __init__(self, path: str, state: SnapshotState, bindings: BindingStore, journal: Journal) -> None:
        self._path = path
        self._state = state
        self._bindings = bindings
        self._journal = journal
        self._changing = asyncio.Lock()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        with suppress(FileNotFoundError):
            os.unlink(self._path)
        old = os.umask(0o177)
        try:
            self._server = await asyncio.start_unix_server(self._serve, self._path, limit=MAX_LINE)
        finally:
            os.umask(old)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._server:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, ValueError):  # who asks has gone, or sent too long a line
                request = json.loads(await reader.readline() or b"null")
                writer.write(json.dumps(await self._answer(request if isinstance(request, dict) else {})).encode() + b"\n")
                await writer.drain()
        finally:
            writer.close()

    async def _answer(self, request: Mapping[str, Any]) -> Answer:
        known = {"status": self._status, "prepare": self._prepare, "release": self._release, "bind": self._bind}
        perform = known.get(str(request.get("op")))
        if perform is None:
            return {"refused": f"no operation; known are {', '.join(known)}"}
        try:
            async with self._changing:
                return {"ok": await perform(request)}
        except Failure as failure:
            return {"refused": failure.message}

    async def _status(self, _: Mapping[str, Any]) -> Answer:
        return {"snapshot": self._state.snapshot, "sandbox_id": self._bindings.sandbox_id}

    async def _prepare(self, _: Mapping[str, Any]) -> Answer:
        made = await self._state.prepare()
        self._journal.record("log", "system", ACTOR, event="prepared", snapshot=made.id)
        await self._journal.files()  # all that has happened so far is in them
        return {"snapshot": made.id, "token": made.token}

    async def _release(self, request: Mapping[str, Any]) -> Answer:
        snapshot = self._state.snapshot
        await self._state.release(str(request.get("token")))
        self._journal.record("log", "system", ACTOR, event="released", snapshot=snapshot)
        return {"snapshot": snapshot}

    async def _bind(self, _: Mapping[str, Any]) -> Answer:
        snapshot, origin = self._state.snapshot, self._bindings.sandbox_id
        await self._state.bind()
        self._journal.record(
            "log", "system", ACTOR, event="restored", snapshot=snapshot, origin=origin, sandbox_id=self._bindings.sandbox_id
        )
        return {"snapshot": snapshot, "origin": origin, "sandbox_id": self._bindings.sandbox_id}
