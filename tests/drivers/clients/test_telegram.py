"""Calls of a bot, as a real HTTP server gets them."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sandbox_server.core import Unavailable
from sandbox_server.drivers.clients import json_calls
from sandbox_server.drivers.clients.telegram import TelegramBot
from sandbox_server.drivers.clients.webhook import DeliveryResult
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.anyio
TOKEN = "123456:s3cret"
ANSWERS = {
    "getMe": b'{"ok": true, "result": {"id": 123456}}',
    "refused": b'{"ok": false, "description": "Unauthorized: 123456:s3cret"}',
    "html": b"<html>",
    "list": b"[1]",
    "long": b'{"ok": true, "result": "' + b"x" * 5000 + b'"}',
}
seen: list[tuple[str, object]] = []


class Server(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        seen.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
        answer = ANSWERS[self.path.rpartition("/")[2]]
        self.send_response(401 if b"Unauthorized" in answer else 200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{made.server_port}/"
        made.shutdown()
        thread.join(PATIENCE_SECONDS)


async def test_a_method_is_called_with_its_arguments(server: str) -> None:
    assert await TelegramBot(server, TOKEN).call("getMe", chat_id=7) == {"id": 123456}
    assert seen[-1] == (f"/bot{TOKEN}/getMe", {"chat_id": 7})


@pytest.mark.parametrize("method", ["refused", "html", "list", "long"])
async def test_any_other_answer_is_a_reason_without_the_token(server: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_calls, "MAX_ANSWER", 4000)
    with pytest.raises(Unavailable) as failed:
        await TelegramBot(server, TOKEN).call(method)
    assert "s3cret" not in failed.value.message


async def test_a_delivery_tells_how_it_went(server: str) -> None:
    bot = TelegramBot(server, TOKEN)
    assert await bot.deliver("getMe") == (DeliveryResult(200, None), {"id": 123456})
    assert await bot.deliver("refused") == (DeliveryResult(401, "Unauthorized: ***"), None)
    assert await bot.deliver("list") == (DeliveryResult(None, "it answered 200"), None)
    result, answer = await TelegramBot("http://127.0.0.1:9", TOKEN).deliver("getMe")
    assert (result.status, answer) == (None, None)


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "http://nowhere.invalid", "http://[::"])
async def test_a_server_that_does_not_answer_is_a_reason_without_the_token(address: str) -> None:
    with pytest.raises(Unavailable) as failed:
        await TelegramBot(address, TOKEN).call("getMe")
    assert "s3cret" not in failed.value.message


@pytest.mark.parametrize(("token", "number"), [(TOKEN, 123456), ("word:x", 0), ("", 0), ("9" * 40, 0)])
def test_a_token_begins_with_the_bots_number(token: str, number: int) -> None:
    assert TelegramBot("http://here", token).id == number
