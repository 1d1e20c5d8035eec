"""Takes answers to handoffs from a chat of Telegram: presses of a bot's buttons, and replies to its messages.

The bot asks Telegram for them (`getUpdates`), so that the sandbox need not be reachable. Only the named users answer.
"""

import asyncio
import logging
import re
from types import TracebackType
from typing import Any, Self

from sandbox_server.core import Failure, Tasks
from sandbox_server.drivers.clients.json_calls import field
from sandbox_server.drivers.clients.telegram import TelegramBot
from sandbox_server.features.handoff.chat_answers import ChatAnswers
from sandbox_server.features.handoff.chat_rooms import ChatTarget
from sandbox_server.features.handoff.telegram_room import TelegramMessage, message_of

POLL_SECONDS = 50
PAUSES = (1.0, 60.0)
"""Seconds before it asks again after a failure: the first pause and the longest."""
NOT_YOURS = "You may not answer this."
_REFERENCE = re.compile(r"#(h-[0-9a-f]{16})\b")
_log = logging.getLogger(__name__)


class TelegramAnswers:
    """Answers by `users`, by their numbers; an asynchronous context manager."""

    def __init__(self, bot: TelegramBot, users: tuple[int, ...], answers: ChatAnswers, messages: ChatTarget[TelegramMessage]) -> None:
        self._bot = bot
        self._users = frozenset(users)
        self._answers = answers
        self._messages = messages
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        self._tasks.start(self._poll(), name="answers from Telegram")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    async def _poll(self) -> None:
        offset, pause = 0, PAUSES[0]
        while True:
            asked = {"offset": offset, "timeout": POLL_SECONDS, "allowed_updates": ["callback_query", "message"]}
            try:
                updates = await self._bot.call("getUpdates", seconds=POLL_SECONDS + 10, **asked)
            except Failure as failure:
                _log.warning("answers from Telegram wait %g s: %s", pause, failure.message)
                await asyncio.sleep(pause)
                pause = min(2 * pause, PAUSES[1])
                continue
            pause = PAUSES[0]
            for update in updates if isinstance(updates, list) else ():
                number = field(update, "update_id")
                if isinstance(number, int):
                    offset = max(offset, number + 1)
                    await self._take(update)

    async def _take(self, update: Any) -> None:
        try:
            if isinstance(field(update, "callback_query", "id"), str):
                await self._press(field(update, "callback_query"))
            elif isinstance(field(update, "message", "reply_to_message", "text"), str):
                await self._reply(field(update, "message"))
        except Failure as failure:
            _log.warning("an answer from Telegram: %s", failure.message)

    async def _press(self, query: Any) -> None:
        user, data = field(query, "from", "id"), field(query, "data")
        if user not in self._users:
            said = NOT_YOURS
        else:
            try:
                said = f"Answered: {await self._answer(query, data if isinstance(data, str) else '', user)}"
            except Failure as failure:
                said = failure.message
        await self._bot.call("answerCallbackQuery", callback_query_id=query["id"], text=said[:200])

    async def _answer(self, query: Any, button: str, user: int) -> str:
        """Answer by a button; what it said."""
        message = message_of(field(query, "message", "chat", "id"), field(query, "message", "message_id"))
        if message:
            await self._messages.found(self._answers.handoff_of(button), message)
        _, label = await self._answers.press(button, name_of(user))
        return label

    async def _reply(self, message: Any) -> None:
        asked = _REFERENCE.findall(field(message, "reply_to_message", "text"))
        user, text = field(message, "from", "id"), field(message, "text")
        if not asked or field(message, "reply_to_message", "from", "id") != self._bot.id:
            return
        if user not in self._users:
            said = NOT_YOURS
        else:
            try:
                await self._answers.reply(asked[-1], text if isinstance(text, str) else "", name_of(user))
                said = "Answered."
            except Failure as failure:
                said = failure.message
        there = {"message_id": field(message, "message_id")}
        await self._bot.call("sendMessage", chat_id=field(message, "chat", "id"), text=said[:200], reply_parameters=there)


def name_of(user: int) -> str:
    """How a user of Telegram is named as the one who answered."""
    return f"telegram:{user}"
