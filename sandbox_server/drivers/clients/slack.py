"""An app of Slack: its Web API (https://docs.slack.dev/apis/web-api) and Socket Mode, by which Slack's events come over a WebSocket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.clients.json_calls import MAX_REASON, JsonSocket, call_json, field, open_socket
from sandbox_server.drivers.clients.webhook import DeliveryResult


class SlackApp:
    """Calls with the token of the app's bot, and with the app's own for Socket Mode."""

    def __init__(self, server: str, token: str, app_token: str | None = None) -> None:
        self._server = server.rstrip("/")
        self._token = token
        self._app_token = app_token

    @property
    def secrets(self) -> tuple[str, ...]:
        """Its tokens."""
        return (self._token, *filter(None, [self._app_token]))

    async def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """Call a method as the bot; the answer. Raises Unavailable with the reason."""
        status, answer = await self._call(method, self._token, arguments)
        if not 200 <= status < 300 or answer.get("ok") is not True:
            raise Unavailable(f"Slack: {_reason(status, answer)}")
        return answer

    async def deliver(self, method: str, **arguments: Any) -> tuple[DeliveryResult, dict[str, Any]]:
        """Call a method as the bot; how it went, and the answer. A refusal has no status of success."""
        try:
            status, answer = await self._call(method, self._token, arguments)
        except Unavailable as failure:
            return DeliveryResult(None, failure.message), {}
        if 200 <= status < 300 and answer.get("ok") is not True:
            return DeliveryResult(None, _reason(status, answer)), {}
        return DeliveryResult(status, None if status < 300 else _reason(status, answer)), answer

    @asynccontextmanager
    async def socket(self) -> AsyncIterator[JsonSocket]:
        """Open a connection of Socket Mode. Raises Unavailable."""
        status, answer = await self._call("apps.connections.open", self._app_token or "", {})
        url = answer.get("url")
        if answer.get("ok") is not True or not isinstance(url, str):
            raise Unavailable(f"Slack: {_reason(status, answer)}")
        async with open_socket("Slack", url, plain=self._server.startswith("http://")) as socket:
            yield socket

    async def _call(self, method: str, token: str, arguments: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        answered = await call_json("Slack", "POST", f"{self._server}/{method}", {"Authorization": f"Bearer {token}"}, arguments)
        return answered.status, answered.body if isinstance(answered.body, dict) else {}


def _reason(status: int, answer: dict[str, Any]) -> str:
    error = field(answer, "error")
    return error[:MAX_REASON] if isinstance(error, str) else f"it answered {status}"
