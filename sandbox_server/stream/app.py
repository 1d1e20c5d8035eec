"""The composition root of the streaming process."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from types import TracebackType
from typing import Self

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from sandbox_server.core import logs
from sandbox_server.core.errors import Failure, PermissionDenied, ResourceExhausted, Unauthenticated, Unavailable
from sandbox_server.core.http.app import call_of
from sandbox_server.core.http.asgi_server import serve_on
from sandbox_server.core.http.response_encoding import failure_response
from sandbox_server.core.identity import ACTOR, CALLER, SCOPES, Caller
from sandbox_server.core.quota import NEEDED, Quota
from sandbox_server.core.tasks import Tasks, start_task
from sandbox_server.drivers.browser.browser_events import news
from sandbox_server.drivers.clients.lease import LeaseClient
from sandbox_server.drivers.sound.pulseaudio import PulseAudio
from sandbox_server.drivers.x11.connection import X11Connection
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.settings import Settings, StreamSettings
from sandbox_server.stream.capture.x11 import ScreenCapture
from sandbox_server.stream.codecs.frame_encoder import FrameEncoder
from sandbox_server.stream.input.injector import InputInjector
from sandbox_server.stream.resume import StreamSessions
from sandbox_server.stream.sound.broadcast import SoundBroadcast
from sandbox_server.stream.transport.viewer_transport import ChannelFactory, ViewerTransport
from sandbox_server.stream.viewer.stream_viewer import StreamSources, StreamViewer
from sandbox_server.stream.wire import MAX_UP, MalformedMessage

MAX_VIEWERS = 16
"""Each has a shadow buffer: 33 MB of the largest screen."""
PROGRAM_VIEWERS = 12
"""Of these, how many may be programs."""
VIEWERS_OF_ONE = 8
"""Of these, how many may have one program's credential."""
PING_SECONDS = 20.0
PONG_SECONDS = 20.0
"""A viewer that does not answer for so long is gone, and what it held is released."""
SHUTDOWN_SECONDS = 1
SIGNED_OUT = 4401
PLACE_TAKEN = 4429
"""Close code for a viewer that was evicted."""
UNSUPPORTED = 1003
"""Close code for a malformed message (RFC 6455, section 7.4.1)."""
_LOOPBACK = {"localhost": "127.0.0.1"}
"""Engines publish a port at IPv4's loopback, if at any, whatever the name means first."""
_log = logging.getLogger(__name__)

type ChannelsTo = Callable[[str, Caller], ChannelFactory]
"""Makes what opens data channels to a viewer, given the host at which it reached the server."""


class _StarletteSocket:
    """A WebSocket as the transport uses it."""

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket

    async def send(self, message: bytes) -> None:
        await self._websocket.send_bytes(message)

    async def receive(self) -> bytes | None:
        received = await self._websocket.receive()
        if received["type"] == "websocket.disconnect":
            return None
        found: bytes | None = received.get("bytes")
        if found is None:
            raise MalformedMessage("messages are binary")
        return found


class StreamViewers:
    """Admits viewers to the display `name`, and serves each; open for as long as the context."""

    def __init__(self, name: str, api: str, sound: PulseAudio, stream: StreamSettings, browser: str | None) -> None:
        self._api = api
        self._browser = browser
        self._stream = stream
        self._desktop = Desktop(name)
        self._input_connection = X11Connection(name)
        self._sources = StreamSources(
            ScreenCapture(name), FrameEncoder(), StreamSessions(), SoundBroadcast(sound), sound if stream.microphone else None
        )
        self._channels: ChannelsTo | None = None
        """None where there is no UDP port."""
        self._tasks = Tasks()
        self._following: asyncio.Task[None] | None = None
        self._places = Quota("viewers", MAX_VIEWERS, programs=PROGRAM_VIEWERS, each=VIEWERS_OF_ONE)
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            sources = self._sources
            for part in (self._desktop, sources.screen, self._input_connection, sources.encoder, sources.sound, self._tasks):
                await stack.enter_async_context(part)
            if self._stream.udp_port:
                self._channels = await open_port(self._stream, stack)
            self._opened = stack.pop_all()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._opened.__aexit__(kind, error, trace)

    async def serve(self, websocket: WebSocket) -> None:
        """Serve one viewer, from its first message to its last."""
        evicted = asyncio.Event()
        try:
            caller = caller_of(websocket)
            place = self._places.take(caller.name, person=caller.person, leave=evicted.set)
        except Failure as failure:
            await websocket.send_denial_response(failure_response(failure))
            return
        try:
            with place:
                self._follow_while_watched()
                await websocket.accept()
                await self._show(websocket, caller, evicted)
        finally:
            self._follow_while_watched()

    def _follow_while_watched(self) -> None:
        """Follow clients' input on pages, which bypasses the X server, while there is a viewer."""
        if self._browser and self._places.taken and not self._following:
            self._following = self._tasks.start(self._follow_pages(self._browser), name="input of pages")
        elif self._following and not self._places.taken:
            self._following.cancel()
            self._following = None

    async def _follow_pages(self, browser: str) -> None:
        async for event in news(browser, "acts"):
            await self._sources.screen.note_on_page(event)

    async def _show(self, websocket: WebSocket, caller: Caller, evicted: asyncio.Event) -> None:
        injector = InputInjector(self._desktop, self._input_connection)

        async def release_all() -> None:
            with suppress(Unavailable):
                await injector.release_all()

        lease, session = LeaseClient(self._api, asking_for(websocket), release_all), secrets.randbits(32)
        channels = self._channels(websocket.url.hostname or "", caller) if self._channels else None
        transport = ViewerTransport(_StarletteSocket(websocket), channels)
        viewer = StreamViewer(transport, self._sources, injector, caller, lease, session)
        try:
            with suppress(WebSocketDisconnect, RuntimeError):  # it has gone, or said so
                async with lease, transport:
                    await _while_admitted(viewer, lease, evicted)
        except Unauthenticated as ended:
            await websocket.close(SIGNED_OUT, ended.message)
        except ResourceExhausted as taken:
            await websocket.close(PLACE_TAKEN, taken.message)
        except MalformedMessage as bad:
            await websocket.close(UNSUPPORTED, str(bad))


async def _while_admitted(viewer: StreamViewer, lease: LeaseClient, evicted: asyncio.Event) -> None:
    """Serve a viewer; raises Unauthenticated once it was signed out, and ResourceExhausted once a person has its place."""
    running = start_task(viewer.run())
    ends = start_task(lease.ended.wait()), start_task(evicted.wait())
    try:
        await asyncio.wait({running, *ends}, return_when=asyncio.FIRST_COMPLETED)
        if lease.ended.is_set():
            raise Unauthenticated("your session was ended")
        if evicted.is_set():
            raise ResourceExhausted(NEEDED)
        await running
    finally:
        for task in (running, *ends):
            task.cancel()
        await asyncio.wait({running, *ends})


def caller_of(websocket: WebSocket) -> Caller:
    """Return the caller that the gateway authenticated.

    Raises Unauthenticated, or PermissionDenied without the scope `view`.
    """
    caller = call_of(websocket).caller
    if not caller.may("view"):
        raise PermissionDenied("this needs the scope view", scope="view")
    return caller


def asking_for(websocket: WebSocket) -> dict[str, str]:
    """Return the headers for requests to the API on behalf of the viewer."""
    headers = websocket.headers
    given = {name: headers[name] for name in (CALLER, ACTOR) if name in headers}
    return given | {SCOPES: f"{headers.get(SCOPES, '')} server"}


def create(name: str, api: str, sound: str, stream: StreamSettings | None = None, browser: str | None = None) -> Starlette:
    """Make the application for the display `name`.

    `api` is the socket at which the API keeps the lease, `sound` that of the sound server, `browser` that of the
    process that owns the browser, where there is one.
    """
    viewers = StreamViewers(name, api, PulseAudio(sound), stream or StreamSettings(), browser)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with viewers:
            yield

    return Starlette(routes=[WebSocketRoute("/stream/socket", viewers.serve), Route("/healthz", healthy)], lifespan=lifespan)


async def open_port(stream: StreamSettings, stack: AsyncExitStack) -> ChannelsTo | None:
    """Open the UDP port for data channels, for as long as the stack; None where it cannot be had, which is logged.

    A name is looked up for people, and one of the settings for everybody: an agent could send any text out as a name.
    """
    from sandbox_server.stream.transport.channel import channel_factory  # heavy, and only needed where the port is set
    from sandbox_server.stream.transport.udp_mux import UdpMux

    try:
        mux = await stack.enter_async_context(UdpMux("::", stream.udp_port))
    except OSError as error:
        _log.error("UDP port %d cannot be had: %s", stream.udp_port, error)
        return None
    host, port = stream.udp_address or ("", 0)

    def channels(reached: str, caller: Caller) -> ChannelFactory:
        named = host or _LOOPBACK.get(reached, reached)
        return channel_factory(mux, named, port or stream.udp_port, resolves=caller.person or bool(host))

    return channels


async def healthy(_: Request) -> Response:
    """Say that this process serves, whatever the desktop does."""
    return JSONResponse({"status": "ok"})


def serve(settings: Settings) -> None:
    """Serve viewers on the component's socket until told to stop."""
    logs.configure(settings.logs.level)
    serve_on(
        settings.paths.socket("stream"),
        create(settings.display.name, settings.paths.socket("api"), settings.paths.sound, settings.stream, settings.paths.socket("cdp")),
        ws_max_size=MAX_UP,
        ws_per_message_deflate=False,
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PONG_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
