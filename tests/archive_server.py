"""A server of one archive by GET and PUT, with the tags and conditions of RFC 9110: a thread of its own."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

TOKEN = "token-of-the-archive-0123456789"


@dataclass
class Archive:
    """What the server has, and what it was asked."""

    port: int = 0
    content: bytes | None = None
    obeys: bool = True
    """Whether it keeps to conditions."""
    tells: bool = True
    """Whether it tells tags."""
    answers: int = 0
    """The status that it answers everything with; 0 for none."""
    asked: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        """Where it is on this machine."""
        return f"http://127.0.0.1:{self.port}/kept/notes.tar.gz"

    @property
    def tag(self) -> str:
        """Of what it has."""
        return f'"{hashlib.sha256(self.content).hexdigest()}"' if self.content is not None else ""

    def refuses(self, given: str | None, unless: str | None) -> bool:
        """Whether a condition does not hold."""
        return self.obeys and ((given is not None and given != self.tag) or (unless == "*" and self.content is not None))


def _handler(archive: Archive) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self, status: int, content: bytes = b"") -> None:
            self.send_response(status)
            if archive.tells and archive.content is not None:
                self.send_header("ETag", archive.tag)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            archive.asked.append("GET")
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                self._answer(401)
            elif archive.answers:
                self._answer(archive.answers)
            elif archive.content is None:
                self._answer(404)
            elif self.headers.get("If-None-Match") == archive.tag:
                self._answer(304)
            else:
                self._answer(200, archive.content)

        def do_PUT(self) -> None:
            archive.asked.append("PUT")
            content = self.rfile.read(int(self.headers["Content-Length"]))
            if archive.answers:
                self._answer(archive.answers)
            elif archive.refuses(self.headers.get("If-Match"), self.headers.get("If-None-Match")):
                self._answer(412)
            else:
                archive.content = content
                self._answer(204)

        def log_request(self, *_: object) -> None:
            """Nothing."""

    return Handler


@contextmanager
def archive_server() -> Iterator[Archive]:
    """Run it on every address, with no archive yet."""
    archive = Archive()
    with ThreadingHTTPServer(("0.0.0.0", 0), _handler(archive)) as server:
        archive.port = server.server_address[1]
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield archive
        finally:
            server.shutdown()
            thread.join()
