"""A shop with an order form, a sign-in and a confirmation."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PAGES = Path(__file__).with_name("pages")


class _Requests(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Give a page."""
        page = PAGES / f"{self.path.partition('?')[0].strip('/') or 'order'}.html"
        if not page.is_file():
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        content = (PAGES / "style.html").read_bytes() + page.read_bytes()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        """Take a form, and go on to the page that it leads to."""
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", self.path)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving() -> Iterator[None]:
    """Serve on port 80 of every interface."""
    with ThreadingHTTPServer(("", 80), _Requests) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
