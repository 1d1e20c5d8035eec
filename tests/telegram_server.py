"""A stand-in of Telegram for tests: the part of the Bot API that a bot with buttons uses."""

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BOT = 99
TOKEN = f"{BOT}:s3cret"
CHAT = 42
POLL_SECONDS = 2.0


class TelegramServer(ThreadingHTTPServer):
    """What the bot has said, and what comes to it next."""

    def __init__(self) -> None:
        super().__init__(("0.0.0.0", 0), Handler)
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.updates: queue.Queue[dict[str, Any]] = queue.Queue()
        self.number = 0

    def said(self, method: str) -> list[dict[str, Any]]:
        """The bodies of a method's calls."""
        return [body for name, body in self.calls if name == method]

    @property
    def told(self) -> list[dict[str, Any]]:
        """The messages that were posted."""
        return self.said("sendMessage")

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve on a free port of every address while the context is open."""
        with self:
            threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
            yield
            self.shutdown()

    def arrive(self, update: dict[str, Any]) -> None:
        """Have an update come."""
        self.number += 1
        self.updates.put({"update_id": self.number, **update})

    def press(self, shown: dict[str, Any], label: str, user: int) -> None:
        """A user presses a button of a message."""
        [data] = [each["callback_data"] for row in shown["reply_markup"]["inline_keyboard"] for each in row if each["text"] == label]
        message = {"message_id": 1, "chat": {"id": CHAT}, "text": shown["text"]}
        self.arrive({"callback_query": {"id": "q", "from": {"id": user}, "data": data, "message": message}})

    def reply(self, shown: dict[str, Any], text: str, user: int) -> None:
        """A user replies to a message."""
        asked = {"from": {"id": BOT}, "text": shown["text"]}
        self.arrive({"message": {"message_id": 2, "chat": {"id": CHAT}, "from": {"id": user}, "text": text, "reply_to_message": asked}})


class Handler(BaseHTTPRequestHandler):
    server: TelegramServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method = self.path.rpartition("/")[2]
        result: object = {"message_id": 1, "chat": {"id": CHAT}}
        if method == "getUpdates":
            try:
                result = [self.server.updates.get(timeout=POLL_SECONDS)]
            except queue.Empty:
                result = []
        else:
            self.server.calls.append((method, body))
        answer = json.dumps({"ok": self.path.startswith(f"/bot{TOKEN}/"), "result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_request(self, *_: object) -> None:
        """Stay quiet."""
