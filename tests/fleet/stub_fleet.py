"""A fleet of stub sandboxes behind a real port, for browsers."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import uvicorn
from tandem_fleet.api.app import build
from tandem_fleet.api.authorization import SharedKey
from tandem_fleet.backends.backend import Found, Phase
from tandem_fleet.fleet import Fleet
from tandem_fleet.oidc.provider import Provider
from tandem_fleet.sandboxes import Spec, new_id
from tandem_fleet.signing_key import SigningKey
from tandem_fleet.store.database import Database

from tests.fleet.engines import MemoryBackend
from tests.fleet.stub_sandbox import StubSandbox, serving

KEY = "the-key"


class StubEngine(MemoryBackend):
    """An engine in memory whose sandboxes answer where the stubs of their names do."""

    def __init__(self, stubs: Mapping[str, StubSandbox]) -> None:
        super().__init__()
        self.stubs = stubs

    def become(self, sandbox: str, phase: Phase | None, reason: str = "") -> None:
        """See `MemoryBackend.become`."""
        if found := self.sandboxes.get(sandbox):
            self.address = self.stubs[found.name].address
            self.sandboxes[sandbox] = replace(found, address=self.address)
        super().become(sandbox, phase, reason)


@dataclass
class StubFleet:
    """A fleet, and where its page is."""

    url: str
    fleet: Fleet
    engine: StubEngine
    stubs: dict[str, StubSandbox]

    async def link(self, person: str = "ann") -> str:
        """What signs a browser in."""
        return f"{self.url}/?ticket={await self.fleet.people.make_ticket('default', person, ['people', 'sandboxes:read', 'sandboxes:use'])}"


@asynccontextmanager
async def stub_fleet(
    folder: Path,
    stubs: Mapping[str, StubSandbox],
    labels: Mapping[str, dict[str, str]],
    provider_of: Callable[[str], AbstractAsyncContextManager[Provider]] | None = None,
) -> AsyncIterator[StubFleet]:
    """A fleet in which each of these stubs is a sandbox that is ready; people sign in by the provider that is made for its URL."""
    async with AsyncExitStack() as stack:
        for stub in stubs.values():
            await stack.enter_async_context(serving(stub))
        engine = StubEngine(stubs)
        for name, stub in stubs.items():
            spec = Spec(image="image", labels=labels.get(name, {}))
            found = Found(new_id(), name, "default", spec, Phase.RUNNING, datetime.now(UTC), stub.address)
            engine.sandboxes[found.id] = found
        database = Database(f"sqlite+aiosqlite:///{folder}/fleet.db")
        fleet = await stack.enter_async_context(Fleet(database, engine, SigningKey.kept(folder / "key.pem"), "image"))
        listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        url = f"http://localhost:{listener.getsockname()[1]}"
        provider = await stack.enter_async_context(provider_of(url)) if provider_of else None
        config = uvicorn.Config(
            build(fleet, SharedKey(KEY), url, provider), log_level="warning", lifespan="off", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        server.capture_signals = lambda: AsyncExitStack()  # type: ignore[method-assign,assignment,return-value] # signals are the tests' own
        serve = asyncio.create_task(server._serve(sockets=[listener]))
        try:
            for _, one in await fleet.page("default", 0, 1000, None):
                await fleet.settle(one.id, 60)
            yield StubFleet(url, fleet, engine, dict(stubs))
        finally:
            server.should_exit = True
            await serve
