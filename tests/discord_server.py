"""A stand-in of Discord for tests: the HTTP API that a bot with buttons uses, and the gateway."""

import itertools
import re
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from tests.chat_service import ChatService

TOKEN = "s3cret.discord.bot"
INTERACTION_TOKEN = "s3cret-interaction"
CHANNEL = "155117677105512449"


class DiscordServer(ChatService):
    """One channel."""

    def __init__(self, heartbeat: int = 41250) -> None:
        super().__init__()
        self.heartbeat = heartbeat
        self.beats: list[Any] = []
        self.identified = 0
        self.answers_beats = True
        self.callbacks: dict[str, dict[str, Any]] = {}
        self._numbers = itertools.count(1)

    def routes(self) -> list[BaseRoute]:
        prefix = "/api/v10"
        return [
            Route(f"{prefix}/gateway/bot", self._gateway),
            Route(f"{prefix}/channels/{{channel}}/messages", self._message, methods=["POST"]),
            Route(f"{prefix}/channels/{{channel}}/messages/{{message}}", self._message, methods=["PATCH"]),
            Route(f"{prefix}/interactions/{{number}}/{{token}}/callback", self._callback, methods=["POST"]),
            WebSocketRoute("/", self._socket),
        ]

    @property
    def told(self) -> list[dict[str, Any]]:
        return [body for method, body in self.calls if method == "POST"]

    @property
    def edited(self) -> list[dict[str, Any]]:
        """What messages were replaced by."""
        return [body for method, body in self.calls if method == "PATCH"]

    def _allowed(self, request: Request) -> bool:
        self.check(re.match(r"DiscordBot \(\S+, \S+\)", request.headers.get("user-agent", "")), "no User-Agent of a bot")
        return request.headers.get("authorization") == f"Bot {TOKEN}"

    async def _gateway(self, request: Request) -> Response:
        if not self._allowed(request):
            return JSONResponse({"message": "401: Unauthorized", "code": 0}, 401)
        return JSONResponse({"url": f"ws://{request.headers['host']}", "shards": 1})

    async def _message(self, request: Request) -> Response:
        if not self._allowed(request):
            return JSONResponse({"message": "401: Unauthorized", "code": 0}, 401)
        if request.path_params["channel"] != CHANNEL:
            return JSONResponse({"message": "Unknown Channel", "code": 10003}, 404)
        body = await request.json()
        self.calls.append((request.method, body))
        self.check(0 < len(body["content"]) <= 2000, "content: too long")
        self.check(body["allowed_mentions"] == {"parse": []}, "it may mention somebody")
        self._check_rows(body["components"])
        return JSONResponse({"id": str(next(self._numbers)), "channel_id": CHANNEL})

    def _check_rows(self, rows: list[dict[str, Any]]) -> None:
        self.check(len(rows) <= 5 and all(row["type"] == 1 and 0 < len(row["components"]) <= 5 for row in rows), "rows")
        for button in (each for row in rows for each in row["components"]):
            link = button["style"] == 5
            self.check(button["type"] == 2 and 0 < len(button["label"]) <= 80, "button: its label")
            self.check(link == ("url" in button) and link != ("custom_id" in button), "button: an address or an id")
            self.check(len(button.get("custom_id", "")) <= 100 and len(button.get("url", "")) <= 512, "button: too long")

    async def _callback(self, request: Request) -> Response:
        number, token, body = request.path_params["number"], request.path_params["token"], await request.json()
        if token != INTERACTION_TOKEN or number in self.callbacks:
            return JSONResponse({"message": "Unknown interaction", "code": 10062}, 404)
        self.callbacks[number] = body
        self.check(body["type"] in (4, 6, 9), "callback: its type")
        if body["type"] == 9:
            data = body["data"]
            self.check(len(data["custom_id"]) <= 100 and 0 < len(data["title"]) <= 45, "modal: too long")
            [label] = data["components"]
            self.check(label["type"] == 18 and 0 < len(label["label"]) <= 45, "modal: its label")
            self.check(label["component"]["type"] == 4 and label["component"]["max_length"] <= 4000, "modal: its input")
        return Response(status_code=204)

    async def _socket(self, socket: WebSocket) -> None:
        self.check(dict(socket.query_params) == {"v": "10", "encoding": "json"}, "gateway: its version")
        await socket.accept()
        await socket.send_json({"op": 10, "d": {"heartbeat_interval": self.heartbeat}, "s": None, "t": None})
        try:
            while True:
                await self._answer(socket, await socket.receive_json())
        except WebSocketDisconnect:
            return

    async def _answer(self, socket: WebSocket, message: dict[str, Any]) -> None:
        if message["op"] == 1:
            self.beats.append(message["d"])
            if self.answers_beats:
                await socket.send_json({"op": 11})
        elif message["op"] == 2:
            given = message["d"]
            self.check(isinstance(given["intents"], int) and {"os", "browser", "device"} <= given["properties"].keys(), "identify")
            if given["token"] != TOKEN:
                await socket.close(4004)
                return
            self.identified += 1
            await socket.send_json({"op": 0, "t": "READY", "s": 1, "d": {"v": 10, "session_id": "s", "user": {"id": "1"}}})
            self.sockets.append(socket)

    def arrive(self, interaction: dict[str, Any], number: str | None = None) -> str:
        """Dispatch an interaction; its id."""
        found = number or str(9000 + next(self._numbers))
        data = {"id": found, "token": INTERACTION_TOKEN, "version": 1, "channel_id": CHANNEL, **interaction}
        self.send({"op": 0, "t": "INTERACTION_CREATE", "s": next(self._numbers) + 1, "d": data})
        return found

    def press(self, shown: dict[str, Any], label: str, user: str) -> str:
        """A user presses a button of a message; the interaction's id."""
        [button] = [each for row in shown["components"] for each in row["components"] if label in each["label"]]
        data = {"component_type": 2, "custom_id": button["custom_id"]}
        return self.arrive({"type": 3, "data": data, "message": {"id": "77"}, "member": {"user": {"id": user}}})

    def submit(self, modal: dict[str, Any], text: str, user: str) -> str:
        """A user sends a form; the interaction's id."""
        [label] = modal["components"]
        entry = {"type": 4, "custom_id": label["component"]["custom_id"], "value": text}
        data = {"custom_id": modal["custom_id"], "components": [{"type": 18, "component": entry}]}
        return self.arrive({"type": 5, "data": data, "message": {"id": "77"}, "user": {"id": user}})
