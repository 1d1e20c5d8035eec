"""A connection whose requests are handled one by one: each is judged by the policy, and in TLS gets its secrets.

What came in TLS goes on in TLS, which is verified.
"""

import asyncio
import socket
import ssl
from dataclasses import replace
from typing import Protocol

import h11

from sandbox_server.drivers.egress.echo_redaction import EchoRedactor
from sandbox_server.drivers.egress.first_bytes import host_mismatch
from sandbox_server.drivers.egress.http_head import MalformedHead, RequestHead, request_head
from sandbox_server.drivers.egress.http_requests import framing
from sandbox_server.drivers.egress.policy import UNREACHABLE_RULE, AppProtocol, Destination, HttpRequest
from sandbox_server.drivers.egress.secret_injection import Fields, InjectionRefused, without_fields
from sandbox_server.drivers.egress.socket_owner import SocketOwner
from sandbox_server.egress.approvals import ReadBody
from sandbox_server.egress.clear_stream import ByteStream, ClearStream
from sandbox_server.egress.credential_broker import CredentialBroker
from sandbox_server.egress.http_exchange import ExchangeFailed, HeldBody, HttpExchange, HttpSide, server_side
from sandbox_server.egress.open_flow import request_in
from sandbox_server.egress.refusals import FlowRefused
from sandbox_server.egress.request_injection import InjectedRequest
from sandbox_server.egress.tls_stream import TlsStream

HEAD_SECONDS = 60.0
"""How long the first request, and each one that has begun, may take to be whole."""
IDLE_SECONDS = 300.0
"""How long a client may keep its connection between two requests."""
_PER_HOP = frozenset((b"upgrade", b"http2-settings"))
_COMPRESSION = frozenset((b"accept-encoding", b"sec-websocket-extensions"))
_EXPECT = frozenset((b"expect",))
_PARTIAL = frozenset((b"range", b"request-range", b"if-range", b"a-im"))
"""What asks for a part of an answer: of a value in two parts, neither is found. `Request-Range` is an older name that servers know."""


class FlowGate(Protocol):
    """What an intercepted flow asks for each request."""

    async def admit(self, request: HttpRequest, read_body: ReadBody) -> None:
        """Judge a request, whose body is read if a person is asked about it. Raises FlowRefused and InjectionRefused."""

    async def connect(self) -> socket.socket:
        """Connect to the server. Raises FlowRefused."""

    def refuse(self, refused: FlowRefused) -> None:
        """Tell of a refusal."""


class InterceptedFlow:
    """Serves one client until either side ends."""

    def __init__(
        self, client: ByteStream, destination: Destination, broker: CredentialBroker, gate: FlowGate, owner: SocketOwner | None
    ) -> None:
        self._client = HttpSide(client)
        self._destination = destination
        self._broker = broker
        self._secure = destination.protocol is AppProtocol.TLS
        self._gate = gate
        self._owner = owner
        self._socket: socket.socket | None = None
        self._server: HttpSide | None = None
        self._reason = ""
        self._sent = self._received = 0

    @property
    def sent(self) -> int:
        """Bytes that went to the server, within TLS where there is some."""
        return self._sent + (self._server.stream.written_bytes if self._server else 0)

    @property
    def received(self) -> int:
        """Bytes that came from the server, within TLS where there is some."""
        return self._received + (self._server.stream.read_bytes if self._server else 0)

    @property
    def moved_at(self) -> float:
        """When bytes last moved, by the loop's clock."""
        return max(self._client.stream.moved_at, self._server.stream.moved_at if self._server else 0.0)

    def cut(self, reason: str) -> None:
        """End the flow now."""
        self._reason = self._reason or reason
        self._client.stream.cut()
        if self._server:
            self._server.stream.cut()

    async def serve(self) -> str:
        """Serve requests to the end; returns why it ended, nothing if a side closed."""
        try:
            while await self._serve_one():
                pass
        except (OSError, h11.ProtocolError, ExchangeFailed, ExceptionGroup) as error:
            self._reason = self._reason or _told(error)
        finally:
            await self._client.stream.end()
            self._disconnect()
        return self._reason

    async def _serve_one(self) -> bool:
        """Serve the next request; False if it was the last."""
        try:
            request = await self._next()
            if request is None:
                return False
            injected = await self._judged(request)
            server = await self._connected()
        except FlowRefused as refused:
            self._gate.refuse(refused)
            await self._answer(refused)
            return False
        return await self._exchange(request, injected, server)

    async def _next(self) -> h11.Request | None:
        """Return the next request. Raises FlowRefused for one that is malformed."""
        try:
            event = await self._client.event(IDLE_SECONDS if self._server else HEAD_SECONDS)
        except h11.RemoteProtocolError as error:
            raise FlowRefused(f"{self._destination}: {error}", "malformed", "400 Bad Request") from None
        return event if isinstance(event, h11.Request) else None

    async def _judged(self, request: h11.Request) -> InjectedRequest:
        """Judge a request and put its secrets in. Raises FlowRefused."""
        head = self._read(request)
        judged, body = request_in(head), HeldBody(self._client)
        target = head.path.encode("latin-1") or b"*"
        try:
            await self._gate.admit(judged, body.read)
            fields = _for_server(request, head, redacts=self._secure and self._broker.binds(self._destination))
            if self._secure:
                made = await self._broker.inject(self._destination, judged, target, fields, body.read, self._owner)
            else:
                made = InjectedRequest(target, fields)
        except InjectionRefused as error:
            raise FlowRefused(f"{self._destination}: {error}", "secret", "502 Bad Gateway") from None
        if body.content is None:
            return made
        content = body.content if made.body is None else made.body
        return replace(made, body=content, fields=without_fields(made.fields, _EXPECT))

    def _read(self, request: h11.Request) -> RequestHead:
        """Read a head as strictly as the head of a clear-text request. Raises FlowRefused."""
        try:
            head = request_head(
                bytes(request.method),
                bytes(request.target),
                b"HTTP/" + bytes(request.http_version),
                [(bytes(name), bytes(value)) for name, value in request.headers],
            )
            framing(head)
        except MalformedHead as error:
            raise FlowRefused(f"{self._destination}: {error}", "malformed", "400 Bad Request") from None
        wrong = host_mismatch(head, self._destination.name)
        if wrong or head.method == "CONNECT":
            raise FlowRefused(wrong or "CONNECT to a server that is no proxy is not allowed", "mismatch")
        return head

    async def _connected(self) -> HttpSide:
        """Return the connection to the server: the one that is open, or a new one, in TLS verified by the name asked for."""
        if self._server and not self._server.stream.stale:
            return self._server
        self._disconnect()
        self._socket = await self._gate.connect()
        if not self._secure:
            self._server = server_side(ClearStream(self._socket))
            return self._server
        stream = TlsStream(self._socket, self._broker.client_context(), serves=False, name=self._destination.name)
        try:
            await stream.handshake()
        except ssl.SSLCertVerificationError as error:
            why = f"the server's certificate is not valid: {error.verify_message}"
            raise FlowRefused(f"{self._destination}: {why}", "certificate", "502 Bad Gateway") from None
        except (OSError, TimeoutError) as error:
            raise FlowRefused(f"{self._destination}: no TLS with the server: {_told(error)}", UNREACHABLE_RULE, "502 Bad Gateway") from None
        self._server = server_side(stream)
        return self._server

    async def _exchange(self, request: h11.Request, injected: InjectedRequest, server: HttpSide) -> bool:
        redactor = self._broker.redactor(self._destination) if self._secure else EchoRedactor(())
        try:
            switched = await HttpExchange(self._client, server, redactor).run(bytes(request.method), injected)
        except (OSError, h11.RemoteProtocolError, ExchangeFailed) as error:
            if self._client.http.our_state is h11.SEND_RESPONSE:
                await self._answer(FlowRefused(f"{self._destination}: {_told(error)}", UNREACHABLE_RULE, "502 Bad Gateway"))
            raise
        if switched:
            await self._tunnel(server, redactor)
            return False
        return self._again(server)

    def _again(self, server: HttpSide) -> bool:
        """Prepare for another request; False if either side wants none."""
        done = (h11.DONE, h11.DONE)
        if (self._client.http.our_state, self._client.http.their_state) != done:
            return False
        self._client.http.start_next_cycle()
        if (server.http.our_state, server.http.their_state) == done:
            server.http.start_next_cycle()
        else:
            self._disconnect()
        return True

    async def _tunnel(self, server: HttpSide, redactor: EchoRedactor) -> None:
        """Pass on a WebSocket. What the server sends is still searched: its frames are not masked."""
        async with asyncio.TaskGroup() as group:
            group.create_task(_pass_on(self._client, server, EchoRedactor(())))
            group.create_task(_pass_on(server, self._client, redactor))

    async def _answer(self, refused: FlowRefused) -> None:
        """Say within the opened connection why a request is refused."""
        self._reason = str(refused)
        http = self._client.http
        if http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        body = f"egress: {refused}\n".encode()
        status, _, phrase = refused.status.partition(" ")
        fields = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body))), ("Connection", "close")]
        try:
            await self._client.say(h11.Response(status_code=int(status), headers=fields, reason=phrase.encode()))
            await self._client.say(h11.Data(data=body))
            await self._client.say(h11.EndOfMessage())
        except (OSError, h11.LocalProtocolError):
            return

    def _disconnect(self) -> None:
        if self._server:
            self._sent, self._received = self.sent, self.received
        self._server = None
        if self._socket:
            self._socket.close()
            self._socket = None


def _for_server(request: h11.Request, head: RequestHead, *, redacts: bool) -> Fields:
    """Return a request's fields: no other protocol but a WebSocket, and where the answer is searched, none compressed or in part."""
    fields = [(bytes(name), bytes(value)) for name, value in request.headers.raw_items()]
    if not head.websocket:
        fields = without_fields(fields, _PER_HOP)
    if redacts:
        fields = [*without_fields(fields, _COMPRESSION | _PARTIAL), (b"Accept-Encoding", b"identity")]
    return fields


async def _pass_on(source: HttpSide, target: HttpSide, redactor: EchoRedactor) -> None:
    said, _ = source.http.trailing_data
    while said or (said := await source.stream.read()):
        await target.stream.write(redactor.feed(said))
        said = b""
    await target.stream.write(redactor.flush())
    target.stream.cut()


def _told(error: BaseException) -> str:
    if isinstance(error, ExceptionGroup):
        return _told(error.exceptions[0])
    if isinstance(error, TimeoutError):
        return "it took too long"
    if isinstance(error, ssl.SSLError):
        return error.reason or "TLS failed"
    if isinstance(error, OSError):
        return f"connection lost: {error.strerror}"
    return str(error)
