"""An `Auth` on real drivers in a directory of its own, and what the gateway would ask it."""

import os
from collections.abc import Callable
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from sandbox_server.core import Call, Caller, Reply
from sandbox_server.core.control import Holding
from sandbox_server.drivers.credentials.agent_keys import AgentKeys
from sandbox_server.drivers.credentials.grants import Grant
from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.credentials.revoked import Revoked
from sandbox_server.drivers.credentials.shares import PortShares
from sandbox_server.drivers.credentials.tickets import Tickets
from sandbox_server.drivers.credentials.token_keys import StaticKey
from sandbox_server.drivers.credentials.tokens import Tokens
from sandbox_server.drivers.ports.listening_ports import Ports
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.auth import Auth
from sandbox_server.features.auth.allowed_hosts import AllowedHosts
from sandbox_server.features.auth.auth import CreateTicket, Ticket
from sandbox_server.features.auth.credentials import KEY_SCOPES, Credentials
from sandbox_server.features.auth.turns import EditorTurns
from sandbox_server.settings import AuthSettings as AuthSettings

KEY = "correct horse battery staple"
EDITORS = {8888, 8200}
PRIVATE = rsa.generate_private_key(65537, 2048)
_PEM = PRIVATE.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)

type Answer = Reply[dict[str, str]]


class Gate:
    """Asks as the gateway does, with a clock that a test sets."""

    def __init__(self, folder: Path, settings: AuthSettings) -> None:
        self.seconds = 1_000_000.0
        self.folder = folder
        self.settings = settings
        self.holding = Holding()
        self.asked: set[str] = set()
        """The requests to people that are open."""
        self.programs = 0
        """How many calls of programs were told."""
        (folder / "run").mkdir()
        (folder / "agent").mkdir()
        me = (os.getuid(), os.getgid())
        self.keyring = Keyring(str(folder / "run"), str(folder / "agent"))
        self.keyring.prepare(me, me, with_api_key=False)
        self.shares = PortShares(JsonFile(str(folder / "shares.json")), self._now)
        self.revoked = Revoked(JsonFile(str(folder / "revoked.json")), 3600, self._now)
        self.agent_keys = self._keys()
        self.auth = self.restarted()

    def _keys(self) -> AgentKeys:
        return AgentKeys(JsonFile(str(self.folder / "agent-keys.json")), self._now, of_boot=self.keyring.agent_key, scopes=KEY_SCOPES)

    def boot(self) -> None:
        """Keep the key for an agent as a start of the container does, and run a new API process."""
        self.keyring.keep_agent_key((-1, -1), None)
        self.agent_keys = self._keys()
        self.restarted()

    @property
    def agent_key(self) -> str:
        """The key for an agent that is there from the start."""
        return self.keyring.read("agent-key") or ""

    def restarted(self) -> Auth:
        """A new API process on the same files."""
        tickets = self.tickets = Tickets(self.keyring.tickets, self._now)
        tokens = Tokens([StaticKey(_PEM.decode())], None, None, self._now)
        credentials = self.credentials = Credentials(
            self.keyring,
            tokens,
            tickets,
            self.shares,
            self.revoked,
            self.agent_keys,
            api_key=KEY,
            session_ttl=3600,
            preview_domain=self.settings.preview_domain,
            is_asked=lambda handoff: handoff in self.asked,
            now=self._now,
        )
        hosts = AllowedHosts(self.settings.hosts, "box", self.settings.preview_domain)
        ports, turns = Ports({8080, 8091}, (), editors=EDITORS), EditorTurns(lambda: self.holding, EDITORS)
        self.auth = Auth(credentials, tickets, ports, self.settings, self._now, turns, hosts, self._program_called)
        return self.auth

    def _now(self) -> float:
        return self.seconds

    def _program_called(self) -> None:
        self.programs += 1

    @property
    def agent_token(self) -> str:
        """What the agent finds in its own directory."""
        return (self.folder / "agent/token").read_text().strip()

    async def ask(self, uri: str, method: str = "GET", *, path: str | None = None, **headers: str) -> Answer:
        """The gateway's question about a request; `path` is what nginx made of it, header names have underscores."""
        named = {"host": "box:8080"} | {name.replace("_", "-"): value for name, value in headers.items()}
        nginx = {"x-original-uri": uri, "x-original-path": path or uri.partition("?")[0], "x-original-method": method}
        answer: Answer = await self.auth.authenticate_request(Call(Caller("nobody", frozenset()), "1", headers={**named, **nginx}))
        return answer

    async def ticket(self, request: dict[str, object] | None = None, *, expires: float | None = None) -> str:
        """A ticket made with the key, or with a credential that expires."""
        headers = {} if expires is None else {"x-sandbox-expires": f"{expires:.0f}"}
        made: Ticket = await self.auth.create_ticket(
            CreateTicket.model_validate(request or {}), Call(Caller("key", owner=True), "1", headers=headers)
        )
        return made.ticket

    async def cookie(self, **request: object) -> str:
        """A signed-in browser's `Cookie` header."""
        return set_by(await self.ask(f"/v1/x?ticket={await self.ticket(request)}"))

    async def secure_cookie(self, **request: object) -> str:
        """The same over TLS."""
        return set_by(await self.ask(f"/v1/x?ticket={await self.ticket(request)}", x_forwarded_proto="https"))

    async def invitation(self, handoff: str) -> str:
        """A link's ticket to a request to a person."""
        grant = Grant("invited#12345678-a", frozenset({"view", "control"}), handoff=handoff)
        return self.tickets.create(grant, 600)

    async def bought(self, answer: Answer, **request: object) -> str:
        """A ticket that the caller of another request makes, as the gateway would pass it on. Raises PermissionDenied."""
        assert answer.status == 200, answer.headers
        told, expires = answer.headers, answer.headers["X-Sandbox-Expires"]
        caller = Caller.from_headers({name.lower(): value for name, value in told.items()})
        assert caller is not None
        headers = {"x-sandbox-handoff": told["X-Sandbox-Handoff"]} | ({"x-sandbox-expires": expires} if expires else {})
        made: Ticket = await self.auth.create_ticket(CreateTicket.model_validate(request), Call(caller, "1", headers=headers))
        return made.ticket


def set_by(answer: Answer) -> str:
    """The cookie that an answer sets, as a browser sends it."""
    return answer.headers["Set-Cookie"].partition(";")[0]


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """Authentication on, with an API key and one token key."""
    return Gate(tmp_path, AuthSettings())


@pytest.fixture
def open_gate(tmp_path: Path) -> Gate:
    """Authentication off."""
    return Gate(tmp_path, AuthSettings(mode="off"))


@pytest.fixture
def signed() -> Callable[..., str]:
    """Sign a token that the gate accepts."""
    return lambda **claims: jwt.encode(claims, PRIVATE, algorithm="RS256")
