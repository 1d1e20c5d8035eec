"""The gateway's questions, as Caddy asks them."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from tandem_fleet.errors import QuotaError
from tandem_fleet.fleet import Fleet
from tandem_fleet.gateway.addresses import Addresses
from tandem_fleet.gateway.authorization import Authorization
from tandem_fleet.gateway.credentials import Credentials
from tandem_fleet.gateway.pages import POLICY
from tandem_fleet.gateway.waking import Waking
from tandem_fleet.sandboxes import Desired, Sandbox, Spec
from tandem_fleet.signing_key import SigningKey
from tandem_fleet.store.database import Database

from tests.fleet.engines import MemoryBackend

pytestmark = pytest.mark.anyio
ID = "abcdefghij234567"


@pytest.fixture
async def fleet(engine: MemoryBackend, tmp_path: Path) -> AsyncIterator[Fleet]:
    """A fleet that works."""
    database = Database(f"sqlite+aiosqlite:///{tmp_path}/fleet.db")
    async with Fleet(database, engine, SigningKey.kept(tmp_path / "key.pem"), "image") as opened:
        yield opened


class Caddy:
    """Who asks."""

    def __init__(self, fleet: Fleet, addresses: Addresses) -> None:
        self._fleet = fleet
        self.waking = Waking(fleet, 20)
        app = Authorization(self.waking, addresses, Credentials(fleet.key, addresses.is_encrypted)).app
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        self._http = httpx2.AsyncClient(transport=transport, base_url="http://gateway")

    async def asks(self, host: str, uri: str, question: str = "authorize", method: str = "GET", **headers: str) -> httpx2.Response:
        """What it is answered."""
        told = {"x-gateway-host": host, "x-gateway-uri": uri, "x-gateway-method": method}
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self._http.get(f"/v1/gateway/{question}", headers=given | told)

    async def close(self) -> None:
        """Ask no more."""
        await self.waking.close()
        await self._http.aclose()


@pytest.fixture
async def caddy(fleet: Fleet) -> AsyncIterator[Caddy]:
    """In front of it, sandboxes have names below `boxes.test`."""
    made = Caddy(fleet, Addresses("https://boxes.test", "boxes.test", named=True))
    yield made
    await made.close()


async def sandbox(fleet: Fleet) -> tuple[Sandbox, str]:
    """One that is ready, and a token for it."""
    made = await fleet.settle((await fleet.create("default", Spec(image="image"), name="work")).id, 60)
    return made, f"Bearer {fleet.key.sign(made.id, 'test', ['view'], 60)}"


async def test_it_says_where_a_request_may_go(fleet: Fleet, caddy: Caddy, engine: MemoryBackend) -> None:
    one, token = await sandbox(fleet)
    answer = await caddy.asks(f"{one.id}.boxes.test", "/", authorization=token, cookie="a=b; __Host-tandem_gateway=x")
    assert answer.status_code == 204
    told = {name.removeprefix("x-gateway-"): value for name, value in answer.headers.items() if name.startswith("x-gateway")}
    upstream = engine.address.removeprefix("http://")
    assert told == {"upstream": upstream, "form": "name", "sandbox": one.id, "trust": "token", "cookie": "a=b"}


async def test_pages_by_path_are_led_to_the_name_or_it_is_said_that_there_is_none(fleet: Fleet, caddy: Caddy) -> None:
    page = await caddy.asks("boxes", f"/s/{ID}/view?ticket=x", accept="text/html")
    assert (page.status_code, page.headers["location"]) == (302, f"https://{ID}.boxes.test/view?ticket=x")
    unnamed = Caddy(fleet, Addresses("http://10.0.0.1", "", named=False))
    refused = await unnamed.asks("10.0.0.1", f"/s/{ID}/view?ticket=x", accept="text/html")
    assert (refused.status_code, "TANDEM_GATEWAY_DOMAIN" in refused.text) == (400, True)
    assert refused.headers["content-security-policy"] == POLICY
    await unnamed.close()


async def test_the_state_is_told_to_who_may_wake_and_when_it_changes(fleet: Fleet, caddy: Caddy) -> None:
    one, token = await sandbox(fleet)
    host = f"{one.id}.boxes.test"
    assert (await caddy.asks(host, "/.well-known/tandem/state", "state", authorization="Bearer x")).status_code == 401
    now = await caddy.asks(host, "/.well-known/tandem/state?seen=paused", "state", authorization=token)
    assert now.json() == {"state": "ready"}
    await fleet.order("default", one.id, Desired.PAUSED)
    then = await caddy.asks(host, "/.well-known/tandem/state?seen=ready", "state", authorization=token)
    assert then.json() == {"state": "paused"}
    await fleet.order("default", one.id, Desired.DELETED)
    gone = await caddy.asks(host, "/.well-known/tandem/state?seen=paused", "state", authorization=token)
    assert gone.status_code == 401


async def test_a_browser_asks_before_it_calls_from_another_origin(fleet: Fleet, caddy: Caddy) -> None:
    one, _ = await sandbox(fleet)
    asks = {"method": "OPTIONS", "origin": "https://app.test", "access_control_request_method": "POST"}
    assert (await caddy.asks(f"{one.id}.boxes.test", "/v1/x", **asks)).headers["x-gateway-trust"] == "unverified"
    assert (await caddy.asks(f"{ID}.boxes.test", "/v1/x", **asks)).status_code == 401


async def test_a_tenant_that_may_have_no_more_is_told_so(fleet: Fleet, caddy: Caddy, monkeypatch: pytest.MonkeyPatch) -> None:
    one, token = await sandbox(fleet)
    await fleet.order("default", one.id, Desired.PAUSED)
    await fleet.settle(one.id, 60)

    async def refuse(*_: object) -> Sandbox:
        raise QuotaError("your tenant has used its hours of this month")

    monkeypatch.setattr(fleet, "order", refuse)
    for accept, wanted in (("*/*", "quota_exceeded"), ("text/html", "has used its hours")):
        answer = await caddy.asks(f"{one.id}.boxes.test", "/", authorization=token, accept=accept)
        assert (answer.status_code, wanted in answer.text) == (403, True)


@pytest.mark.parametrize("accept", ["*/*", "text/html"])
async def test_while_the_store_fails_clients_are_told_to_try_again(
    fleet: Fleet, caddy: Caddy, monkeypatch: pytest.MonkeyPatch, accept: str
) -> None:
    one, token = await sandbox(fleet)

    async def fail(_: str) -> Sandbox:
        raise OSError("the disk is full")

    monkeypatch.setattr(fleet, "get", fail)
    answer = await caddy.asks(f"{one.id}.boxes.test", "/", authorization=token, accept=accept)
    assert (answer.status_code, answer.headers["retry-after"], "disk" in answer.text) == (503, "1", False)


async def test_names_of_sandboxes_that_exist_may_have_a_certificate(fleet: Fleet, caddy: Caddy) -> None:
    one, _ = await sandbox(fleet)
    wanted = {
        f"{one.id}.boxes.test": 200,
        f"80-{one.id}.boxes.test": 200,
        "boxes.test": 200,
        f"{ID}.boxes.test": 404,
        "x.test": 404,
        "": 404,
    }
    for name, status in wanted.items():
        assert (await caddy.asks("127.0.0.1", "/", f"certificate?domain={name}")).status_code == status, name


@pytest.mark.parametrize("uri", ["", "x", "*", "http://x/", "/a/../b"])
async def test_what_can_be_read_in_two_ways_is_refused(caddy: Caddy, uri: str) -> None:
    assert (await caddy.asks(f"{ID}.boxes.test", uri)).status_code == 400
