"""Messages about handoffs in chats: each shows how its handoff ended, wherever it was answered."""

import logging
from types import TracebackType
from typing import Protocol, Self

from sandbox_server.core import Failure, Tasks
from sandbox_server.drivers.clients.webhook import DeliveryResult
from sandbox_server.features.handoff.handoff import Handoff, NotificationChannel
from sandbox_server.features.handoff.queue import HandoffQueue

MAX_ANSWER = 300
"""Characters of an answer that a message shows."""
_log = logging.getLogger(__name__)


class ChatRoom[Message](Protocol):
    """A channel of a chat service. `Message` is how the service names a message."""

    @property
    def name(self) -> NotificationChannel:
        """The service."""
        ...

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that no error message may contain."""
        ...

    async def post(self, handoff: Handoff, link: str | None) -> tuple[DeliveryResult, Message | None]:
        """Post a message; how it went, and the message if it was taken."""
        ...

    async def show_end(self, message: Message, handoff: Handoff) -> None:
        """Replace a message, with its buttons, by how the handoff ended. Raises Failure."""
        ...


class ChatTarget[Message]:
    """Notifies people by messages in a room, and keeps each up to date; an asynchronous context manager.

    After a restart it knows a message again once somebody presses a button of it.
    """

    def __init__(self, room: ChatRoom[Message], queue: HandoffQueue) -> None:
        self._room = room
        self._queue = queue
        self._messages: dict[str, Message] = {}
        """By handoff, of those that are open."""
        self._tasks = Tasks()

    @property
    def name(self) -> NotificationChannel:
        return self._room.name

    @property
    def secrets(self) -> tuple[str, ...]:
        return self._room.secrets

    async def __aenter__(self) -> Self:
        self._tasks.start(self._follow(), name=f"messages in {self.name}")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    async def tell(self, handoff: Handoff, link: str | None) -> DeliveryResult:
        """Post a message about a handoff."""
        result, message = await self._room.post(handoff, link)
        if message is not None:
            self._messages[handoff.id] = message
        return result

    async def found(self, handoff: Handoff, message: Message) -> None:
        """Note the message of a handoff; one that has ended shows that at once."""
        if handoff.status == "closed":
            self._messages.pop(handoff.id, None)
            await self._show_end(handoff, message)
        else:
            self._messages.setdefault(handoff.id, message)

    async def _follow(self) -> None:
        async for opened in self._queue.news():
            still = {handoff.id for handoff in opened}
            for ended in [each for each in self._messages if each not in still]:
                message = self._messages.pop(ended)
                try:
                    handoff = self._queue.get(ended)
                except Failure:
                    continue
                await self._show_end(handoff, message)

    async def _show_end(self, handoff: Handoff, message: Message) -> None:
        try:
            await self._room.show_end(message, handoff)
        except Failure as failure:
            _log.warning("the message about %s in %s stays as it is: %s", handoff.id, self.name, failure.message)


def ending(handoff: Handoff) -> str:
    """How a handoff ended, in a sentence, without what a person wrote."""
    if handoff.outcome == "timeout":
        return "Nobody answered in time."
    if handoff.outcome == "cancelled":
        return "It was withdrawn."
    if handoff.choice is not None:
        said = handoff.choice
    elif handoff.confirmed is not None:
        said = "Yes" if handoff.confirmed else "No"
    else:
        said = str(handoff.outcome)
    return f"Answered by {handoff.closed_by}: {said if len(said) <= MAX_ANSWER else f'{said[: MAX_ANSWER - 1]}…'}"
