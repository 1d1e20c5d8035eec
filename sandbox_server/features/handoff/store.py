"""Handoffs on disk, one row each. They survive the process, and on a volume the container."""

import asyncio
import functools
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Self

from sandbox_server.features.handoff.handoff import Handoff

MAX_CLOSED = 500
"""Limit of stored closed handoffs."""
_UNANSWERED = 1e12
"""Puts the handoffs that no person answered before all others."""


def rank_of(handoff: Handoff) -> float:
    """Return the order in which closed handoffs are forgotten: the lowest first, and what no person answered before what one did.

    What programs ask, withdraw, let expire or answer in their own client takes the place of no answer of a person.
    """
    answered = handoff.outcome not in ("timeout", "cancelled") and handoff.answered_in != "client"
    return (handoff.closed_at or 1) - (0 if answered else _UNANSWERED)


class HandoffStore:
    """An SQLite file; an asynchronous context manager.

    One thread does all access to the file in order. A cancelled caller's work runs on, and nothing, not even closing,
    may overlap it.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._database: sqlite3.Connection | None = None
        self._thread = ThreadPoolExecutor(1, "handoffs")

    async def __aenter__(self) -> Self:
        await self._run(self._open)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._database:
            await self._run(self._database.close)
        self._thread.shutdown(wait=False)

    async def all(self) -> list[Handoff]:
        """Return every stored handoff, oldest first."""
        rows = await self._run(self._rows)
        return [Handoff.model_validate_json(text) for text in rows]

    async def put(self, handoff: Handoff) -> None:
        """Store one. It is on disk when this returns."""
        await self._run(self._put, handoff)

    async def _run[**P, R](self, work: Callable[P, R], *args: P.args, **named: P.kwargs) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._thread, functools.partial(work, *args, **named))

    def _open(self) -> None:
        with suppress(OSError):  # sqlite3 says what is wrong
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        self._database = sqlite3.connect(self._path)
        with self._database:
            self._database.execute("create table if not exists handoffs (id text primary key, created real, closed integer, value text)")

    def _rows(self) -> list[str]:
        assert self._database
        return [text for (text,) in self._database.execute("select value from handoffs order by created, rowid")]

    def _put(self, handoff: Handoff) -> None:
        assert self._database
        closed = rank_of(handoff) if handoff.status == "closed" else 0
        row = (handoff.id, handoff.created_at, closed, handoff.model_dump_json())
        oldest = "select id from handoffs where closed order by closed desc, created desc limit -1 offset ?"
        with self._database:
            self._database.execute("insert or replace into handoffs values (?, ?, ?, ?)", row)
            self._database.execute(f"delete from handoffs where id in ({oldest})", (MAX_CLOSED,))
