"""The real nginx with our configuration, before the real `/auth`, in a directory of its own."""

import http.client
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from pathlib import Path

import pytest
import uvicorn
from starlette.applications import Starlette

from sandbox_server.core import Call, Model, Socket, operation
from sandbox_server.core.dispatch import Dispatcher, require_scope
from sandbox_server.core.http import create_app
from sandbox_server.core.operation import operations
from sandbox_server.core.operation import socket as websocket
from sandbox_server.drivers.credentials.agent_keys import AgentKeys
from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.credentials.revoked import Revoked
from sandbox_server.drivers.credentials.shares import PortShares
from sandbox_server.drivers.credentials.tickets import Tickets
from sandbox_server.drivers.credentials.tokens import Tokens
from sandbox_server.drivers.nginx import body, listen, origins, upstreams
from sandbox_server.drivers.ports.listening_ports import Ports
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.auth import Auth
from sandbox_server.features.auth.credentials import Credentials
from sandbox_server.settings import AuthSettings as AuthSettings
from sandbox_server.settings import GatewaySettings as GatewaySettings
from tests.patience import PATIENCE_SECONDS, until

ROOT = Path(__file__).parent.parent.parent
KEY = "the-key-of-the-tests"


class Seen(Model):
    """What reached the component."""

    uri: str
    caller: str
    scopes: str
    headers: dict[str, str]


class Echo:
    """Stands for everything behind the gateway: answers with what reached it."""

    tag = "echo"

    def __init__(self) -> None:
        self.reached = 0

    @operation("GET /v1/echo", scope="any", envelope=False)
    async def echo(self, call: Call) -> Seen:
        """Tell what arrived."""
        self.reached += 1
        return Seen(
            uri=call.headers["x-original-uri"],
            caller=call.caller.name,
            scopes=" ".join(sorted(call.caller.scopes)),
            headers=dict(call.headers),
        )

    @operation("POST /v1/echo", scope="any", envelope=False)
    async def echo_post(self, call: Call) -> Seen:
        """Tell what arrived."""
        seen: Seen = await self.echo(call)
        return seen

    @operation("GET /healthz", scope="public", envelope=False)
    async def healthz(self) -> dict[str, str]:
        """Say ok."""
        return {"status": "ok"}

    @websocket("/v1/echo/ws", scope="shell")
    async def echo_socket(self, socket: Socket) -> None:
        """Send back each message."""
        while (message := await socket.receive()) is not None:
            await socket.send(message)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """An ASGI application on a unix socket, in a thread."""

    def __init__(self, app: Starlette, path: str) -> None:
        self._server = uvicorn.Server(uvicorn.Config(app, uds=path, log_config=None, ws="websockets-sansio", timeout_keep_alive=75))
        self._thread = threading.Thread(target=self._server.run)

    def start(self) -> None:
        """Serve; returns once it does."""
        self._thread.start()
        until(lambda: self._server.started)

    def stop(self) -> None:
        """Stop and wait."""
        self._server.should_exit = True
        self._thread.join(PATIENCE_SECONDS)


@dataclass(frozen=True)
class Answer:
    """One answer, read whole."""

    status: int
    headers: Message
    content: bytes


class Gateway:
    """nginx and the API behind it."""

    def __init__(self, folder: Path, settings: AuthSettings | None = None) -> None:
        self.folder = folder
        self.port = free_port()
        self.log = folder / "log"
        self.drop_ins = folder / "opt/gem/nginx"
        self._settings = settings or AuthSettings()
        self.echo = Echo()
        self._nginx: subprocess.Popen[bytes] | None = None
        self.api: Server | None = None

    def start(self) -> None:
        """Start both."""
        run = self.folder / "run/sandbox"
        for directory in (run / "nginx", self.folder / "run/sandbox-agent", self.drop_ins):
            directory.mkdir(parents=True, exist_ok=True)
        Keyring(str(run), str(self.folder / "run/sandbox-agent")).prepare((0, 0), (0, 0), with_api_key=False)
        self._configure(run)
        self.start_api()
        self.start_nginx()

    def start_api(self) -> None:
        """Serve the API."""
        run = str(self.folder / "run/sandbox")
        keyring = Keyring(run, str(self.folder / "run/sandbox-agent"))
        tickets = Tickets(keyring.tickets)
        self.shares = PortShares(JsonFile(f"{run}/shares.json"))
        revoked = Revoked(JsonFile(f"{run}/revoked.json"), 3600)
        keys = AgentKeys(JsonFile(f"{run}/agent-keys.json"))
        credentials = Credentials(keyring, Tokens([], None, None), tickets, self.shares, revoked, keys, api_key=KEY, session_ttl=3600)
        auth = Auth(credentials, tickets, Ports({self.port}, ()), self._settings)
        found = [op for feature in (auth, self.echo) for op in operations(feature)]
        self.api = Server(create_app(found, Dispatcher([require_scope])), f"{run}/api.sock")
        self.api.start()

    def start_nginx(self) -> None:
        """Run nginx as supervisord's conf does; returns once it accepts connections."""
        for name in ("public", "gateway", "preview"):
            (self.folder / f"run/sandbox/{name}.sock").unlink(missing_ok=True)
        with self.log.open("ab") as log:
            self._nginx = subprocess.Popen(["nginx", "-c", str(self.folder / "nginx/nginx.conf")], stdout=log, stderr=log)
        until(self.accepts)

    def accepts(self) -> bool:
        """Whether the public port accepts connections."""
        assert self._nginx is not None
        assert self._nginx.poll() is None, self.log.read_text()
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    @property
    def nginx_pid(self) -> int:
        """The gateway's process."""
        assert self._nginx is not None
        return self._nginx.pid

    @property
    def agent_token(self) -> str:
        """What the agent finds in its own directory."""
        return (self.folder / "run/sandbox-agent/token").read_text().strip()

    def kill_nginx(self) -> None:
        """End it without a chance to clean up."""
        assert self._nginx is not None
        self._nginx.kill()
        self._nginx.wait(PATIENCE_SECONDS)

    def stop(self) -> None:
        """Stop both."""
        if self._nginx is not None:
            self._nginx.terminate()
            self._nginx.wait(PATIENCE_SECONDS)
        if self.api is not None:
            self.api.stop()

    def _configure(self, run: Path) -> None:
        """Copy our configuration with this directory for a root."""
        shutil.copytree(ROOT / "nginx", self.folder / "nginx", dirs_exist_ok=True)
        for file in (self.folder / "nginx").rglob("*.conf"):
            text = file.read_text()
            for place in ("/run/sandbox", "/opt/gem", "/opt/tiger"):
                text = text.replace(f" {place}", f" {self.folder}{place}").replace(f":{place}", f":{self.folder}{place}")
            file.write_text(text.replace("/opt/tandem/", f"{ROOT}/"))
        (run / "nginx/components").symlink_to(self.folder / "nginx/components")
        (run / "nginx/listen.conf").write_text(listen(GatewaySettings(port=self.port, ipv4="127.0.0.1"), has_ipv6=False))
        (run / "nginx/origins.conf").write_text(origins(self._settings.origins))
        (run / "nginx/body.conf").write_text(body(GatewaySettings()))
        (run / "nginx/upstreams.conf").write_text(upstreams({"jupyter": 8888, "code-server": 8200}))

    def send(self, raw: bytes) -> bytes:
        """Send bytes as they are; everything that comes back until the connection closes."""
        with socket.create_connection(("127.0.0.1", self.port), 30) as connection:
            connection.sendall(raw)
            received = b""
            while chunk := connection.recv(65536):
                received += chunk
            return received

    def ask(self, method: str, path: str, headers: dict[str, str] | None = None, body: bytes | None = None) -> "Answer":
        """One request, its body read."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        connection.putrequest(method, path, skip_host="Host" in (headers or {}), skip_accept_encoding=True)
        for name, value in ((headers or {}) | ({"Content-Length": str(len(body))} if body is not None else {})).items():
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        answer = Answer(response.status, response.headers, response.read())
        connection.close()
        return answer


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    """A running gateway that the tests of a module share."""
    with tempfile.TemporaryDirectory() as folder:
        running = Gateway(Path(folder))
        running.start()
        yield running
        running.stop()
