"""What tests of the credential broker have: a TLS server outside with a name, and a program in the box that asks it."""

import asyncio
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import h11

from sandbox_server.drivers.egress.certificate_authority import CertificateAuthority
from sandbox_server.drivers.egress.secret_users import SecretUsers
from sandbox_server.drivers.egress.socket_owner import SocketOwner
from tests.egress.conftest import OUTSIDE, SECONDS, EgressLab

VALUE = "ghp_R3al+Value/42"
PLACEHOLDER = "tandem_TOKEN_0123456789ab"
HOST = "api.example"
USERS = SecretUsers(frozenset((1000, 0)), 991)
PROGRAM, BROWSER = SocketOwner(1000, 1), SocketOwner(991, 1)
"""Owners of connections: a program of the agent, and the browser."""

type Answer = tuple[int, list[tuple[str, str]], list[bytes]]
type Respond = Callable[[h11.Request, bytes], Answer]


def binding(*hosts: str, **more: Any) -> dict[str, Any]:
    """A binding to hosts."""
    return {"hosts": list(hosts or [HOST]), **more}


def secret(*bindings: dict[str, Any], name: str = "TOKEN", value: str | None = VALUE, placeholder: str = PLACEHOLDER) -> dict[str, Any]:
    """A secret as the API sends it."""
    return {"name": name, "placeholder": placeholder, "value": value, "bindings": list(bindings) or [binding()]}


def plain(body: bytes = b"ok", *fields: tuple[str, str]) -> Answer:
    """An answer with a length."""
    return 200, [("Content-Length", str(len(body))), *fields], [body]


class SecretServer:
    """Answers requests over TLS as a test says, and keeps what it heard."""

    def __init__(self, respond: Respond = lambda _, __: plain()) -> None:
        self.respond = respond
        self.heard: list[tuple[h11.Request, bytes]] = []
        self.connections = 0
        self.answered = asyncio.Event()
        """Set with each answer."""
        self._server: asyncio.Server | None = None
        self.port = 0

    async def start(self, name: str = HOST, port: int = 0, authority: CertificateAuthority | None = None) -> CertificateAuthority:
        """Serve with a certificate of an authority, a new one unless it is given."""
        authority = authority or CertificateAuthority()
        self._server = await asyncio.start_server(self._attend, OUTSIDE, port, ssl=authority.context(name))
        self.port = self._server.sockets[0].getsockname()[1]
        return authority

    async def start_clear(self, port: int = 0) -> int:
        """Serve without TLS; returns the port."""
        self._server = await asyncio.start_server(self._attend, OUTSIDE, port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self.port

    def close(self) -> None:
        """Serve no more."""
        if self._server:
            self._server.close()

    def fields(self, index: int = -1) -> dict[str, str]:
        """The fields of a request that was heard."""
        return {name.decode(): value.decode() for name, value in self.heard[index][0].headers}

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        http = h11.Connection(h11.SERVER)
        try:
            while await self._answer(http, reader, writer):
                http.start_next_cycle()
        except (ConnectionError, ssl.SSLError, h11.ProtocolError):
            pass
        finally:
            writer.close()

    async def _answer(self, http: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        request, body = None, b""
        while not isinstance(event := http.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                http.receive_data(await reader.read(65536))
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                body += event.data
            else:
                return False
        assert request
        self.heard.append((request, body))
        status, fields, pieces = self.respond(request, body)
        if status == 101:
            writer.write(http.send(h11.InformationalResponse(status_code=101, headers=fields)))
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            writer.write(await reader.read(65536))
            return False
        writer.write(http.send(h11.Response(status_code=status, headers=fields)) or b"")
        for piece in pieces:
            writer.write(http.send(h11.Data(data=piece)) or b"")
            await writer.drain()
        writer.write(http.send(h11.EndOfMessage()) or b"")
        await writer.drain()
        self.answered.set()
        return http.our_state is h11.DONE and http.their_state is h11.DONE


class SecretLab:
    """An egress server with secrets, the server that they are for, and programs that trust the sandbox's authority."""

    def __init__(self, lab: EgressLab, server: SecretServer, outside: CertificateAuthority) -> None:
        self.lab = lab
        self.server = server
        self.broker = lab.server.broker
        context = ssl.create_default_context(cadata=outside.pem)
        self.broker._client = context
        context.set_alpn_protocols(["http/1.1"])
        self._program: ssl.SSLContext | None = None
        self.owner: SocketOwner | None = PROGRAM
        """Whose connections are."""
        lab.server.flows._owner_of = lambda *_: self.owner

    def secrets(self, *secrets: dict[str, Any]) -> None:
        """Put secrets in force, whose hosts may be at the server's port."""
        for each in secrets:
            for bound in each["bindings"]:
                bound["hosts"] = [host if ":" in host else f"{host}:{self.server.port}" for host in bound["hosts"]]
        self.broker.replace(secrets, USERS)

    @property
    def program(self) -> ssl.SSLContext:
        """The context of a program in the box."""
        if self._program is None:
            self._program = ssl.create_default_context(cadata=self.broker.authority().pem)
        return self._program

    async def open(self, host: str = HOST, context: ssl.SSLContext | None = None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection of a program in the box to a host, over TLS."""
        reader, writer = await self.lab.connect(host, self.server.port)
        await writer.start_tls(context or self.program, server_hostname=host)
        return reader, writer

    async def ask(self, request: bytes, host: str = HOST) -> bytes:
        """Everything that comes back for the bytes of some requests, of which the last closes the connection."""
        async with asyncio.timeout(SECONDS):
            reader, writer = await self.open(host)
            try:
                writer.write(request)
                return await reader.read(-1)
            finally:
                writer.close()


def request(*fields: str, method: str = "GET", target: str = "/", body: bytes = b"", host: str = HOST, closes: bool = True) -> bytes:
    """The bytes of a request."""
    more = [f"Content-Length: {len(body)}"] if body else []
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", *fields, *more, *(["Connection: close"] if closes else [])]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def pieces(content: bytes, size: int) -> Sequence[bytes]:
    """A content in pieces."""
    return [content[at : at + size] for at in range(0, len(content), size)]


def certificates(folder: Path, authority: CertificateAuthority) -> str:
    """A file with the certificate of an authority."""
    path = folder / "authority.pem"
    path.write_text(authority.pem)
    return str(path)
