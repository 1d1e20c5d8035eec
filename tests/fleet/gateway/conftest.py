"""A fleet with an engine in memory, sandboxes that say what reached them, and a real Caddy before them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from tandem_fleet.api.listeners import listen
from tandem_fleet.errors import InvalidError
from tandem_fleet.fleet import Fleet
from tandem_fleet.gateway.addresses import Addresses
from tandem_fleet.gateway.caddy import Caddy
from tandem_fleet.gateway.gateway import serving
from tandem_fleet.gateway.settings import GatewaySettings
from tandem_fleet.sandboxes import Sandbox, Spec
from tandem_fleet.signing_key import SigningKey
from tandem_fleet.store.database import Database

from tests.fleet.engines import MemoryBackend
from tests.fleet.gateway.sandbox import EchoSandbox

DOMAIN = "boxes.test"


@pytest.fixture
async def echo() -> AsyncIterator[EchoSandbox]:
    """What every sandbox of the engine is."""
    sandbox = EchoSandbox()
    server = await asyncio.start_server(sandbox.serve, "127.0.0.1", 0)
    sandbox.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield sandbox
    sandbox.next_event.set()
    server.close()


@pytest.fixture
def engine(echo: EchoSandbox) -> MemoryBackend:
    """The engine of these tests."""
    return MemoryBackend(echo.address)


@dataclass
class Front:
    """A gateway that serves, and who calls it."""

    fleet: Fleet
    caddy: Caddy
    addresses: Addresses
    port: int
    http: httpx2.AsyncClient

    async def sandbox(self, name: str = "work") -> Sandbox:
        """A sandbox that is ready."""
        made = await self.fleet.create("default", Spec(image="image"), name=name)
        return await self.fleet.settle(made.id, 60)

    def token(self, sandbox: Sandbox) -> dict[str, str]:
        """The header that opens it."""
        return {"Authorization": f"Bearer {self.fleet.key.sign(sandbox.id, 'test', ['view'], 60)}"}

    async def get(self, host: str, uri: str = "/", **headers: str) -> httpx2.Response:
        """What a client gets that calls this host; `_` in names of headers means `-`."""
        return await self._send("GET", host, uri, headers)

    async def post(self, host: str, uri: str, body: bytes, **headers: str) -> httpx2.Response:
        """The same for a request with a body."""
        return await self._send("POST", host, uri, headers, body)

    async def _send(self, verb: str, host: str, uri: str, headers: dict[str, str], body: bytes | None = None) -> httpx2.Response:
        given = {name.replace("_", "-"): value for name, value in headers.items()} | {"Host": host}
        return await self.http.request(verb, f"http://127.0.0.1:{self.port}{uri}", headers=given, content=body)


@contextlib.asynccontextmanager
async def fronted(engine: MemoryBackend, folder: Path, variables: dict[str, str], address: str = "127.0.0.1:0") -> AsyncIterator[Front]:
    """A gateway with these settings."""
    settings = GatewaySettings.of(variables, address)
    async with contextlib.AsyncExitStack() as stack:
        listener = stack.enter_context(listen(settings.host, settings.port))
        port = listener.getsockname()[1]
        addresses = settings.addresses(port)
        database = Database(f"sqlite+aiosqlite:///{folder}/fleet.db")
        fleet = await stack.enter_async_context(Fleet(database, engine, SigningKey.kept(folder / "key.pem"), "image", addresses))
        caddy = await stack.enter_async_context(serving(fleet, settings, addresses, listener, folder / "gateway"))
        http = await stack.enter_async_context(httpx2.AsyncClient(timeout=60, trust_env=False))
        yield Front(fleet, caddy, addresses, port, http)


@pytest.fixture
def program() -> str:
    """A real Caddy."""
    try:
        return GatewaySettings.of({}, "127.0.0.1:0").program()
    except InvalidError as error:
        pytest.skip(str(error))


@pytest.fixture
async def front(engine: MemoryBackend, tmp_path: Path, program: str) -> AsyncIterator[Front]:
    """A gateway whose clients look names up below `boxes.test`. A request waits 20 s at most."""
    async with fronted(engine, tmp_path, {"TANDEM_GATEWAY_DOMAIN": DOMAIN, "TANDEM_GATEWAY_WAIT": "20"}) as made:
        yield made
