"""Takes answers to handoffs from a channel of Discord: presses of a bot's buttons, and its forms.

They come by Discord's gateway, over a connection that the sandbox opens, so that it need not be reachable. Only the named users answer.
"""

import logging
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from sandbox_server.core import Failure, Tasks
from sandbox_server.drivers.clients.discord import DiscordBot, DiscordRejected
from sandbox_server.drivers.clients.json_calls import field
from sandbox_server.features.handoff.chat_answers import ChatAnswers
from sandbox_server.features.handoff.chat_connection import keep_connected
from sandbox_server.features.handoff.chat_rooms import ChatTarget
from sandbox_server.features.handoff.discord_room import DiscordMessage, form, message_of, submitted_text

NOT_YOURS = "You may not answer this."
PRESS, SUBMISSION = 3, 5
"""Types of interactions."""
SAY, ACKNOWLEDGE, OPEN_FORM = 4, 6, 9
"""Types of answers to them."""
EPHEMERAL = 1 << 6
_log = logging.getLogger(__name__)


class DiscordAnswers:
    """Answers by `users`, by their ids; an asynchronous context manager."""

    def __init__(self, bot: DiscordBot, users: tuple[str, ...], answers: ChatAnswers, messages: ChatTarget[DiscordMessage]) -> None:
        self._bot = bot
        self._users = frozenset(users)
        self._answers = answers
        self._messages = messages
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        self._tasks.start(self._run(), name="answers from Discord")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    async def _run(self) -> None:
        try:
            await keep_connected("Discord", self._serve)
        except DiscordRejected as refusal:
            _log.error("Discord does not let the bot in, and is not asked again: %s", refusal)

    async def _serve(self, connected: Callable[[], None]) -> None:
        async with self._bot.gateway() as gateway:
            while event := await gateway.event():
                name, data = event
                if name == "READY":
                    connected()
                elif name == "INTERACTION_CREATE":
                    await self._take(data)

    async def _take(self, interaction: dict[str, Any]) -> None:
        number, token = interaction.get("id"), interaction.get("token")
        if not isinstance(number, str) or not isinstance(token, str) or interaction.get("type") not in (PRESS, SUBMISSION):
            return
        answer = await self._answer(interaction)
        try:
            await self._bot.call("POST", f"/interactions/{quote(number, safe='')}/{quote(token, safe='')}/callback", answer)
        except Failure as failure:
            _log.warning("an answer from Discord is not acknowledged: %s", failure.message)

    async def _answer(self, interaction: dict[str, Any]) -> dict[str, Any]:
        """Do what an interaction asks for; what Discord shows its user."""
        user = field(interaction, "member", "user", "id") or field(interaction, "user", "id")
        if not isinstance(user, str) or user not in self._users:
            return _say(NOT_YOURS)
        data = field(interaction, "data", "custom_id")
        button = data if isinstance(data, str) else ""
        try:
            if interaction["type"] == SUBMISSION:
                await self._answers.submit(button, submitted_text(field(interaction, "data", "components")), name_of(user))
                return {"type": ACKNOWLEDGE}
            return await self._press(interaction, button, user)
        except Failure as failure:
            return _say(failure.message)

    async def _press(self, interaction: dict[str, Any], button: str, user: str) -> dict[str, Any]:
        handoff = self._answers.handoff_of(button)
        message = message_of(interaction.get("channel_id"), field(interaction, "message", "id"))
        if message:
            await self._messages.found(handoff, message)
        if not self._answers.asks_text(button):
            await self._answers.press(button, name_of(user))
            return {"type": ACKNOWLEDGE}
        if handoff.status == "closed":
            return _say("This has ended already.")
        return {"type": OPEN_FORM, "data": form(handoff, button)}


def name_of(user: str) -> str:
    """How a user of Discord is named as the one who answered."""
    return f"discord:{user}"


def _say(text: str) -> dict[str, Any]:
    return {"type": SAY, "data": {"content": text[:200], "flags": EPHEMERAL, "allowed_mentions": {"parse": []}}}
