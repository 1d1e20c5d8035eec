"""A server of one file that does what a test wants: cuts connections, redirects, hangs, changes the file meanwhile."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class DownloadServer:
    """The file, and how it is served."""

    content: bytes = b""
    cut_after: int = 0
    """Bytes of content after which each connection is cut; 0: never."""
    cuts: int = 1 << 30
    """How many connections are cut."""
    then: bytes | None = None
    """What the file is after the first request."""
    status: int = 200
    failures: int = 1 << 30
    """How many requests get `status`, if that is not 200."""
    location: str = ""
    hangs: bool = False
    trickles: bool = False
    """Whether a byte comes at a time, without an end."""
    ranges: bool = True
    lies: bool = False
    """Whether a range is answered with that of another file."""
    port: int = 0
    asked: list[dict[str, str]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def url(self, host: str = "127.0.0.1") -> str:
        """Where it is, without a digest."""
        return f"http://{host}:{self.port}/archive?signature=hidden-from-logs"

    def source(self, host: str = "127.0.0.1", digest: str = "") -> str:
        """The value of SANDBOX_RESTORE."""
        return f"{self.url(host)}#sha256={digest or hashlib.sha256(self.content).hexdigest()}"


@contextmanager
def serving(server: DownloadServer) -> Iterator[DownloadServer]:
    """Serve it on a port of all addresses."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            answer(server, self)

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    listening = ThreadingHTTPServer(("0.0.0.0", 0), Handler)
    listening.daemon_threads = True
    server.port = listening.server_port
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        listening.shutdown()
        thread.join()
        listening.server_close()


def answer(server: DownloadServer, request: BaseHTTPRequestHandler) -> None:
    """Answer one request."""
    request.close_connection = True
    server.asked.append({name.lower(): value for name, value in request.headers.items()})
    if server.hangs:
        server.over.wait(60)
        return
    if server.status != 200 and server.failures > 0:
        server.failures -= 1
        request.send_response(server.status)
        if server.location:
            request.send_header("Location", server.location)
        request.send_header("Content-Length", "0")
        request.end_headers()
        return
    send(server, request)
    if server.then is not None:
        server.content, server.then = server.then, None


def send(server: DownloadServer, request: BaseHTTPRequestHandler) -> None:
    """Send the file, or the range of it that is asked for."""
    content, tag = server.content, f'"{hashlib.sha256(server.content).hexdigest()[:16]}"'
    asked, start = request.headers.get("Range", ""), 0
    if server.ranges and asked and (request.headers.get("If-Range") == tag or server.lies):
        start = int(asked.removeprefix("bytes=").partition("-")[0])
        request.send_response(206)
        request.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content) + (7 if server.lies else 0)}")
    else:
        request.send_response(200)
    request.send_header("Content-Length", str(len(content) - start))
    if server.ranges:
        request.send_header("ETag", tag)
    request.end_headers()
    rest = content[start:]
    if server.cut_after and server.cuts > 0 and len(rest) > server.cut_after:
        server.cuts -= 1
        rest = rest[: server.cut_after]
    while server.trickles and not server.over.wait(0.01):
        request.wfile.write(b"x")
    request.wfile.write(rest)
