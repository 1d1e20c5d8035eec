"""Receipts: what a person changed, put together when control goes back, from what was there before and what was written down meanwhile."""

import asyncio
import logging
import secrets
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self

from sandbox_server.core import Failure, Tasks
from sandbox_server.core.receipt import HOLDING, Receipt, TabChange
from sandbox_server.drivers.recorder.journal import Journal
from sandbox_server.drivers.recorder.redaction import Redaction
from sandbox_server.features.recorder.browser_navigation import moves
from sandbox_server.features.recorder.truncation import truncated
from sandbox_server.timeouts import scaled

KEPT = 50
"""Receipts that are remembered."""
LOOK_SECONDS = scaled(5.0)
"""How long looking at one thing may take; of what takes longer the receipt says that it was not seen."""
SETTLE_SECONDS = 0.3
"""How long the last that a person did may take to show."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ComputerSnapshot:
    """What was there at an instant; None where that could not be seen."""

    tabs: dict[str, str] | None
    """Address by page."""
    windows: dict[int, str] | None
    """Title by id."""
    picture: str | None
    """Where the picture is."""


class SnapshotSource(Protocol):
    """What looks at the computer."""

    async def fields(self, changed: Callable[[str], None]) -> None:
        """Tell every field of a form that is changed, by name, for as long as it can."""

    async def look(self, name: str) -> ComputerSnapshot:
        """How it is now, with a picture under that name."""

    async def blind(self) -> ComputerSnapshot:
        """How it is, without a picture."""

    async def files_since(self, when: float) -> list[str]:
        """The agent's files that were changed since."""

    def downloads_since(self, when: float) -> list[str]:
        """What the browser has saved since."""


@dataclass(slots=True)
class _Turn:
    """A person's time at the controls."""

    id: str
    person: str
    began_at: float
    before: "asyncio.Task[ComputerSnapshot]"
    watching: "asyncio.Task[None]"
    commands: list[str] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    inputs: Counter[str] = field(default_factory=Counter)
    private: bool = False


class Receipts:
    """Follows the journal; an asynchronous context manager. `made` is told of each receipt, and of None when a turn begins."""

    def __init__(self, journal: Journal, snapshots: SnapshotSource, redaction: Redaction, made: Callable[[Receipt | None], None]) -> None:
        self._journal = journal
        self._snapshots = snapshots
        self._redaction = redaction
        self._made = made
        self._turn: _Turn | None = None
        self._done: deque[Receipt] = deque(maxlen=KEPT)
        self._making: dict[asyncio.Task[None], str] = {}
        """Receipts that are being made, and of whom."""
        self._tasks = Tasks()
        journal.listen(self._hear)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    def _changed(self, entry: dict[str, Any]) -> None:
        """Take a change of who drives."""
        holder = entry["holder"] if entry["state"] == "human" else None
        if self._turn and self._turn.person != holder:
            turn, self._turn = self._turn, None
            making = self._tasks.start(self._finish(turn, entry["event"], entry.get("note", "")), name="receipt")
            self._making[making] = turn.person
            making.add_done_callback(self._making.pop)
        if holder and self._turn is None:
            turn_id = secrets.token_hex(8)
            looking = self._tasks.start(self._look(f"{turn_id}-before"), name="what is there before a person drives")
            watching = self._tasks.start(self._watch(), name="fields that a person changes")
            self._turn = _Turn(turn_id, holder, time.time(), looking, watching, private=self._journal.private())
            self._made(None)

    async def of(self, person: str, since: float, until: float) -> Receipt | None:
        """The receipt of a person's latest turn between two moments: of one that is not over now, how it is so far."""
        if self._turn and self._turn.person == person and self._turn.began_at <= until:
            return await self._receipt(self._turn, HOLDING, "")
        if making := [task for task, whose in self._making.items() if whose == person]:
            await asyncio.wait(making, timeout=4 * LOOK_SECONDS)
        known = (each for each in reversed(self._done) if each.person == person)
        return next((each for each in known if each.ended_at >= since and each.began_at <= until), None)

    async def _watch(self) -> None:
        with suppress(Failure, OSError):  # no browser runs, or it ended
            await self._snapshots.fields(self._field_changed)

    def _field_changed(self, name: str) -> None:
        turn = self._turn
        if turn and not self._is_private(turn) and name and name not in turn.fields:
            turn.fields.append(name)

    def _hear(self, entry: dict[str, Any]) -> None:
        if entry["kind"] == "control":
            self._changed(entry)
        turn = self._turn
        if turn is None or self._is_private(turn) or entry["actor"] != {"type": "person", "name": turn.person}:
            return
        if entry["kind"] == "command" and "session" in entry:
            turn.commands.append(entry["command"])
        elif entry["kind"] == "input" and "counts" in entry:
            turn.inputs.update(entry["counts"])

    def _is_private(self, turn: _Turn) -> bool:
        """Whether nothing is to be told of what is done now; that it was so once is told."""
        private = self._journal.private()
        turn.private |= private
        return private

    async def _finish(self, turn: _Turn, ended: str, note: str) -> None:
        await asyncio.sleep(SETTLE_SECONDS)
        turn.watching.cancel()
        receipt = await self._receipt(turn, ended, note)
        self._done.append(receipt)
        self._journal.record("receipt", "system", "recorder", receipt=receipt.model_dump(mode="json"))
        self._made(receipt)

    async def _receipt(self, turn: _Turn, ended: str, note: str) -> Receipt:
        before, after, files = await asyncio.gather(turn.before, self._look(f"{turn.id}-after"), self._files(turn.began_at))
        hidden = self._is_private(turn)
        made = Receipt(
            id=turn.id,
            person=turn.person,
            began_at=turn.began_at,
            ended_at=time.time(),
            ended=ended,
            note=note,
            private=turn.private,
            files=files or [],
            unseen=[] if files is not None else ["files"],
        )
        if hidden:
            return truncated(made)
        seen = {"tabs": (before.tabs, after.tabs), "windows": (before.windows, after.windows)}
        tabs = moves(before.tabs, after.tabs) if before.tabs is not None and after.tabs is not None else ()
        opened, closed = _windows(before.windows, after.windows)
        return truncated(
            made.model_copy(
                update={
                    "unseen": [*(name for name, looks in seen.items() if None in looks), *made.unseen],
                    "tabs": [TabChange(was=self._shown(move.was), now=self._shown(move.now)) for move in tabs],
                    "windows_opened": [self._redaction.text(title) for title in opened],
                    "windows_closed": [self._redaction.text(title) for title in closed],
                    "fields": list(turn.fields),
                    "commands": list(turn.commands),
                    "downloads": self._snapshots.downloads_since(turn.began_at),
                    "inputs": dict(turn.inputs),
                    "before": before.picture,
                    "after": after.picture,
                }
            )
        )

    async def _look(self, name: str) -> ComputerSnapshot:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await (self._snapshots.blind() if self._journal.private() else self._snapshots.look(name))
        except (Failure, OSError, TimeoutError) as failure:
            log.info("a receipt tells less: %s", failure or "looking took too long")
            return ComputerSnapshot(None, None, None)

    async def _files(self, since: float) -> list[str] | None:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await self._snapshots.files_since(since)
        except (Failure, OSError, TimeoutError) as failure:
            log.info("a receipt does not tell of files: %s", failure or "looking took too long")
            return None

    def _shown(self, url: str | None) -> str | None:
        return None if url is None else self._redaction.url(url)


def _windows(before: dict[int, str] | None, after: dict[int, str] | None) -> tuple[list[str], list[str]]:
    """Titles of what was opened and of what was closed."""
    if before is None or after is None:
        return [], []
    return [after[xid] for xid in after.keys() - before.keys()], [before[xid] for xid in before.keys() - after.keys()]
