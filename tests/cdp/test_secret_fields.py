"""Fields for secrets, in a real browser."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, unix_connect

from sandbox_server.cdp import secret_fields
from sandbox_server.cdp.messages import encode
from sandbox_server.cdp.outbox import Outbox
from sandbox_server.cdp.secret_fields import SecretFields
from tests.patience import PATIENCE_SECONDS

BrowserServer = Any
Session = Any

OWN = {"X-Sandbox-Caller": "api", "X-Sandbox-Scopes": "browser server"}
PERSON = {"X-Sandbox-Caller": "ann", "X-Sandbox-Scopes": "browser", "X-Sandbox-Actor": "person"}


@contextmanager
def focus_of(browser_server: BrowserServer) -> Iterator[ClientConnection]:
    with unix_connect(browser_server.socket, "ws://browser/browser/focus", additional_headers=OWN, compression=None) as connection:
        yield connection


def tells(connection: ClientConnection, *, secret: bool) -> None:
    """Read until it is told so."""
    while json.loads(connection.recv(timeout=PATIENCE_SECONDS))["secret"] != secret:
        pass


@contextmanager
def page_with(browser_server: BrowserServer, html: str) -> Iterator[tuple[Session, str]]:
    """A page that takes itself to have the focus."""
    with browser_server.connect() as client:
        target = client.result("Target.createTarget", url="about:blank")["targetId"]
        session = client.attach(target)
        client.result("Emulation.setFocusEmulationEnabled", session, enabled=True)
        client.evaluate(f"document.body.innerHTML = {json.dumps(html)}", session)
        try:
            yield client, session
        finally:
            client.result("Target.closeTarget", targetId=target)


@pytest.mark.parametrize(
    "field",
    [
        "<input type=password>",
        "<input autocomplete=one-time-code>",
        "<input autocomplete='section-a current-password'>",
        "<input name=totp>",
        "<label>Verification code <input></label>",
        "<input autocomplete=cc-csc>",
    ],
)
def test_a_field_for_a_secret_is_known_by_what_it_says_of_itself(shared: BrowserServer, field: str) -> None:
    with focus_of(shared) as focus, page_with(shared, f"{field}<textarea></textarea>") as (client, session):
        tells(focus, secret=False)
        client.evaluate("document.querySelector('input').focus()", session)
        tells(focus, secret=True)
        client.evaluate("document.querySelector('textarea').focus()", session)
        tells(focus, secret=False)


def test_a_password_that_is_shown_stays_one_and_others_are_none(shared: BrowserServer) -> None:
    html = "<input id=name name=user><input id=pass type=password>"
    with focus_of(shared) as focus, page_with(shared, html) as (client, session):
        tells(focus, secret=False)
        client.evaluate("document.querySelector('#name').focus()", session)
        client.evaluate("document.querySelector('#pass').focus()", session)
        tells(focus, secret=True)
        client.evaluate("document.querySelector('#name').focus()", session)
        tells(focus, secret=False)
        client.evaluate("document.querySelector('#pass').type = 'text'; document.querySelector('#pass').focus()", session)
        tells(focus, secret=True)


def test_a_secret_field_is_found_in_frames_and_shadow_trees_and_forgotten_with_the_page(shared: BrowserServer) -> None:
    html = "<div></div><iframe srcdoc='<input type=password>'></iframe>"
    with focus_of(shared) as focus:
        with page_with(shared, html) as (client, session):
            tells(focus, secret=False)
            client.evaluate(
                "document.querySelector('div').attachShadow({mode: 'open'}).innerHTML = '<input type=password>';"
                "document.querySelector('div').shadowRoot.querySelector('input').focus()",
                session,
            )
            tells(focus, secret=True)
            client.evaluate("document.querySelector('div').shadowRoot.querySelector('input').blur()", session)
            tells(focus, secret=False)
            client.evaluate(
                "new Promise(done => { const look = () => { const found = frames[0].document.querySelector('input');"
                " found ? done(found.focus()) : setTimeout(look, 10) }; look() })",
                session,
            )
            tells(focus, secret=True)
        tells(focus, secret=False)


def test_who_drives_is_hidden_from_clients_before_the_api_has_said_so(shared: BrowserServer) -> None:
    held = {"epoch": 5, "state": "human", "holder": "ann", "reach": ["cdp", "gui"], "private": None}
    with (
        focus_of(shared) as focus,
        page_with(shared, "<input type=password>") as (client, session),
        shared.connect(headers=PERSON) as person,
    ):
        tells(focus, secret=False)
        hers = person.attach(client.result("Target.getTargetInfo", session)["targetInfo"]["targetId"])
        assert shared.request("PUT", "/browser/control", json=held).status_code == 200
        person.evaluate("document.querySelector('input').focus()", hers)
        tells(focus, secret=True)
        assert "private: ann" in client.command("Page.captureScreenshot", session)["error"]["message"]
        assert shared.request("GET", "/json/list").status_code == 423
        assert (
            shared.request("PUT", "/browser/control", json=held | {"epoch": 6, "state": "agent", "holder": None, "reach": []}).status_code
            == 200
        )
        assert "result" in client.command("Page.captureScreenshot", session)


def test_nobody_but_the_api_is_told(shared: BrowserServer) -> None:
    from websockets.exceptions import InvalidStatus

    own = {"X-Sandbox-Caller": "key", "X-Sandbox-Scopes": "browser"}
    with pytest.raises(InvalidStatus, match="403"), unix_connect(shared.socket, "ws://browser/browser/focus", additional_headers=own):
        pass


def test_what_a_page_logged_in_private_is_forgotten(shared: BrowserServer) -> None:
    held = {"epoch": 5, "state": "human", "holder": "ann", "reach": ["cdp", "gui"], "private": "ann"}
    with page_with(shared, "") as (client, session), shared.connect() as other:
        target = client.result("Target.getTargetInfo", session)["targetInfo"]["targetId"]
        late = other.attach(target)
        client.evaluate("console.log('hunter2')", session)
        assert shared.request("PUT", "/browser/control", json=held).status_code == 200
        free = {"epoch": 6, "state": "agent", "holder": None, "reach": [], "private": None}
        assert shared.request("PUT", "/browser/control", json=free).status_code == 200
        other.result("Runtime.enable", late)
        other.evaluate("1", late)
        assert "hunter2" not in json.dumps(other.events)


def test_a_field_is_forgotten_with_its_document_and_found_in_one_that_comes_back(shared: BrowserServer) -> None:
    with focus_of(shared) as focus, page_with(shared, "<input type=password>") as (client, session):
        tells(focus, secret=False)
        client.evaluate("document.querySelector('input').focus()", session)
        tells(focus, secret=True)
        client.result("Page.navigate", session, url="data:text/html,elsewhere")
        tells(focus, secret=False)


class Pages:
    """What a follower of pages asks of them, in place of a browser; `went` has a page at another document."""

    def __init__(self) -> None:
        self.entered: asyncio.Queue[str] = asyncio.Queue()
        self.enabled = asyncio.Event()
        self.outbox = Outbox()

    async def attach(self, caller: object, page: object) -> Any:
        return object(), self.outbox

    def send(self, peer: object, text: bytes) -> None:
        command = json.loads(text)
        if command["method"] == "Page.createIsolatedWorld":
            self.entered.put_nowait(command["params"]["frameId"])
        elif command["method"] == "Page.enable":
            self.enabled.set()

    def detach(self, peer: object) -> None:
        self.outbox.close("gone")

    def told(self, method: str, **params: object) -> None:
        self.outbox.put(encode({"method": method, "params": params, "sessionId": "page"}))

    def went(self, frame: str) -> None:
        self.told("Page.frameNavigated", frame={"id": frame})

    async def next(self) -> str:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.entered.get()


async def followed(pages: Any, *, person: Any) -> SecretFields:
    fields = SecretFields(lambda: None, lambda value, was, origin: None, person)
    await fields.follow(pages)
    return fields


@pytest.mark.anyio
async def test_a_document_is_looked_into_at_once_where_a_person_may_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_fields, "LOAD_SECONDS", 3600)
    pages = Pages()
    fields = await followed(pages, person=lambda: True)
    pages.went("first")
    assert await pages.next() == "first"
    await fields.close()


@pytest.mark.anyio
async def test_a_document_loads_before_it_is_looked_into_where_an_agent_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_fields, "LOAD_SECONDS", 3600)
    pages = Pages()
    fields = await followed(pages, person=lambda: False)
    pages.went("left")
    pages.went("loaded")
    pages.told("Page.frameDetached", frameId="left")
    pages.told("Page.loadEventFired")
    pages.told("Page.loadEventFired")
    pages.went("next")
    pages.told("Page.loadEventFired")
    assert [await pages.next(), await pages.next()] == ["loaded", "next"]
    await fields.close()


@pytest.mark.anyio
async def test_a_document_that_takes_its_time_is_looked_into_while_it_loads() -> None:
    pages = Pages()
    fields = await followed(pages, person=lambda: False)
    pages.went("slow")
    assert await pages.next() == "slow"
    await fields.close()


@pytest.mark.anyio
async def test_a_document_that_loads_is_looked_into_once_a_person_may_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_fields, "LOAD_SECONDS", 3600)
    typing: list[bool] = []
    pages = Pages()
    fields = await followed(pages, person=lambda: bool(typing))
    pages.went("loading")
    pages.told("Page.frameAttached", frameId="inner")
    pages.told("Target.attachedToTarget", sessionId="other", targetInfo={"type": "page"})
    async with asyncio.timeout(PATIENCE_SECONDS):
        await pages.enabled.wait()
    assert pages.entered.empty()
    typing.append(True)
    fields.hurry()
    assert {await pages.next(), await pages.next()} == {"loading", "inner"}
    await fields.close()
