"""E2B's protocol over a fleet whose sandboxes are a stub."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from tandem_fleet.api.app import build
from tandem_fleet.api.authorization import SharedKey
from tandem_fleet.e2b.access import SandboxTokens
from tandem_fleet.e2b.sandbox_calls import SandboxCalls, SandboxClients
from tandem_fleet.e2b.service import E2B
from tandem_fleet.fleet import Fleet
from tandem_fleet.signing_key import SigningKey

from tests.fleet.e2b.stub_sandbox import StubSandbox, described, serving

KEY = "the-key"


@pytest.fixture
async def stub() -> AsyncIterator[StubSandbox]:
    """The sandbox that answers for all."""
    async with serving(StubSandbox()) as served:
        yield served


@pytest.fixture
def gateway(stub: StubSandbox) -> str:
    """Where every sandbox of these tests answers."""
    return stub.address


@pytest.fixture
async def clients(tmp_path: Path) -> AsyncIterator[SandboxClients]:
    """What calls sandboxes."""
    made = SandboxClients(SigningKey.kept(tmp_path / "key.pem"))
    yield made
    await made.close()


@pytest.fixture
def calls(clients: SandboxClients, stub: StubSandbox) -> SandboxCalls:
    """The caller of the stub."""
    return clients.calls(described(stub.address))


@pytest.fixture
def tokens(fleet: Fleet) -> SandboxTokens:
    """The tokens of the fleet's sandboxes."""
    return SandboxTokens(fleet.key)


@pytest.fixture
async def e2b(fleet: Fleet) -> AsyncIterator[E2B]:
    """The protocol."""
    async with E2B(fleet) as opened:
        yield opened


@pytest.fixture
async def http(fleet: Fleet, e2b: E2B) -> AsyncIterator[httpx2.AsyncClient]:
    """Who calls it, with the service's key."""
    transport = httpx2.ASGITransport(app=e2b.over(build(fleet, SharedKey(KEY))))
    async with httpx2.AsyncClient(transport=transport, base_url="http://fleet", headers={"X-API-KEY": KEY}) as opened:
        yield opened
