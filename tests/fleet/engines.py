"""An engine in memory, which keeps the promises of `Backend`. `backend_suite` holds it and the real ones to the same."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

from tandem_fleet.backends.backend import Finding, Found, Order, Phase
from tandem_fleet.errors import EngineError, EngineUnreachableError


class MemoryBackend:
    """Sandboxes that are nothing but their phase. `address` is where all of them answer."""

    def __init__(self, address: str = "") -> None:
        self.sandboxes: dict[str, Found] = {}
        self.keys: dict[str, str] = {}
        self.calls: list[str] = []
        self.address = address
        self.away = False
        self.refuses: set[str] = set()
        self._watchers: list[asyncio.Queue[str | None]] = []

    def _called(self, what: str, sandbox: str = "") -> None:
        if self.away:
            raise EngineUnreachableError("the engine does not answer: it is away")
        if what in self.refuses:
            raise EngineError(f"the engine refused: no {what}")
        self.calls.append(f"{what} {sandbox}".strip())

    def become(self, sandbox: str, phase: Phase | None, reason: str = "") -> None:
        """Change what a sandbox is, as the engine itself does, and tell who watches."""
        if phase is None:
            self.sandboxes.pop(sandbox, None)
        else:
            address = self.address if phase in (Phase.RUNNING, Phase.PAUSED) else ""
            self.sandboxes[sandbox] = replace(self.sandboxes[sandbox], phase=phase, address=address, reason=reason)
        for watcher in self._watchers:
            watcher.put_nowait(sandbox)

    async def create(self, order: Order) -> None:
        self._called("create", order.id)
        if order.id not in self.sandboxes:
            self.sandboxes[order.id] = Found(order.id, order.name, order.tenant, order.spec, Phase.CREATED, datetime.now(UTC))
        if self.sandboxes[order.id].phase == Phase.CREATED:
            self.keys[order.id] = order.keys
        self.become(order.id, self.sandboxes[order.id].phase)

    async def start(self, sandbox: str) -> None:
        self._called("start", sandbox)
        self._known(sandbox)
        self.become(sandbox, Phase.RUNNING)

    async def stop(self, sandbox: str) -> None:
        self._called("stop", sandbox)
        self._known(sandbox)
        if self.sandboxes[sandbox].phase != Phase.CREATED:
            self.become(sandbox, Phase.STOPPED, "it ended with exit code 0")

    async def pause(self, sandbox: str) -> None:
        self._called("pause", sandbox)
        self._known(sandbox)
        if self.sandboxes[sandbox].phase != Phase.RUNNING:
            raise EngineError("the engine refused: it does not run")
        self.become(sandbox, Phase.PAUSED)

    async def delete(self, sandbox: str) -> None:
        self._called("delete", sandbox)
        self.become(sandbox, None)

    async def list_all(self) -> list[Found]:
        self._called("list")
        return list(self.sandboxes.values())

    async def find(self, sandbox: str) -> Found | None:
        self._called("find", sandbox)
        return self.sandboxes.get(sandbox)

    async def watch(self) -> AsyncIterator[str]:
        self._called("watch")
        watcher: asyncio.Queue[str | None] = asyncio.Queue()
        self._watchers.append(watcher)
        try:
            while (sandbox := await watcher.get()) is not None:
                yield sandbox
        finally:
            self._watchers.remove(watcher)

    async def logs(self, sandbox: str, *, lines: int, follow: bool) -> AsyncIterator[bytes]:
        self._called("logs", sandbox)
        self._known(sandbox)
        yield b"a line\n"

    async def examine(self) -> list[Finding]:
        self._called("examine")
        return [Finding("engine", True, "in memory")]

    async def close(self) -> None:
        for watcher in self._watchers:
            watcher.put_nowait(None)

    def _known(self, sandbox: str) -> None:
        if sandbox not in self.sandboxes:
            raise EngineError(f"the engine refused: no such container: {sandbox}")
