"""A stand-in of Slack for tests: the Web API's methods that an app with buttons uses, and Socket Mode."""

import itertools
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from tests.chat_service import ChatService

BOT_TOKEN, APP_TOKEN, TICKET = "xoxb-s3cret-bot", "xapp-s3cret-app", "s3cret-ticket"
CHANNEL = "C012AB3CD"


class SlackServer(ChatService):
    """One workspace with one channel."""

    def __init__(self) -> None:
        super().__init__()
        self.acknowledged: dict[str, dict[str, Any]] = {}
        self.opened = 0
        self._numbers = itertools.count(1)

    def routes(self) -> list[BaseRoute]:
        return [Route("/api/{method}", self._call, methods=["POST"]), WebSocketRoute("/link", self._socket)]

    @property
    def told(self) -> list[dict[str, Any]]:
        return [body for method, body in self.calls if method == "chat.postMessage"]

    def said(self, method: str) -> list[dict[str, Any]]:
        """The bodies of a method's calls."""
        return [body for name, body in self.calls if name == method]

    async def _call(self, request: Request) -> Response:
        method, body = request.path_params["method"], await request.json()
        token = APP_TOKEN if method == "apps.connections.open" else BOT_TOKEN
        if request.headers.get("authorization") != f"Bearer {token}":
            return JSONResponse({"ok": False, "error": "invalid_auth"})
        self.check(request.headers["content-type"].startswith("application/json"), f"{method}: not JSON")
        self.calls.append((method, body))
        if method == "apps.connections.open":
            return JSONResponse({"ok": True, "url": f"ws://{request.headers['host']}/link?ticket={TICKET}&app_id=A1"})
        if body.get("channel", CHANNEL) != CHANNEL:
            return JSONResponse({"ok": False, "error": "channel_not_found"})
        self._check_body(method, body)
        return JSONResponse({"ok": True, "channel": CHANNEL, "ts": f"1503435956.{next(self._numbers):06}"})

    def _check_body(self, method: str, body: dict[str, Any]) -> None:
        if method == "views.open":
            view = body["view"]
            self.check(body["trigger_id"] == "trigger" and view["type"] == "modal", "views.open: not a modal by a trigger")
            self.check(len(view["title"]["text"]) <= 24 and len(view["private_metadata"]) <= 3000, "views.open: too long")
            self._check_blocks(view["blocks"])
        elif method in ("chat.postMessage", "chat.update"):
            self._check_blocks(body["blocks"])
            self.check(method == "chat.postMessage" or "ts" in body, "chat.update: no ts")
        else:
            self.check(method == "chat.postEphemeral" and body["user"] and body["text"], f"{method}: not expected")

    def _check_blocks(self, blocks: list[dict[str, Any]]) -> None:
        self.check(0 < len(blocks) <= 50, "blocks: too many")
        for block in blocks:
            match block["type"]:
                case "header":
                    self.check(block["text"]["type"] == "plain_text" and 0 < len(block["text"]["text"]) <= 150, "header")
                case "section":
                    self.check(block["text"]["type"] == "plain_text" and 0 < len(block["text"]["text"]) <= 3000, "section")
                case "context":
                    self.check(0 < len(block["elements"]) <= 10, "context")
                case "input":
                    self.check(len(block["label"]["text"]) <= 2000 and block["element"]["max_length"] <= 3000, "input")
                case "actions":
                    self._check_buttons(block["elements"])
                case other:
                    self.wrong.append(f"no such block: {other}")

    def _check_buttons(self, buttons: list[dict[str, Any]]) -> None:
        self.check(0 < len(buttons) <= 25, "actions: too many")
        self.check(len({each["action_id"] for each in buttons}) == len(buttons), "actions: two of one action_id")
        for each in buttons:
            self.check(0 < len(each["text"]["text"]) <= 75 and len(each.get("value", "")) <= 2000, "button: too long")
            self.check(len(each.get("url", "")) <= 3000, "button: its address is too long")

    async def _socket(self, socket: WebSocket) -> None:
        if socket.query_params.get("ticket") != TICKET:
            await socket.close(4003)
            return
        await socket.accept()
        self.opened += 1
        await socket.send_json({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A1"}})
        self.sockets.append(socket)
        try:
            while True:
                answer = await socket.receive_json()
                self.acknowledged[answer["envelope_id"]] = answer
        except WebSocketDisconnect:
            return

    def arrive(self, payload: dict[str, Any], *, answers: bool = False, number: str | None = None) -> str:
        """Send an interactive payload; its envelope's id."""
        envelope = number or f"e-{next(self._numbers)}"
        self.send({"envelope_id": envelope, "type": "interactive", "accepts_response_payload": answers, "payload": payload})
        return envelope

    def press(self, shown: dict[str, Any], label: str, user: str) -> str:
        """A user presses a button of a message; the envelope's id."""
        [button] = [
            each for block in shown["blocks"] if block["type"] == "actions" for each in block["elements"] if label in each["text"]["text"]
        ]
        action = {"type": "button", "action_id": button["action_id"], "block_id": "b", "value": button.get("value"), "action_ts": "1.1"}
        where = {"channel": {"id": CHANNEL, "name": "general"}, "message": {"type": "message", "ts": "1503435956.000001"}}
        return self.arrive({"type": "block_actions", "user": {"id": user}, "trigger_id": "trigger", "actions": [action], **where})

    def submit(self, view: dict[str, Any], text: str, user: str) -> str:
        """A user sends a form; the envelope's id."""
        [block] = view["blocks"]
        values = {block["block_id"]: {block["element"]["action_id"]: {"type": "plain_text_input", "value": text}}}
        sent = {"type": "modal", "private_metadata": view["private_metadata"], "state": {"values": values}}
        return self.arrive({"type": "view_submission", "user": {"id": user}, "view": sent}, answers=True)
