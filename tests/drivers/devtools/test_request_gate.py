"""The gate of a real browser, asked from outside: no way to open a page goes round it."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.drivers.devtools import request_gate
from sandbox_server.drivers.devtools.request_gate import RequestGateClient
from tests.drivers.devtools.conftest import Tab
from tests.patience import PATIENCE_SECONDS, eventually

pytestmark = pytest.mark.anyio


class Judge:
    """Admits all pages but those whose path begins with `/echo`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.blocked = "/echo"
        self.released: asyncio.Event | None = None
        self.withdrawn: list[str] = []
        self.on = True

    def subjects(self) -> list[str]:
        return ["navigation"] if self.on else []

    async def admit(self, subjects: Sequence[str], url: str, method: str, body: Mapping[str, object] | None = None) -> bool:
        assert body is None
        assert (list(subjects), method) == (["navigation"], "GET")
        self.asked.append(url)
        try:
            if self.released:
                await self.released.wait()
        except asyncio.CancelledError:
            self.withdrawn.append(url)
            raise
        return self.blocked not in url


@pytest.fixture
def gate() -> Judge:
    return Judge()


@pytest.fixture
async def gated(shared: Any, gate: Judge) -> AsyncIterator[RequestGateClient]:
    """A connection whose rules are in force; afterwards there are none."""
    async with RequestGateClient(shared.socket, gate) as opened:
        await eventually(lambda: told(shared) == ["navigation"])
        yield opened
        gate.on = False
        await opened.changed()


def told(shared: Any) -> Any:
    """What the browser's process has in force."""
    return shared.get("/browser")["gated"]


async def text(tab: Tab) -> str:
    shown = await asyncio.to_thread(tab.run, "document.documentElement.innerText")
    assert isinstance(shown, str), shown
    return shown


async def test_a_page_that_is_not_admitted_does_not_open(gated: RequestGateClient, gate: Judge, tab: Tab, site: str) -> None:
    await asyncio.to_thread(tab.go, f"{site}/page")
    assert await text(tab) == "/page"
    await asyncio.to_thread(tab.go, f"{site}/echo")
    assert "host" not in await text(tab)
    assert gate.asked == [f"{site}/page", f"{site}/echo"]


async def test_neither_does_the_end_of_a_redirect_a_link_a_script_nor_a_frame(
    gated: RequestGateClient, gate: Judge, tab: Tab, site: str
) -> None:
    await asyncio.to_thread(tab.go, f"{site}/redirect")
    assert gate.asked == [f"{site}/redirect", f"{site}/echo"]
    assert "host" not in await text(tab)
    ways = {
        "script": f"location = '{site}/echo?script'; null",
        "frame": f"document.body.append(Object.assign(document.createElement('iframe'), {{src: '{site}/echo?frame'}})); null",
        "link": f"Object.assign(document.createElement('a'), {{href: '{site}/echo?link'}}).click(); null",
    }
    for name, way in ways.items():
        await asyncio.to_thread(tab.go, f"{site}/page")
        await asyncio.to_thread(tab.run, way)
        await eventually(lambda name=name: f"{site}/echo?{name}" in gate.asked)  # type: ignore[misc, arg-type] # a lambda


async def test_contexts_that_clients_made_are_gated_too(gated: RequestGateClient, gate: Judge, shared: Any, site: str) -> None:
    def go() -> str:
        with shared.connect() as client:
            context = client.result("Target.createBrowserContext")["browserContextId"]
            target = client.result("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
            tab = Tab(client, target)
            tab.go(f"{site}/page")
            first = tab.run("document.body.innerText")
            tab.go(f"{site}/echo")
            second = tab.run("document.documentElement.innerText")
            client.result("Target.disposeBrowserContext", browserContextId=context)
            return f"{first} {'host' in second}"

    assert await asyncio.to_thread(go) == "/page False"
    assert gate.asked == [f"{site}/page", f"{site}/echo"]


async def test_a_page_waits_for_the_decision(gated: RequestGateClient, gate: Judge, tab: Tab, site: str) -> None:
    gate.released = asyncio.Event()
    going = asyncio.create_task(asyncio.to_thread(tab.go, f"{site}/page"))
    await eventually(lambda: gate.asked)
    assert not going.done()
    gate.released.set()
    await going
    assert await text(tab) == "/page"


async def test_a_gate_that_opens_and_closes_takes_effect(gated: RequestGateClient, gate: Judge, shared: Any, tab: Tab, site: str) -> None:
    gate.on = False
    await gated.changed()
    assert told(shared) == []
    await asyncio.to_thread(tab.go, f"{site}/echo")
    assert "host" in await text(tab)
    gate.on = True
    await gated.changed()
    assert told(shared) == ["navigation"]
    await asyncio.to_thread(tab.go, f"{site}/echo?again")
    assert "host" not in await text(tab)


async def test_without_a_connection_a_change_waits_for_nothing(tmp_path: Path, gate: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_gate, "HOLDS_SECONDS", 2 * PATIENCE_SECONDS)
    async with RequestGateClient(str(tmp_path / "none.sock"), gate) as client:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await client.changed()
