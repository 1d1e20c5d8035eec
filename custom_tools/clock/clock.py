"""A service of an image's own: tells the time, once or every second, to whoever the gateway lets in."""

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = 9100
PERIOD_SECONDS = 1.0


class Clock(BaseHTTPRequestHandler):
    """`GET /` answers once, `GET /ticks` sends an event every second until the client goes."""

    def do_GET(self) -> None:
        """Answer."""
        if self.path == "/":
            self._once()
        elif self.path == "/ticks":
            self._ticks()
        else:
            self.send_error(404)

    def _now(self) -> bytes:
        return json.dumps({"time": time.time(), "caller": self.headers["X-Sandbox-Caller"]}).encode()

    def _once(self) -> None:
        body = self._now()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _ticks(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"data: " + self._now() + b"\n\n")
                time.sleep(PERIOD_SECONDS)
        except ConnectionError:
            return


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", PORT), Clock).serve_forever()
