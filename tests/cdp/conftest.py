"""A display, a spawner and the process that owns the browser, all real."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, unix_connect

from tests.fork_server import ForkedProcess, ForkServer
from tests.patience import PATIENCE_SECONDS, until

# What the processes that own a browser are forked from.
_forks = ForkServer("tests.cdp.browser_server")
SCOPES = {"X-Sandbox-Caller": "test", "X-Sandbox-Scopes": "browser"}
_RELAY = """
import asyncio, sys

async def carry(reader, writer):
    try:
        while chunk := await reader.read(1 << 18):
            writer.write(chunk)
            await writer.drain()
    except OSError:
        pass
    writer.close()

async def meet(reader, writer):
    inner_reader, inner_writer = await asyncio.open_unix_connection(sys.argv[1])
    await asyncio.gather(carry(reader, inner_writer), carry(inner_reader, writer))

async def main():
    server = await asyncio.start_server(meet, "127.0.0.1")
    print(*server.sockets[0].getsockname(), sep=":", flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


@pytest.fixture(scope="session")
def display() -> Iterator[str]:
    """An X display of its own."""
    if shutil.which("Xvfb") is None or not os.path.exists("/usr/lib/chromium/chromium"):
        pytest.skip("Chromium and Xvfb are not installed here")
    readable, writable = os.pipe()
    argv = ["Xvfb", "-displayfd", str(writable), "-screen", "0", "1280x1024x24", "-nolisten", "tcp", "-nolisten", "local"]  # as the image's
    server = subprocess.Popen(argv, pass_fds=[writable], stderr=subprocess.DEVNULL)
    os.close(writable)
    with open(readable, encoding="ascii") as told:
        number = told.readline().strip()
    yield f":{number}"
    server.terminate()
    server.wait(PATIENCE_SECONDS)


class Session:
    """A DevTools client: one command at a time, events kept until they are asked for."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.events: list[dict[str, Any]] = []
        self.patience = 60.0
        """Seconds that each message may take."""
        self._last = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, method: str, session: str | None = None, **params: Any) -> int:
        """Send a command without waiting for its reply."""
        self._last += 1
        address = {"sessionId": session} if session else {}
        self.socket.send(json.dumps({"id": self._last, "method": method, "params": params, **address}))
        return self._last

    def command(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Send a command and return its reply, result or error."""
        return self.reply(self.send(method, session, **params))

    def reply(self, number: int) -> dict[str, Any]:
        """The reply to a command that was sent before; replies to others that come first are kept as events are."""
        while (message := self.receive()).get("id") != number:
            self.events.append(message)
        return message

    def result(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Send a command that must succeed and return its result."""
        reply = self.command(method, session, **params)
        assert "result" in reply, reply
        result: dict[str, Any] = reply["result"]
        return result

    def receive(self) -> dict[str, Any]:
        """The next message."""
        message: dict[str, Any] = json.loads(self.socket.recv(self.patience))
        return message

    def event(self, method: str) -> dict[str, Any]:
        """The parameters of the next event of that name, which may have arrived already."""
        for index, message in enumerate(self.events):
            if message.get("method") == method:
                return dict(self.events.pop(index)["params"])
        while (message := self.receive()).get("method") != method:
            self.events.append(message)
        return dict(message["params"])

    def until_closed(self) -> tuple[int, str]:
        """Read until the other side closes, and return the code and the reason that it gave."""
        with pytest.raises(ConnectionClosed) as closed:
            self.event("never")
        return (closed.value.rcvd.code, closed.value.rcvd.reason) if closed.value.rcvd else (1006, "")

    def evaluate(self, expression: str, session: str | None = None) -> Any:
        """The value of an expression in the page."""
        return self.result("Runtime.evaluate", session, expression=expression, returnByValue=True, awaitPromise=True)["result"].get("value")

    def seen(self, expression: str, session: str | None = None) -> Any:
        """The value of an expression in a page that may be on its way elsewhere; None while it answers with an error for that."""
        reply = self.command("Runtime.evaluate", session, expression=expression, returnByValue=True)
        return reply.get("result", {}).get("result", {}).get("value")

    def attach(self, target: str) -> str:
        """Attach to a target and return the session."""
        return str(self.result("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])

    def pages(self) -> list[dict[str, Any]]:
        """The tabs."""
        return [info for info in self.result("Target.getTargets")["targetInfos"] if info["type"] == "page"]


class BrowserServer:
    """The process that owns the browser, with a spawner, in a folder of its own."""

    def __init__(self, folder: Path, display: str, spawner: Any, settings: dict[str, Any]) -> None:
        self.folder = folder
        self.spawner = spawner
        self.home = folder / "desktop"
        self.home.mkdir()
        (self.home / "downloads").mkdir()
        self.profiles = folder / "profiles"
        self.profiles.mkdir()
        for place in (self.home, self.home / "downloads", self.profiles):
            shutil.chown(place, "desktop", "desktop")
        self.paths = {
            "run": str(folder),
            "desktop": str(self.home),
            "profiles": str(self.profiles),
            "devtools_protocol": str(folder / "protocol.json"),
            "browser_policies": f"/etc/chromium/policies/managed/{folder.name}.json",
        }
        os.makedirs("/etc/chromium/policies/managed", exist_ok=True)
        self.settings = {"executable": "/usr/lib/chromium/chromium", **settings}
        self._display = display
        self._process: ForkedProcess | None = None

    @property
    def socket(self) -> str:
        return str(self.folder / "cdp.sock")

    @property
    def profile(self) -> Path:
        return self.home / "chromium"

    def start(self, **patience: float) -> None:
        """Start the process; the browser follows by itself. `patience` replaces its timeouts.

        Clients wait for a browser that starts as long as the tests do: a busy machine needs longer than the product has them wait.
        """
        arguments = json.dumps([self.paths, self._display, self.settings, {"START_TIMEOUT": PATIENCE_SECONDS} | patience])
        self._process = _forks.start("tests.cdp.browser_server:main", [arguments], environment={"PATH": os.environ["PATH"]})

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End the process with a signal and wait for it."""
        if self._process:
            self._process.send_signal(number)
            self._process.wait()
            self._process = None

    def request(self, method: str, path: str, headers: dict[str, str] | None = None, **options: Any) -> httpx.Response:
        """A request over the component's socket, as the gateway makes it."""
        with httpx.Client(
            transport=httpx.HTTPTransport(uds=self.socket), base_url="http://sandbox.example:8080", timeout=PATIENCE_SECONDS
        ) as client:
            return client.request(method, path, headers=SCOPES if headers is None else headers, **options)

    def get(self, path: str) -> Any:
        """The JSON of a GET that must succeed."""
        response = self.request("GET", path)
        assert response.status_code == 200, response.text
        return response.json()

    def connect(self, path: str = "/devtools/browser/any", headers: dict[str, str] | None = None) -> Session:
        """A client of the browser, or of what the path names."""
        headers = SCOPES if headers is None else headers
        uri = f"ws://sandbox.example{path}"
        opened = unix_connect(self.socket, uri, additional_headers=headers, max_size=None, compression=None, legacy=True, open_timeout=120)
        return Session(opened)

    @property
    def pid(self) -> int | None:
        """Chromium's pid while it runs."""
        pid: int | None = self.get("/browser")["pid"]
        return pid

    def listens(self) -> bool:
        """Whether the process takes connections; fail when it has ended by itself."""
        assert not self._process or self._process.runs, "the process that owns the browser has ended"
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(self.socket) == 0

    def answers(self) -> bool:
        """Whether the browser can be reached now."""
        return self.listens() and self.request("GET", "/json/version").status_code == 200


type MakeBrowserServer = Callable[..., BrowserServer]


@contextmanager
def _browser_server(display: str, spawner_type: type[Any], settings: dict[str, Any]) -> Iterator[BrowserServer]:
    with tempfile.TemporaryDirectory() as name:  # not pytest's, which the desktop user may not enter
        folder = Path(name)
        folder.chmod(0o755)
        spawner = spawner_type(folder)
        spawner.start("--desktop", "desktop")
        browser_server = BrowserServer(folder, display, spawner, settings)
        try:
            yield browser_server
        finally:
            browser_server.stop()
            spawner.stop()
            Path(browser_server.paths["browser_policies"]).unlink(missing_ok=True)


@pytest.fixture
def make_browser_server(display: str, spawner_type: type[Any]) -> Iterator[MakeBrowserServer]:
    """Make browser servers that are not started yet, with settings of the browser and, where it is given, another display."""
    with ExitStack() as stack:
        yield lambda shown=display, **settings: stack.enter_context(_browser_server(shown, spawner_type, settings))


@pytest.fixture(scope="module")
def shared(request: pytest.FixtureRequest, display: str, spawner_type: type[Any]) -> Iterator[BrowserServer]:
    """One running browser for the tests of a module, which leave it as they found it. Its `BROWSER_TIMES` replace the product's."""
    with _browser_server(display, spawner_type, {}) as browser_server:
        browser_server.start(**getattr(request.module, "BROWSER_TIMES", {}))
        until(browser_server.answers)
        yield browser_server


@pytest.fixture(scope="module")
def relay() -> Iterator[Callable[[str], str]]:
    """Make a socket reachable over TCP, for clients that know nothing else; the result is host and port."""
    with ExitStack() as stack:

        def open_relay(path: str) -> str:
            relay = stack.enter_context(subprocess.Popen([sys.executable, "-c", _RELAY, path], stdout=subprocess.PIPE, text=True))
            stack.callback(relay.terminate)
            assert relay.stdout
            return relay.stdout.readline().strip()

        yield open_relay


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<!doctype html><title>Hello</title><button>Press me</button>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of a site of one page: the title Hello, and a button."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join(PATIENCE_SECONDS)
