"""The site that the agent is sent to. It alone knows whether somebody got through: it checks every step itself."""

import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl

PAGES = Path(__file__).with_name("pages")


class Visit(Protocol):
    """One visitor's state; `done` once that visitor has what it came for."""

    done: bool

    def page(self, cookie: str) -> str:
        """The page as it is now, for a browser with that cookie."""

    def ask(self, verb: str, body: Any) -> dict[str, Any]:
        """Answer the page's script; raises KeyError, TypeError or ValueError for what it never asks."""

    def picture(self, name: str) -> bytes:
        """A PNG picture; raises KeyError."""

    def submit(self, form: dict[str, str]) -> str | None:
        """Take a form, and give the cookie that the browser is to have from now on."""


class Site:
    """Serves visits by their tokens."""

    def __init__(self, host: str, port: int) -> None:
        self.base_url = f"http://{host}:{port}"
        self._visits: dict[str, Visit] = {}

    def open(self, visit: Visit) -> str:
        """Let a visitor in, and give the address."""
        token = secrets.token_hex(8)
        self._visits[token] = visit
        return f"{self.base_url}/{token}"

    def visit(self, token: str) -> Visit:
        """Who has that token; raises KeyError."""
        return self._visits[token]


class _Requests(BaseHTTPRequestHandler):
    site: Site

    def do_GET(self) -> None:
        """Give a page or a picture."""
        token, _, name = self.path.partition("?")[0].strip("/").partition("/")
        with suppress(ConnectionError):  # the browser has gone on meanwhile
            self._show(token, name)

    def _show(self, token: str, name: str) -> None:
        try:
            visit = self.site.visit(token)
            if name:
                self._answer(visit.picture(name.removesuffix(".png")), "image/png")
            else:
                self._answer(visit.page(self.headers.get("Cookie", "")).encode(), "text/html; charset=utf-8")
        except KeyError:
            self.send_error(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        """Take a form, or a question of the page's script."""
        token, _, verb = self.path.strip("/").partition("/")
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        try:
            visit = self.site.visit(token)
            if verb:
                self._answer(json.dumps(visit.ask(verb, json.loads(body))).encode(), "application/json")
            else:
                self._go_on(visit.submit(_form(body)))
        except (KeyError, TypeError, ValueError):
            self.send_error(HTTPStatus.BAD_REQUEST)

    def _answer(self, content: bytes, kind: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def _go_on(self, cookie: str | None) -> None:
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", self.path)
        if cookie:
            self.send_header("Set-Cookie", f"{cookie}; HttpOnly")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def _form(body: bytes) -> dict[str, str]:
    return dict(parse_qsl(body.decode()))


@contextmanager
def serving(host: str) -> Iterator[Site]:
    """Serve on a free port of every interface; `host` is the name by which the agent's browser reaches this one."""

    class Requests(_Requests):
        pass

    with ThreadingHTTPServer(("", 0), Requests) as server:
        Requests.site = Site(host, server.server_port)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield Requests.site
        finally:
            server.shutdown()
            thread.join()
