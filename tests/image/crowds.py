"""Takers of what is bounded: each takes as much of one thing as the agent can get, by its token or as root in the box, and holds it."""

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from tests.image.container import Sandbox

IDLE = """
import socket, sys, time, os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
kept, ends = [], time.monotonic() + float(sys.argv[3])
open_ = lambda: socket.create_connection((sys.argv[1], 8080), 5)
while time.monotonic() < ends:
    try:
        while len(kept) < int(sys.argv[2]):
            one = open_(); one.setblocking(False); one.send(b"GET / HTTP/1.1\\r\\nHost: x\\r\\nX-Slow: "); kept.append(one)
    except OSError:
        pass
    alive = []
    for one in kept:
        try:
            if one.recv(1): alive.append(one)
        except BlockingIOError: alive.append(one)
        except OSError: pass
    kept = alive
    print(len(kept), flush=True)
    time.sleep(0.2)
"""
"""Holds connections to a host, each with half a request; those that are closed are opened anew. Arguments: host, count, seconds."""


@dataclass(frozen=True)
class Agent:
    """What the agent has: its token, and a shell in the box."""

    sandbox: Sandbox
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def post(self, path: str, body: object, timeout: float = 30.0) -> httpx.Response:
        return self.sandbox.http.post(f"{self.sandbox.base_url}{path}", headers=self.headers, json=body, timeout=timeout)

    def starts(self, command: str) -> None:
        """Run a command in the background in the box."""
        answer = self.post("/v1/bash/exec", {"command": command, "async_mode": True})
        assert answer.status_code == 200, answer.text

    def socket(self, path: str, subprotocol: str | None = None) -> object:
        return connect(f"{self.sandbox.base_url.replace('http', 'ws')}{path}", additional_headers=self.headers, proxy=None, max_size=None)


@contextmanager
def tickets(agent: Agent) -> Iterator[None]:
    """Every ticket that it can get."""
    with httpx.Client(base_url=agent.sandbox.base_url, headers=agent.headers, trust_env=False, timeout=30) as client:
        made = 0
        while client.post("/tickets", json={"ttl": 600, "uses": 100}).status_code == 200:
            made += 1
        assert made
        yield


def sockets(path: str, most: int) -> Callable[[Agent], object]:
    """Every place at a socket: those that are refused are refused at once, or closed again."""

    @contextmanager
    def hold(agent: Agent) -> Iterator[None]:
        with ExitStack() as stack:
            opened = 0
            with suppress(WebSocketException, OSError):
                while opened < most:
                    stack.enter_context(agent.socket(path))  # type: ignore[arg-type]
                    opened += 1
            assert opened
            yield

    return hold


@contextmanager
def mcp_sessions(agent: Agent) -> Iterator[None]:
    """A thousand sessions."""
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
    }
    headers = agent.headers | {"Accept": "application/json, text/event-stream"}
    with httpx.Client(base_url=agent.sandbox.base_url, headers=headers, trust_env=False, timeout=30) as client:
        for _ in range(1000):
            client.post("/mcp", json=body)
        yield


@contextmanager
def followers(agent: Agent) -> Iterator[None]:
    """Every place of a follower of events."""
    with ExitStack() as stack:
        limits = httpx.Limits(max_connections=600)
        client = stack.enter_context(httpx.Client(base_url=agent.sandbox.base_url, headers=agent.headers, trust_env=False, limits=limits))
        followed = 0
        while stack.enter_context(client.stream("GET", "/v1/control/events", timeout=30)).status_code == 200:
            followed += 1
            assert followed < 600
        yield


@contextmanager
def bodies(agent: Agent) -> Iterator[None]:
    """Bodies that are as large as may be, at once and again."""
    over = threading.Event()
    body = b'{"file":"/dev/null","content":"' + b"x" * (100 << 20) + b'"}'

    def send() -> None:
        with httpx.Client(base_url=agent.sandbox.base_url, headers=agent.headers, trust_env=False, timeout=60) as client:
            while not over.is_set():
                with suppress(httpx.HTTPError):
                    client.post("/v1/file/write", content=body, headers={"Content-Type": "application/json"})

    with _threads(send, 6):
        try:
            yield
        finally:
            over.set()


@contextmanager
def calls(agent: Agent) -> Iterator[None]:
    """Calls that last, as many as it gets."""
    address = urlsplit(agent.sandbox.base_url)
    fields = "".join(f"{name}: {value}\r\n" for name, value in agent.headers.items())
    call = f"GET /v1/ports/65000/wait?timeout=50 HTTP/1.1\r\nHost: {address.netloc}\r\n{fields}\r\n".encode()
    with ExitStack() as opened:
        for _ in range(850):
            with suppress(OSError):  # the gateway takes no more
                opened.enter_context(socket.create_connection((address.hostname, address.port), 30)).sendall(call)
        yield


def in_the_box(command: str) -> Callable[[Agent], object]:
    """What a command does there, as root."""

    @contextmanager
    def hold(agent: Agent) -> Iterator[None]:
        agent.starts(command)
        yield

    return hold


@contextmanager
def connections(agent: Agent) -> Iterator[None]:
    """More connections than the gateway takes, from inside the box to both of its addresses."""
    agent.post("/v1/file/write", {"file": "/tmp/idle.py", "content": IDLE}).raise_for_status()
    for host in ("127.0.0.1", "$(hostname -i)"):
        agent.starts(f"sudo prlimit --nofile=20000 python3 /tmp/idle.py {host} 5000 20")
    yield


@contextmanager
def _threads(work: Callable[[], None], count: int) -> Iterator[None]:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for each in threads:
        each.start()
    try:
        yield
    finally:
        for each in threads:
            each.join(90)


CROWDS: Mapping[str, Callable[[Agent], object]] = {
    "tickets": tickets,
    "places of the stream": sockets("/stream/socket", 30),
    "places of VNC": sockets("/websockify", 60),
    "terminal sockets": sockets("/v1/shell/ws", 400),
    "MCP sessions": mcp_sessions,
    "event followers": followers,
    "calls": calls,
    "memory for bodies": bodies,
    "connections from inside": connections,
    "the disk": in_the_box("cat /dev/zero > ~/full; sleep 15"),
    "processes": in_the_box("bomb() { bomb | bomb & }; bomb; sleep 15"),
    "what starts processes": in_the_box("while :; do for n in $(seq 50); do sandbox bash exec --command true & done; wait; done"),
}
