"""A model that is a script: a server that takes each request for the next turn, and answers in the form of some vendor."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.patience import PATIENCE_SECONDS

Answer = Callable[[dict[str, Any]], dict[str, Any]]
"""Takes a request's JSON, and returns the answer's."""


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        answer: Answer = self.server.answer  # type: ignore[attr-defined] # ours
        body = json.dumps(answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@contextmanager
def answering(answer: Answer, left: list[Any]) -> Iterator[str]:
    """The address of a server that answers so, while `left` are the turns that are not taken yet: all have to be."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.daemon_threads = True
        server.answer = answer  # type: ignore[attr-defined] # the handler takes it
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
            assert not left, f"{len(left)} turns were not taken"
        finally:
            server.shutdown()
            thread.join(PATIENCE_SECONDS)
