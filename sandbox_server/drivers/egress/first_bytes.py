"""What a client says first on a connection: which protocol it is, and which server it asks for.

The bytes are kept, because they are sent on if the connection is allowed. What a client asks for is held against the name
of the address that it connected to.
"""

from sandbox_server.drivers.egress.client_hello import ClientHello, HelloReader, MalformedHello
from sandbox_server.drivers.egress.host_names import MAX_NAME, normal_form
from sandbox_server.drivers.egress.http_head import HeadReader, MalformedHead, RequestHead, is_http, may_become_http
from sandbox_server.drivers.egress.policy import AppProtocol

MAX_LINE = 8 << 10
"""Limit in bytes of a first line that may become HTTP's."""
_TLS_BEGINS = b"\x16\x03"


class FirstBytes:
    """Reads the first bytes of a connection until it is clear what they are.

    `protocol` is None until then. `problem` says why bytes that look like HTTP or TLS cannot be accepted.
    """

    def __init__(self) -> None:
        self._begun = False
        self.received = bytearray()
        self.protocol: AppProtocol | None = None
        self.problem = ""
        self.hello: ClientHello | None = None
        self.head: RequestHead | None = None
        self._reader: HelloReader | HeadReader | None = None

    def feed(self, received: bytes) -> bool:
        """Take more bytes; return whether everything needed is known."""
        self.received += received
        if self._reader is None and not self._choose():
            return self.protocol is not None
        try:
            return self._read(received)
        except (MalformedHello, MalformedHead) as error:
            self.problem = str(error)
            return True

    def give_up(self) -> None:
        """Decide with what has come, because nothing more came in time."""
        if self.protocol is None:
            self.protocol = AppProtocol.TCP
            self.problem = "the first line did not come in time" if self.received else ""
        elif self.unfinished:
            self.problem = self.problem or "the first message did not come in time"

    def end(self) -> None:
        """Decide with what has come, because the client says nothing more: what is no message yet becomes none."""
        if self.protocol is None:
            self.protocol = AppProtocol.TCP
        elif self.unfinished:
            self.problem = self.problem or "the first message has no end"

    @property
    def unfinished(self) -> bool:
        """Whether a message of HTTP or TLS has begun and not ended."""
        return self._reader is not None and not (self.hello or self.head)

    def mismatch(self, name: str, *, ech_allowed: bool) -> str:
        """Say what is wrong with these bytes on a connection to a name; empty if nothing is."""
        if self.problem:
            return self.problem
        if self.hello:
            return _hello_mismatch(self.hello, name, ech_allowed=ech_allowed)
        return host_mismatch(self.head, name) if self.head else ""

    def _choose(self) -> bool:
        """Choose a reader, which gets everything so far; False if there is none yet, or none is needed."""
        start = bytes(self.received[: MAX_LINE + 1]).lstrip(b"\r\n")
        if start.startswith(_TLS_BEGINS):
            self.protocol, self._reader = AppProtocol.TLS, HelloReader()
        elif b"\n" in start and is_http(start.partition(b"\n")[0]):
            self.protocol, self._reader = AppProtocol.HTTP, HeadReader()
        elif self._undecided(start):
            return False
        else:
            self.protocol = AppProtocol.TCP
        return self._reader is not None

    def _undecided(self, start: bytes) -> bool:
        if start and not _TLS_BEGINS.startswith(start) and (b"\n" in start or not may_become_http(start)):
            return False
        if len(self.received) > MAX_LINE:
            self.problem = f"the first line exceeds {MAX_LINE} bytes"
            return False
        return True

    def _read(self, received: bytes) -> bool:
        assert self._reader
        if isinstance(self._reader, HelloReader):
            self.hello = self._reader.feed(self._fresh(received))
        else:
            self.head = self._reader.feed(self._fresh(received))
        return bool(self.hello or self.head)

    def _fresh(self, received: bytes) -> bytes:
        """The bytes that the reader has not had: all of them the first time, without empty lines before them."""
        if self._begun:
            return received
        self._begun = True
        return bytes(self.received).lstrip(b"\r\n")


def host_mismatch(head: RequestHead, name: str) -> str:
    """Say which host a request asks for that is not the name of its connection; empty if there is none, or no name."""
    other = next((host for host in head.hosts if name and not _same(host, name)), None)
    return f"HTTP asks for {other[:MAX_NAME]!r} on a connection to {name}" if other is not None else ""


def _hello_mismatch(hello: ClientHello, name: str, *, ech_allowed: bool) -> str:
    if hello.ech and not ech_allowed:
        return "the ClientHello may hide the server's name (ECH)"
    if not hello.server_name:
        return f"TLS names no server on a connection to {name}"
    return "" if _same(hello.server_name, name) else f"TLS asks for {hello.server_name[:MAX_NAME]!r} on a connection to {name}"


def _same(said: str, name: str) -> bool:
    try:
        return normal_form(said) == name
    except ValueError:
        return False
