"""The WebSockets of DevTools clients: `/devtools/browser/{id}` and `/devtools/page/{id}`."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress

from starlette.requests import HTTPConnection
from starlette.websockets import WebSocket, WebSocketDisconnect

from sandbox_server.cdp.browser_connection import BrowserLink
from sandbox_server.cdp.browser_supervisor import BrowserSupervisor
from sandbox_server.cdp.command_rules import OWN
from sandbox_server.cdp.devtools_clients import DevtoolsClient
from sandbox_server.cdp.messages import Object
from sandbox_server.cdp.multiplexer import API
from sandbox_server.cdp.outbox import Outbox
from sandbox_server.core.errors import Failure, PermissionDenied, ResourceExhausted
from sandbox_server.core.http.app import call_of
from sandbox_server.core.http.response_encoding import failure_response
from sandbox_server.core.identity import Caller
from sandbox_server.core.tasks import Tasks

GOING_AWAY = 1001
TRY_AGAIN_LATER = 1013
MAX_REASON = 120
"""Bytes of a close frame's reason (RFC 6455, section 5.5)."""


MAX_CLIENTS = 64
"""Programs that are connected at once. People have as many places of their own, and processes of the sandbox's own need none."""
MAX_PER_CALLER = 48


class ClientSlots:
    """Who is connected."""

    def __init__(self) -> None:
        self._taken: Counter[tuple[bool, str]] = Counter()

    @contextmanager
    def taken(self, caller: Caller) -> Iterator[None]:
        """Take a place; raises ResourceExhausted where there is none."""
        at = caller.person, caller.name
        if not caller.may(OWN):
            self._check(at)
        self._taken[at] += 1
        try:
            yield
        finally:
            self._taken[at] -= 1
            self._taken += Counter()  # without those that have none

    def _check(self, at: tuple[bool, str]) -> None:
        kind = sum(count for (person, name), count in self._taken.items() if person == at[0] and name != API)
        if kind >= MAX_CLIENTS or self._taken[at] >= MAX_PER_CALLER:
            limit = MAX_CLIENTS if kind >= MAX_CLIENTS else MAX_PER_CALLER
            raise ResourceExhausted(f"{limit} DevTools clients are connected", limit=limit, retry_after=1.0)


class DevtoolsSessions:
    """Lets clients in and carries their messages both ways."""

    def __init__(self, browser: BrowserSupervisor) -> None:
        self._browser = browser
        self._places = ClientSlots()
        self.taken = 0
        """Messages of clients other than the API, which knows of its own."""

    async def on_browser(self, websocket: WebSocket) -> None:
        """A client of the whole browser. There is one browser, so its id is not looked at: it may be from before a restart."""
        await self._serve(websocket, None)

    async def on_page(self, websocket: WebSocket) -> None:
        """A client of one page, worker or frame."""
        await self._serve(websocket, websocket.path_params["id"])

    async def on_focus(self, websocket: WebSocket) -> None:
        """The API, which is told whether a field for a secret has the focus: as it is, and every change."""
        await self._tell(websocket, self._focus())

    async def on_acts(self, websocket: WebSocket) -> None:
        """The stream, which is told what clients do on the pages in sight."""
        await self._tell(websocket, self._browser.acts.follow())

    async def _tell(self, websocket: WebSocket, news: AsyncIterator[Object]) -> None:
        """Tell a process of the sandbox's own what is new until it has gone."""
        try:
            if not caller_of(websocket).may(OWN):
                raise PermissionDenied("this is for processes of the sandbox's own")
        except Failure as failure:
            await websocket.send_denial_response(failure_response(failure))
            return
        await websocket.accept()
        async with Tasks() as tasks:
            telling = tasks.start(_send(websocket, news), name="news to a process of ours")
            gone = tasks.start(_gone(websocket), name="until it has gone")
            await asyncio.wait({telling, gone}, return_when=asyncio.FIRST_COMPLETED)

    async def _focus(self) -> AsyncIterator[Object]:
        while True:
            told = self._browser.fields.secret
            yield {"secret": told}
            await self._browser.fields.changed(told)

    async def _serve(self, websocket: WebSocket, page: str | None) -> None:
        try:
            caller = caller_of(websocket)
            with self._places.taken(caller):
                await self._admit(websocket, caller, page)
        except Failure as failure:
            await websocket.send_denial_response(failure_response(failure))

    async def _admit(self, websocket: WebSocket, caller: Caller, page: str | None) -> None:
        self._browser.check_seen(caller)
        link = await self._browser.link()
        peer, outbox = await link.attach(caller, page)
        try:
            await websocket.accept()
            await self._carry(websocket, link, peer, outbox)
        finally:
            link.detach(peer)
        await _say_goodbye(websocket, outbox)

    async def _carry(self, websocket: WebSocket, link: BrowserLink, peer: DevtoolsClient, outbox: Outbox) -> None:
        """Carry messages until either side ends or the client falls behind; one direction does not hold up the other."""
        async with Tasks() as tasks:
            ends = {
                tasks.start(self._to_browser(websocket, link, peer), name="client to browser"),
                tasks.start(_to_client(websocket, outbox), name="browser to client"),
                tasks.start(outbox.overflow(), name="client falls behind"),
            }
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)

    async def _to_browser(self, websocket: WebSocket, link: BrowserLink, peer: DevtoolsClient) -> None:
        others = peer.caller.name != API
        while (message := await websocket.receive())["type"] != "websocket.disconnect":
            text = message.get("text")
            self.taken += others
            link.send(peer, message["bytes"] if text is None else text)
            await link.writable()


async def _send(websocket: WebSocket, news: AsyncIterator[Object]) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):
        async for each in news:
            await websocket.send_json(each)


async def _gone(websocket: WebSocket) -> None:
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass


async def _to_client(websocket: WebSocket, outbox: Outbox) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):  # it has gone, or said so
        while (message := await outbox.get()) is not None:
            await websocket.send_text(message.decode())


async def _say_goodbye(websocket: WebSocket, outbox: Outbox) -> None:
    """Tell a client why it is closed, once it reads; one that never does is let go by its gateway."""
    if outbox.closed is None:
        return
    with suppress(WebSocketDisconnect, RuntimeError):
        await websocket.close(TRY_AGAIN_LATER if outbox.overflowed else GOING_AWAY, outbox.closed[:MAX_REASON])


def caller_of(connection: HTTPConnection) -> Caller:
    """Who asks, as the gateway found out; raises Unauthenticated, and PermissionDenied without the scope `browser`."""
    caller = call_of(connection).caller
    if not caller.may("browser"):
        raise PermissionDenied("this needs the scope browser", scope="browser")
    return caller
