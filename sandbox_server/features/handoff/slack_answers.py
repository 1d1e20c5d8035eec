"""Takes answers to handoffs from a channel of Slack: presses of an app's buttons, and its forms.

They come by Socket Mode, over a connection that the sandbox opens, so that it need not be reachable. Only the named users answer.
"""

import logging
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Self

from sandbox_server.core import Failure, Tasks
from sandbox_server.drivers.clients.json_calls import JsonSocket, field
from sandbox_server.drivers.clients.slack import SlackApp
from sandbox_server.features.handoff.chat_answers import ChatAnswers
from sandbox_server.features.handoff.chat_connection import keep_connected
from sandbox_server.features.handoff.chat_rooms import ChatTarget
from sandbox_server.features.handoff.slack_room import FORM, SlackMessage, form, message_of

NOT_YOURS = "You may not answer this."
_log = logging.getLogger(__name__)


class SlackAnswers:
    """Answers by `users`, by their ids; an asynchronous context manager."""

    def __init__(self, app: SlackApp, users: tuple[str, ...], answers: ChatAnswers, messages: ChatTarget[SlackMessage]) -> None:
        self._app = app
        self._users = frozenset(users)
        self._answers = answers
        self._messages = messages
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        self._tasks.start(keep_connected("Slack", self._serve), name="answers from Slack")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    async def _serve(self, connected: Callable[[], None]) -> None:
        async with self._app.socket() as socket:
            while (envelope := await socket.receive()).get("type") != "disconnect":
                if envelope.get("type") == "hello":
                    connected()
                elif isinstance(envelope.get("envelope_id"), str):
                    await self._take(socket, envelope)

    async def _take(self, socket: JsonSocket, envelope: dict[str, Any]) -> None:
        """Acknowledge an envelope, at once unless it is a form, whose acknowledgement says what is wrong with it."""
        payload, acknowledge = envelope.get("payload"), partial(_acknowledge, socket, envelope)
        try:
            if field(payload, "type") == "view_submission":
                await acknowledge(await self._submit(payload))
                return
            await acknowledge()
            if field(payload, "type") == "block_actions":
                await self._press(payload)
        except Failure as failure:
            _log.warning("an answer from Slack: %s", failure.message)

    async def _press(self, payload: Any) -> None:
        actions, user = field(payload, "actions"), field(payload, "user", "id")
        data = field(actions[0], "value") if isinstance(actions, list) and actions else None
        if not isinstance(data, str) or not isinstance(user, str):
            return  # the link, or nothing of ours
        message = message_of(field(payload, "channel", "id"), field(payload, "message", "ts"))
        if user not in self._users:
            await self._whisper(message, user, NOT_YOURS)
            return
        try:
            handoff = self._answers.handoff_of(data)
            if message:
                await self._messages.found(handoff, message)
            if not self._answers.asks_text(data):
                await self._answers.press(data, name_of(user))
            elif handoff.status == "closed":
                await self._whisper(message, user, "This has ended already.")
            else:
                await self._app.call("views.open", trigger_id=field(payload, "trigger_id"), view=form(handoff, data))
        except Failure as failure:
            await self._whisper(message, user, failure.message)

    async def _submit(self, payload: Any) -> dict[str, Any] | None:
        """Answer by a form; what Slack shows in it where the answer is not taken."""
        user, data = field(payload, "user", "id"), field(payload, "view", "private_metadata")
        text = field(payload, "view", "state", "values", FORM, FORM, "value")
        if not isinstance(user, str) or user not in self._users:
            return _error(NOT_YOURS)
        try:
            await self._answers.submit(data if isinstance(data, str) else "", text if isinstance(text, str) else "", name_of(user))
        except Failure as failure:
            return _error(failure.message)
        return None

    async def _whisper(self, message: SlackMessage | None, user: str, text: str) -> None:
        """Say something to one user alone."""
        if message:
            await self._app.call("chat.postEphemeral", channel=message.channel, user=user, text=text[:200])


def name_of(user: str) -> str:
    """How a user of Slack is named as the one who answered."""
    return f"slack:{user}"


async def _acknowledge(socket: JsonSocket, envelope: dict[str, Any], payload: dict[str, Any] | None = None) -> None:
    answer = {"envelope_id": envelope["envelope_id"]}
    await socket.send(answer | ({"payload": payload} if payload and envelope.get("accepts_response_payload") is True else {}))


def _error(text: str) -> dict[str, Any]:
    return {"response_action": "errors", "errors": {FORM: text[:200]}}
