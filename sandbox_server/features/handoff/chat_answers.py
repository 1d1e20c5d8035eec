"""Answers to handoffs from a chat: by buttons that are signed, and by a reply of text.

A person's yes or no, a choice, and a code are answered there. What a person does on the screen, what a policy asks, and secrets for a
page are not: for those there is the link.
"""

import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import dataclass

from sandbox_server.core import Conflict, InvalidArgument
from sandbox_server.features.handoff.handoff import AnswerHandoff, Handoff, HandoffKind
from sandbox_server.features.handoff.queue import HandoffQueue

MAX_LABEL = 60
MAX_TEXT = 4000
_TEXT_KINDS: frozenset[HandoffKind] = frozenset({"otp", "free"})
_MAC_LENGTH = 16
_TEXT = 99
"""The number of the button that opens a form for a text."""


@dataclass(frozen=True, slots=True)
class ChatButton:
    """A button: what it says, and what it sends, at most 64 bytes."""

    label: str
    data: str


class ChatAnswers:
    """Makes buttons for one chat, and answers handoffs by them. Who holds `key` can make buttons."""

    def __init__(self, queue: HandoffQueue, key: bytes) -> None:
        self._queue = queue
        self._key = key

    def buttons(self, handoff: Handoff) -> list[ChatButton]:
        """The buttons of a handoff; none where it is not answered by one."""
        return [ChatButton(label, self._signed(handoff.id, number)) for number, (label, _) in enumerate(_answers(handoff))]

    def text_button(self, handoff: Handoff) -> ChatButton | None:
        """The button that opens a form for a text; None where a handoff is not answered by one."""
        return ChatButton("Answer", self._signed(handoff.id, _TEXT)) if takes_text(handoff) else None

    def asks_text(self, data: str) -> bool:
        """Whether a button opens a form. Raises InvalidArgument for one that is not ours."""
        return self._read(data)[1] == _TEXT

    def handoff_of(self, data: str) -> Handoff:
        """The handoff of a button. Raises InvalidArgument for one that is not ours, and NotFound."""
        return self._queue.get(self._read(data)[0])

    async def submit(self, data: str, text: str, by: str) -> Handoff:
        """Answer by a form that the button `data` opened. Raises InvalidArgument, Conflict and NotFound as the others do."""
        handoff, number = self._read(data)
        if number != _TEXT:
            raise InvalidArgument("this button is not known")
        return await self.reply(handoff, text, by)

    async def press(self, data: str, by: str) -> tuple[Handoff, str]:
        """Answer by a button; the handoff, and what the button said.

        Raises InvalidArgument for one that is not ours, and Conflict and NotFound where the handoff takes no answer any more.
        """
        handoff, number = self._read(data)
        answers = list(_answers(self._queue.get(handoff)))
        if number >= len(answers):
            raise InvalidArgument("this button is not known")
        label, answer = answers[number]
        return await self._queue.answer(answer, by, "chat"), label

    async def reply(self, handoff: str, text: str, by: str) -> Handoff:
        """Answer by a text. Raises Conflict where it takes none, and NotFound."""
        found = self._queue.get(handoff)
        if not takes_text(found):
            raise Conflict("this request is not answered by a text")
        if not 0 < len(text) <= MAX_TEXT:
            raise InvalidArgument(f"an answer has 1 to {MAX_TEXT} characters")
        values = {found.fields[0].name: text} if found.fields else {}
        return await self._queue.answer(AnswerHandoff(id=handoff, outcome="done", note="" if values else text, values=values), by, "chat")

    def _read(self, data: str) -> tuple[str, int]:
        """The handoff and the number of a button. Raises InvalidArgument for one that is not ours."""
        handoff, _, rest = data.partition(":")
        number = rest.partition(":")[0]
        known = number.isascii() and number.isdecimal() and len(number) < 3
        if not known or not hmac.compare_digest(self._signed(handoff, int(number)).encode(), data.encode("utf-8", "replace")):
            raise InvalidArgument("this button is not known")
        return handoff, int(number)

    def _signed(self, handoff: str, number: int) -> str:
        button = f"{handoff}:{number}"
        return f"{button}:{hmac.new(self._key, button.encode(), hashlib.sha256).hexdigest()[:_MAC_LENGTH]}"


def takes_text(handoff: Handoff) -> bool:
    """Whether a handoff is answered by a text: a code, or an answer in the person's own words."""
    return (
        handoff.kind in _TEXT_KINDS
        and not handoff.choices
        and len(handoff.fields) <= 1
        and not any(field.secret for field in handoff.fields)
    )


def _answers(handoff: Handoff) -> Iterator[tuple[str, AnswerHandoff]]:
    """What buttons say, and what they answer."""
    if handoff.approval or handoff.fields:
        return
    if handoff.choices:
        for choice in handoff.choices:
            label = choice if len(choice) <= MAX_LABEL else f"{choice[: MAX_LABEL - 1]}…"
            yield label, AnswerHandoff(id=handoff.id, outcome="done", choice=choice)
        yield "None of these", AnswerHandoff(id=handoff.id, outcome="cannot")
    elif handoff.kind == "confirm":
        yield "Yes", AnswerHandoff(id=handoff.id, outcome="done")
        yield "No", AnswerHandoff(id=handoff.id, outcome="cannot")
