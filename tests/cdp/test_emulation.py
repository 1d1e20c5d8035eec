"""Commands for every page, given by a client of our own."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from sandbox_server.cdp.emulation import Emulation
from sandbox_server.cdp.outbox import Outbox
from tests.patience import until

BrowserServer = Any
PHONE = {
    "Emulation.setDeviceMetricsOverride": {"width": 360, "height": 640, "deviceScaleFactor": 2, "mobile": True},
    "Emulation.setUserAgentOverride": {"userAgent": "Pocket"},
    "Emulation.setTouchEmulationEnabled": {"enabled": True, "maxTouchPoints": 5},
}
SEEN = "[innerWidth, devicePixelRatio, navigator.userAgent, navigator.maxTouchPoints].join()"
POCKET = "360,2,Pocket,5"
PAGE = "data:text/html,<meta name=viewport content=width=device-width>"


def emulate(browser_server: BrowserServer, commands: dict[str, Any] | None) -> None:
    answer = browser_server.request("PUT", "/browser/emulation", json=commands)
    assert answer.status_code == 200, answer.text


def seen_in_new_page(browser_server: BrowserServer) -> str:
    """What a page that opens now finds while it loads."""
    with browser_server.connect() as client:
        target = client.result("Target.createTarget", url=f"{PAGE}<script>seen = {SEEN}</script>")["targetId"]
        session = client.attach(target)
        until(lambda: client.seen("window.seen", session))
        seen = client.evaluate("seen", session)
        client.result("Target.closeTarget", targetId=target)
    return str(seen)


def test_pages_that_are_open_and_pages_that_come_are_given_them(shared: BrowserServer) -> None:
    with shared.connect() as client:
        target = client.result("Target.createTarget", url="about:blank")["targetId"]
        session = client.attach(target)
        emulate(shared, PHONE)
        assert client.evaluate("navigator.userAgent", session) == "Pocket"
        assert seen_in_new_page(shared) == POCKET
        emulate(shared, None)
        until(lambda: client.evaluate("navigator.userAgent", session) != "Pocket")  # a session that ends is not waited for
        assert not seen_in_new_page(shared).endswith("Pocket,5")
        client.result("Target.closeTarget", targetId=target)


def test_emulation_commands_hold_after_a_restart(make_browser_server: Callable[..., BrowserServer]) -> None:
    browser_server = make_browser_server()
    browser_server.start()
    until(browser_server.answers)
    emulate(browser_server, PHONE)
    assert browser_server.request("POST", "/browser/restart").status_code == 200
    assert seen_in_new_page(browser_server) == POCKET


@pytest.mark.parametrize("commands", [{"Emulation.noSuchThing": {}}, {}])
def test_what_chromium_does_not_know_stops_nothing(shared: BrowserServer, commands: dict[str, Any]) -> None:
    emulate(shared, commands)
    assert "Chrome" in seen_in_new_page(shared)
    emulate(shared, None)


class Link:
    """A browser that answers everything; a client is attached once `admits` is set."""

    def __init__(self) -> None:
        self.asked, self.admits = asyncio.Event(), asyncio.Event()
        self.attached: dict[object, Outbox] = {}
        self.sent: list[str] = []

    async def attach(self, *_: object) -> tuple[object, Outbox]:
        """Connect a client."""
        self.asked.set()
        await self.admits.wait()
        peer, outbox = object(), Outbox()
        self.attached[peer] = outbox
        return peer, outbox

    def send(self, peer: object, message: bytes) -> None:
        """Answer a command."""
        sent = json.loads(message)
        self.sent.append(sent["method"])
        self.attached[peer].put(json.dumps({"id": sent["id"], "result": {}}).encode())

    def detach(self, peer: object) -> None:
        """Disconnect a client."""
        del self.attached[peer]


@pytest.mark.anyio
@pytest.mark.parametrize("then", ["pause", "set"])
async def test_what_is_asked_for_while_commands_are_being_set_comes_after_them(then: str) -> None:
    link, emulation = Link(), Emulation()
    setting = asyncio.create_task(emulation.set(link, PHONE))  # type: ignore[arg-type] # a stand-in
    await link.asked.wait()
    ending = asyncio.create_task(emulation.pause() if then == "pause" else emulation.set(link, None))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    link.admits.set()
    await asyncio.gather(setting, ending)
    assert link.attached == {}
    await emulation.close()
