"""One request and its answer on an opened connection: both bodies stream, and the answer is searched for echoes of secrets."""

import asyncio
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import h11

from sandbox_server.drivers.egress.echo_redaction import EchoRedactor
from sandbox_server.drivers.egress.http_requests import is_websocket_answer
from sandbox_server.drivers.egress.secret_injection import MAX_BODY, Fields, InjectionRefused, without_fields
from sandbox_server.egress.clear_stream import ByteStream
from sandbox_server.egress.request_injection import InjectedRequest

MAX_HEAD = 64 << 10
"""Limit in bytes of a head of either side."""
BODY_SECONDS = 120.0
"""How long a client may pause within a body."""
WHOLE_BODY_SECONDS = 300.0
"""How long a body may take to come that is read as a whole, of at most 1 MiB."""
ANSWER_SECONDS = 3600.0
"""How long a server may pause within an answer, and before it."""
GRACE_SECONDS = 0.1
"""How long a body may still be sent on after its answer has ended. Then the connection is closed."""
_INFLATED = 64 << 10
"""Bytes that are unpacked at once."""
_WINDOWS = {b"gzip": 31, b"x-gzip": 31, b"deflate": 47}
_SWITCHING = 101
_PARTIAL_CONTENT, _IM_USED = 206, 226
_SHARES_ANSWERS = b"access-control-"
"""How the names of fields begin by which a server lets pages of other origins read its answer (https://fetch.spec.whatwg.org/)."""

type BodyEvent = h11.Data | h11.EndOfMessage


class ExchangeFailed(Exception):
    """The exchange cannot go on; the message says why. Nothing, or not all, of an answer was sent."""


@dataclass(slots=True)
class HttpSide:
    """A connection with the state of HTTP on it."""

    stream: ByteStream
    http: h11.Connection = field(default_factory=lambda: h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD))

    async def event(self, seconds: float) -> object:
        """Return what the other side says next. Raises h11.RemoteProtocolError, OSError and TimeoutError."""
        async with asyncio.timeout(seconds):
            while (event := self.http.next_event()) is h11.NEED_DATA:
                self.http.receive_data(await self.stream.read())
        return event

    async def say(self, event: h11.Event) -> None:
        """Send an event."""
        if sent := self.http.send(event):
            await self.stream.write(sent)

    async def whole_body(self) -> bytes:
        """Read a body to its end. Raises InjectionRefused if it is too large for that, or takes too long."""
        if self.http.they_are_waiting_for_100_continue:
            await self.say(h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue"))
        try:
            async with asyncio.timeout(WHOLE_BODY_SECONDS):
                return await self._body()
        except TimeoutError:
            raise InjectionRefused("a body that has to be read whole took too long to come") from None

    async def _body(self) -> bytes:
        found = bytearray()
        while isinstance(event := await self.event(BODY_SECONDS), h11.Data):
            found += event.data
            if len(found) > MAX_BODY:
                raise InjectionRefused(f"a body in which a secret may be, or that a person is asked about, is larger than {MAX_BODY} bytes")
        return bytes(found)


class HeldBody:
    """The body of one request, which is read whole only where that is needed."""

    def __init__(self, side: HttpSide) -> None:
        self._side = side
        self.content: bytes | None = None
        """None as long as it was not read."""

    async def read(self) -> bytes:
        """Return it whole. Raises InjectionRefused as `HttpSide.whole_body` does."""
        if self.content is None:
            self.content = await self._side.whole_body()
        return self.content


def server_side(stream: ByteStream) -> HttpSide:
    """Return the side of a server, which answers."""
    return HttpSide(stream, h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD))


class HttpExchange:
    """Carries one request to a server and its answer back."""

    def __init__(self, client: HttpSide, server: HttpSide, redactor: EchoRedactor) -> None:
        self._client = client
        self._server = server
        self._redactor = redactor
        self._inflate: _Inflate | None = None
        self._problem = ""
        self._for_page = False

    async def run(self, method: bytes, request: InjectedRequest) -> bool:
        """Carry both; return whether the connection became a WebSocket. Raises ExchangeFailed, OSError and h11.ProtocolError."""
        self._for_page = request.for_page
        await self._server.say(h11.Request(method=method, target=request.target, headers=request.fields))
        upload = asyncio.get_running_loop().create_task(self._upload(request.body))
        try:
            switched = await self._download()
            await asyncio.wait([upload], timeout=GRACE_SECONDS)  # a fast server's answer may be here before the upload has run
            return switched
        finally:
            upload.cancel()
            await asyncio.wait([upload])

    async def _upload(self, body: bytes | None) -> None:
        """Send the body on. What goes wrong ends the server's side, which the download notices."""
        try:
            if body is not None:
                await self._server.say(h11.Data(data=body))
                await self._server.say(h11.EndOfMessage())
                return
            while isinstance(event := await self._client.event(BODY_SECONDS), h11.Data):
                await self._server.say(h11.Data(data=bytes(event.data)))
            if isinstance(event, h11.EndOfMessage):
                await self._server.say(h11.EndOfMessage())
        except (OSError, h11.ProtocolError) as error:
            self._problem = f"the request's body could not be sent on: {error or type(error).__name__}"
            self._server.stream.cut()

    async def _download(self) -> bool:
        while True:
            event = await self._server.event(ANSWER_SECONDS)
            if isinstance(event, h11.InformationalResponse):
                if event.status_code == _SWITCHING:
                    _check_websocket(event)
                await self._inform(event)
                if event.status_code == _SWITCHING:
                    return True
            elif isinstance(event, h11.Response):
                await self._begin(event)
            elif isinstance(event, h11.Data):
                for piece in self._clear(bytes(event.data)):
                    await self._client.say(h11.Data(data=piece))
            elif isinstance(event, h11.EndOfMessage):
                await self._finish()
                return False
            else:
                raise ExchangeFailed(self._problem or "the server closed the connection without an answer")

    async def _inform(self, event: h11.InformationalResponse) -> None:
        fields = self._redacted([(bytes(name), bytes(value)) for name, value in event.headers.raw_items()])
        await self._client.say(h11.InformationalResponse(status_code=event.status_code, headers=fields, reason=bytes(event.reason)))

    async def _begin(self, event: h11.Response) -> None:
        """Pass on the head of an answer, for a body that is not compressed."""
        fields = [(bytes(name), bytes(value)) for name, value in event.headers.raw_items()]
        if self._redactor.active:
            if event.status_code in (_PARTIAL_CONTENT, _IM_USED):
                raise ExchangeFailed("the server's answer is a part of one, in which a part of a secret would not be found")
            fields = self._unpacked(fields)
        reason = self._redactor.whole(bytes(event.reason))
        await self._client.say(h11.Response(status_code=event.status_code, headers=self._redacted(fields), reason=reason))

    def _unpacked(self, fields: Fields) -> Fields:
        """Prepare to unpack a body that the server compressed although it was asked not to."""
        encoding = b",".join(value for name, value in fields if name.lower() == b"content-encoding").strip().lower()
        if encoding in (b"", b"identity"):
            return fields
        if encoding not in _WINDOWS:
            raise ExchangeFailed(
                f"the server's answer is encoded as {encoding[:40].decode('latin-1')}, which cannot be searched for secrets"
            )
        self._inflate = _Inflate(_WINDOWS[encoding])
        return without_fields(fields, frozenset((b"content-encoding", b"content-length")))

    def _redacted(self, fields: Fields) -> Fields:
        """Return fields without values. What a page got with a value is not shared with pages of other origins."""
        kept = [field for field in fields if not (self._for_page and field[0].lower().startswith(_SHARES_ANSWERS))]
        return [(name, self._redactor.whole(bytes(value))) for name, value in kept]

    def _clear(self, content: bytes) -> Iterator[bytes]:
        for piece in self._inflate.feed(content) if self._inflate else (content,):
            if clear := self._redactor.feed(piece):
                yield clear

    async def _finish(self) -> None:
        if rest := self._redactor.flush():
            await self._client.say(h11.Data(data=rest))
        await self._client.say(h11.EndOfMessage())


def _check_websocket(event: h11.InformationalResponse) -> None:
    """Raise ExchangeFailed for a change to another protocol than was asked for."""
    if not is_websocket_answer((bytes(name), bytes(value)) for name, value in event.headers):
        raise ExchangeFailed("the server changes to another protocol than that of a WebSocket")


class _Inflate:
    """Unpacks a body piece by piece."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._unpacker = zlib.decompressobj(window)

    def feed(self, content: bytes) -> Iterator[bytes]:
        """Yield what a piece unpacks to, a bounded part at a time. Raises ExchangeFailed."""
        while content:
            try:
                yield self._unpacker.decompress(content, _INFLATED)
            except zlib.error as error:
                raise ExchangeFailed(f"the server's answer is not compressed as it says: {error}") from None
            content = self._unpacker.unconsumed_tail
            if self._unpacker.eof and self._unpacker.unused_data:
                content, self._unpacker = self._unpacker.unused_data, zlib.decompressobj(self._window)
