"""The two programs as they run in the container, an upstream that demands credentials, and a site."""

import base64
import os
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sandbox_server.drivers.proxy import configuration as module
from tests.patience import PATIENCE_SECONDS, until

CREDENTIALS = b"Basic " + base64.b64encode(b"us@er:p:ss@word")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


class _Site(BaseHTTPRequestHandler):
    """Says what it was asked for."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = f"{self.server.name}: {self.path} for {self.headers['Host']}".encode()  # type: ignore[attr-defined] # ours
        if self.headers["Proxy-Authorization"]:
            body = b"it was given the credentials"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


class _Upstream(_Site):
    """A proxy that demands credentials, and answers for every site."""

    def do_GET(self) -> None:
        if self._admits():
            del self.headers["Proxy-Authorization"]
            super().do_GET()

    def do_CONNECT(self) -> None:
        if not self._admits():
            return
        self.send_response(200)
        self.end_headers()
        request = self.rfile.readline()
        self.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nthrough a tunnel to " + self.path.encode() + b": " + request.strip())
        self.close_connection = True

    def _admits(self) -> bool:
        if self.headers["Proxy-Authorization"] == CREDENTIALS.decode():
            return True
        self.send_response(407)
        self.send_header("Proxy-Authenticate", "Basic realm=x")
        self.send_header("Content-Length", "0")
        self.end_headers()
        return False


def _serving(handler: type[BaseHTTPRequestHandler], name: str) -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        server.name = name  # type: ignore[attr-defined] # the handler tells it
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join(PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def site() -> Iterator[int]:
    yield from _serving(_Site, "site")


@pytest.fixture(scope="module")
def upstream() -> Iterator[int]:
    yield from _serving(_Upstream, "upstream")


@pytest.fixture(scope="module")
def ports() -> Iterator[None]:
    """Ports that are free here, in the place of those of the container."""
    patch = pytest.MonkeyPatch()
    for name in ("DIRECT_PORT", "MAPPED_PORT"):
        patch.setattr(module, name, free_port())
    patch.setattr(module, "_DIRECT", module._DIRECT.replace("18118", str(module.DIRECT_PORT)))
    yield
    patch.undo()


@pytest.fixture(scope="module")
def direct(ports: None) -> Iterator[None]:
    """A running tinyproxy."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        theirs = (Path(module.__file__).with_name("tinyproxy.conf")).read_text()
        file.write(theirs.replace("18118", str(module.DIRECT_PORT)))
        file.flush()
        with subprocess.Popen(["tinyproxy", "-d", "-c", file.name]) as program:
            until(lambda: _listens(module.DIRECT_PORT))
            yield
            program.terminate()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Program:
    """HAProxy as the supervisor runs it: it waits for a configuration, and is started again when it ends."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        os.mkfifo(f"{folder}/start")
        text = (Path(module.__file__).parents[3] / "supervisord/components/proxy.conf").read_text()
        line = next(line for line in text.splitlines() if line.startswith("command = "))
        self._script = line.partition("-c '")[2].rstrip("'").replace("/run/sandbox-proxy", folder)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(["/bin/sh", "-c", self._script], start_new_session=True)

    def stop(self, number: int = 15) -> None:
        if self._process:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            self._process.wait(PATIENCE_SECONDS)
            self._process = None


@pytest.fixture
def program(direct: None) -> Iterator[Program]:
    """One that has been started, and waits."""
    with tempfile.TemporaryDirectory() as folder:
        made = Program(folder)
        made.start()
        yield made
        made.stop()
