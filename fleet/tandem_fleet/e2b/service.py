"""E2B's protocol in front of the fleet's own API, on the same port."""

from contextlib import AsyncExitStack

from fastapi import FastAPI
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from tandem_fleet.e2b import control_plane
from tandem_fleet.e2b.access import SandboxTokens
from tandem_fleet.e2b.data_plane import DataPlane, target_of
from tandem_fleet.e2b.deadlines import Deadlines
from tandem_fleet.e2b.lifetimes import Lifetimes
from tandem_fleet.e2b.sandbox_calls import SandboxClients
from tandem_fleet.fleet import Fleet
from tandem_fleet.store.audit import AuditStore
from tandem_fleet.store.e2b import DeadlineStore
from tandem_fleet.trace_context import follow


class E2B:
    """The protocol. While it is open, sandboxes end when their time is over."""

    def __init__(self, fleet: Fleet) -> None:
        store, tokens = DeadlineStore(fleet.database), SandboxTokens(fleet.key)
        self._clients = SandboxClients(fleet.key)
        self._deadlines = Deadlines(fleet, store)
        self._lifetimes = Lifetimes(fleet, store, self._clients, tokens)
        self._data_plane = DataPlane(fleet, self._lifetimes, self._clients, tokens, store)
        self._record = AuditStore(fleet.database)
        self._open = AsyncExitStack()

    async def __aenter__(self) -> "E2B":
        async with AsyncExitStack() as opening:
            opening.push_async_callback(self._clients.close)
            opening.push_async_callback(self._deadlines.stop)
            await self._deadlines.start()
            self._open = opening.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    def over(self, app: FastAPI) -> ASGIApp:
        """The fleet's application with the protocol in front of it. Callers of both are known by the same keys."""
        control = control_plane.build(self._lifetimes, app, self._record)

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                return await app(scope, receive, send)
            request = Request(scope, receive)
            if target := target_of(request):
                follow(request.headers)
                return await (await self._data_plane.answer(target, request))(scope, receive, send)
            return await (control if control_plane.is_ours(request.url.path) else app)(scope, receive, send)

        return answer
