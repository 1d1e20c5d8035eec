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
from sandbox_server.cdp.lanes import BrowserLanes, lane_of
from sandbox_server.cdp.messages import Object
from sandbox_server.cdp.multiplexer import API
from sandbox_server.cdp.outbox import Outbox
from sandbox_server.cdp.request_decisions import RequestDecisions
from sandbox_server.cdp.request_gate import RequestGate
from sandbox_server.core.errors import Failure, PermissionDenied, ResourceExhausted
from sandbox_server.core.http.app import call_of
from sandbox_server.core.http.measured_websocket import connection_of
from sandbox_server.core.http.response_encoding import failure_response
from sandbox_server.core.identity import Caller
from sandbox_server.core.quota import owner_of
from sandbox_server.core.tasks import Tasks

GOING_AWAY = 1001
TRY_AGAIN_LATER = 1013
MAX_REASON = 120
"""Limit in bytes of a close frame's reason (RFC 6455, section 5.5)."""


MAX_CLIENTS = 64
"""Limit of connected programs. People have as many slots of their own. The sandbox's own processes are not counted."""
MAX_PER_CALLER = 48


class ClientSlots:
    """Counts the connected clients."""

    def __init__(self) -> None:
        self._taken: Counter[tuple[bool, str]] = Counter()

    @contextmanager
    def taken(self, caller: Caller) -> Iterator[None]:
        """Take a slot; raises ResourceExhausted if none is free."""
        at = caller.person, caller.name
        if not caller.may(OWN):
            self._check(at)
        self._taken[at] += 1
        try:
            yield
        finally:
            self._taken[at] -= 1
            self._taken += Counter()  # drops the entries that are zero

    def _check(self, at: tuple[bool, str]) -> None:
        kind = sum(count for (person, name), count in self._taken.items() if person == at[0] and name != API)
        if kind >= MAX_CLIENTS or self._taken[at] >= MAX_PER_CALLER:
            limit = MAX_CLIENTS if kind >= MAX_CLIENTS else MAX_PER_CALLER
            raise ResourceExhausted(f"{limit} DevTools clients are connected", limit=limit, retry_after=1.0)


class DevtoolsSessions:
    """Accepts clients and carries their messages in both directions."""

    def __init__(self, browser: BrowserSupervisor, gate: RequestGate, decisions: RequestDecisions, lanes: BrowserLanes) -> None:
        self._browser = browser
        self._lanes = lanes
        self._gate = gate
        self._decisions = decisions
        self._places = ClientSlots()
        self.taken = 0
        """Messages of clients other than the API, which counts its own."""

    @property
    def gated(self) -> list[str]:
        """What the requests that are held up for approval are about."""
        return self._gate.in_force

    async def on_browser(self, websocket: WebSocket) -> None:
        """A client of the whole browser. The id in the URL is ignored: it may be from before a restart."""
        await self._serve(websocket, None)

    async def on_page(self, websocket: WebSocket) -> None:
        """A client of one page, worker or frame."""
        await self._serve(websocket, websocket.path_params["id"])

    async def on_focus(self, websocket: WebSocket) -> None:
        """For the API: whether a secret field has the focus, at once and on every change."""
        await self._tell(websocket, self._focus())

    async def on_acts(self, websocket: WebSocket) -> None:
        """For the stream: the input of clients on visible pages."""
        await self._tell(websocket, self._browser.acts.follow())

    async def on_halt(self, websocket: WebSocket) -> None:
        """For the API: the browser is stopped, which is told once it is, until the API disconnects."""
        await self._tell(websocket, self._halt())

    async def on_requests(self, websocket: WebSocket) -> None:
        """For the API: it tells what approval rules are about, and decides on requests that wait."""
        if await _accepted(websocket):
            await self._decisions.serve(websocket, self._gate.change)

    async def _tell(self, websocket: WebSocket, news: AsyncIterator[Object]) -> None:
        """Send values to one of the sandbox's own processes until it disconnects."""
        if not await _accepted(websocket):
            return
        async with Tasks() as tasks:
            telling = tasks.start(_send(websocket, news), name="news to a process of ours")
            gone = tasks.start(_gone(websocket), name="until it has gone")
            await asyncio.wait({telling, gone}, return_when=asyncio.FIRST_COMPLETED)

    async def _halt(self) -> AsyncIterator[Object]:
        try:
            async with self._browser.halted():
                yield {"halted": self._browser.profile}
                await asyncio.Event().wait()
        except Failure as failure:
            yield {"problem": failure.message}

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
        name, lane = lane_of(websocket, caller), None
        if name is None:
            link = await self._browser.link()
        else:
            link, lane = await self._lanes.enter(name)
        self._browser.check_profile(caller)  # which may have changed while the browser started
        peer, outbox = await link.attach(caller, page, lane)
        try:
            await websocket.accept()
            outbox.connect(connection_of(websocket), owner_of(caller.name, person=caller.person))
            await self._carry(websocket, link, peer, outbox)
        finally:
            link.detach(peer)
        await _say_goodbye(websocket, outbox)

    async def _carry(self, websocket: WebSocket, link: BrowserLink, peer: DevtoolsClient, outbox: Outbox) -> None:
        """Carry messages until either side ends or the client falls behind. Neither direction waits for the other."""
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


async def _accepted(websocket: WebSocket) -> bool:
    """Accept a connection of one of the sandbox's own processes; False for anybody else, who is denied it."""
    try:
        if not caller_of(websocket).may(OWN):
            raise PermissionDenied("only the sandbox's own processes may connect here")
    except Failure as failure:
        await websocket.send_denial_response(failure_response(failure))
        return False
    await websocket.accept()
    return True


async def _send(websocket: WebSocket, news: AsyncIterator[Object]) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):
        async for each in news:
            await websocket.send_json(each)


async def _gone(websocket: WebSocket) -> None:
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass


async def _to_client(websocket: WebSocket, outbox: Outbox) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):  # already closed by the client
        while (message := await outbox.get()) is not None:
            text = message.decode()
            del message  # while a client does not read, the connection's copy is the only one
            await websocket.send_text(text)


async def _say_goodbye(websocket: WebSocket, outbox: Outbox) -> None:
    """Send the client the reason of the close. A client that never reads is disconnected by its gateway."""
    if outbox.closed is None:
        return
    with suppress(WebSocketDisconnect, RuntimeError):
        await websocket.close(TRY_AGAIN_LATER if outbox.overflowed else GOING_AWAY, outbox.closed[:MAX_REASON])


def caller_of(connection: HTTPConnection) -> Caller:
    """Return the caller that the gateway authenticated.

    Raises Unauthenticated, or PermissionDenied without the scope `browser`.
    """
    caller = call_of(connection).caller
    if not caller.may("browser"):
        raise PermissionDenied("this needs the scope 'browser'", scope="browser")
    return caller
