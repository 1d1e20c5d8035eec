"""Whether the computer is prepared for a snapshot, and what is told when that changes.

A snapshot of the memory has every key of its origin. So what is prepared answers nothing, and a copy comes back like that.
"""

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import isawaitable
from typing import Literal

from sandbox_server.core.errors import Conflict, PermissionDenied, Unavailable
from sandbox_server.drivers.storage.json_file import JsonFile

type Change = Literal["prepared", "bound", "running"]
type Listener = Callable[[], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class PreparedSnapshot:
    """A snapshot that is prepared, and the token with which its origin goes on. The memory has the token's hash alone."""

    id: str
    token: str


class SnapshotState:
    """The state, in a file of the user control, so that a restart of this process does not end it."""

    def __init__(self, file: JsonFile) -> None:
        self._file = file
        self._prepared: dict[str, str] | None = file.read()
        self._listeners: dict[Change, list[Listener]] = {"prepared": [], "bound": [], "running": []}

    @property
    def snapshot(self) -> str | None:
        """The id of the snapshot that the computer is prepared for; None while it runs."""
        return self._prepared["id"] if self._prepared else None

    def when(self, change: Change, listener: Listener) -> None:
        """Have `listener` called after those that came before: for `running` once calls are answered again, else while none is."""
        self._listeners[change].append(listener)

    def require_running(self) -> None:
        """Raise Unavailable while it is prepared."""
        if self._prepared:
            raise Unavailable("prepared for a snapshot: nothing is answered until the engine's owner releases or binds this computer")

    async def prepare(self) -> PreparedSnapshot:
        """Answer nothing from now on. Raises Conflict if it is prepared already: a second token would be a way round the first."""
        if self._prepared:
            raise Conflict(f"prepared for the snapshot {self.snapshot} already: release it with its token, or bind it")
        made = PreparedSnapshot(secrets.token_hex(8), secrets.token_urlsafe(32))
        self._keep({"id": made.id, "token": _digest(made.token)})
        await self._tell("prepared")
        return made

    async def release(self, token: str) -> None:
        """Let the origin go on as what it was. Raises Conflict while nothing is prepared, and PermissionDenied for another token."""
        if not hmac.compare_digest(self._required()["token"], _digest(token)):
            raise PermissionDenied("this is not the token that `prepare` gave: bind the computer, which makes it another one")
        await self._run()

    async def bind(self) -> None:
        """Take what identifies the computer from its files, which have changed. Raises Conflict while nothing is prepared."""
        self._required()
        await self._tell("bound")
        await self._run()

    async def _run(self) -> None:
        self._keep(None)
        await self._tell("running")

    def _required(self) -> dict[str, str]:
        if self._prepared is None:
            raise Conflict("not prepared for a snapshot")
        return self._prepared

    async def _tell(self, change: Change) -> None:
        for listener in self._listeners[change]:
            told = listener()
            if isawaitable(told):
                await told

    def _keep(self, prepared: dict[str, str] | None) -> None:
        self._file.write(prepared)
        self._prepared = prepared


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
