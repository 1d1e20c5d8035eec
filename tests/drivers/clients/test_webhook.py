"""A message posted to an address."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sandbox_server.drivers.clients.webhook import post
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio

seen: list[tuple[str, bytes, str | None]] = []


class Hook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        seen.append((self.path, self.rfile.read(int(self.headers["Content-Length"])), self.headers.get("X-Mark")))
        self.send_response({"/ok": 200, "/moved": 302}.get(self.path, 500))
        self.send_header("Location", "/ok")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@pytest.fixture
def hook() -> Iterator[str]:
    seen.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Hook) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(PATIENCE_SECONDS)


async def test_a_webhook_is_posted_with_its_headers(hook: str) -> None:
    answer = await post(f"{hook}/ok", b"body", {"X-Mark": "m"})
    assert (answer.status, answer.error) == (200, None)
    assert seen == [("/ok", b"body", "m")]


@pytest.mark.parametrize(("path", "status"), [("/moved", 302), ("/broken", 500)])
async def test_a_refusal_is_told_and_a_redirect_not_followed(hook: str, path: str, status: int) -> None:
    answer = await post(f"{hook}{path}", b"", {})
    assert answer.status == status
    assert answer.error
    assert len(seen) == 1


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/x", "http://[::", "nonsense"])
async def test_what_cannot_be_reached_is_no_exception(url: str) -> None:
    answer = await post(url, b"", {})
    assert answer.status is None
    assert answer.error
