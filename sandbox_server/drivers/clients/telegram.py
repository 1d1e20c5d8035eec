"""A bot of Telegram, by its Bot API (https://core.telegram.org/bots/api)."""

from typing import Any

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.clients.json_calls import MAX_REASON, SECONDS, JsonAnswer, call_json, field
from sandbox_server.drivers.clients.webhook import DeliveryResult


class TelegramBot:
    """Calls of the bot with a token at a server."""

    def __init__(self, server: str, token: str) -> None:
        self._server = server.rstrip("/")
        self._token = token

    @property
    def id(self) -> int:
        """The bot's own number, with which its token begins; 0 if it does not."""
        number = self._token.partition(":")[0]
        return int(number) if number.isdecimal() and len(number) < 20 else 0

    @property
    def secrets(self) -> tuple[str, ...]:
        """Its token."""
        return (self._token,)

    async def call(self, method: str, *, seconds: float = SECONDS, **arguments: Any) -> Any:
        """Call a method; its `result`. Raises Unavailable with the reason, which does not have the token."""
        answered = await self._call(method, arguments, seconds)
        if field(answered.body, "ok") is not True:
            raise Unavailable(f"Telegram: {self._reason(answered)}")
        return field(answered.body, "result")

    async def deliver(self, method: str, **arguments: Any) -> tuple[DeliveryResult, Any]:
        """Call a method; how it went, and its `result`. A refusal has no status of success."""
        try:
            answered = await self._call(method, arguments, SECONDS)
        except Unavailable as failure:
            return DeliveryResult(None, failure.message), None
        if field(answered.body, "ok") is True:
            return DeliveryResult(answered.status, None), field(answered.body, "result")
        return DeliveryResult(answered.status if answered.status >= 300 else None, self._reason(answered)), None

    async def _call(self, method: str, arguments: dict[str, Any], seconds: float) -> JsonAnswer:
        return await call_json("Telegram", "POST", f"{self._server}/bot{self._token}/{method}", {}, arguments, seconds=seconds)

    def _reason(self, answered: JsonAnswer) -> str:
        said = field(answered.body, "description")
        return said.replace(self._token, "***")[:MAX_REASON] if isinstance(said, str) else f"it answered {answered.status}"
