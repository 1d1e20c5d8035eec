"""Dialogs of pages: a call never waits for one, and a person's own is left to the person.

While a call runs on a page, its dialogs are answered at once. One that opens while no call runs stays for the person who sees it, until
the next call on that page needs the page and answers it. While a person has the pages no call that only looks answers any.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.browser.page_events import BrowserNotices

if TYPE_CHECKING:
    from playwright.async_api import Dialog, Page

MAX_SHOWN = 200
"""Characters of a dialog's text in a hint."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DialogAnswer:
    """What a call says to dialogs. Without a word on it, an alert is confirmed, a page may be left, and all else is dismissed."""

    do: Literal["accept", "dismiss"] | None = None
    text: str | None = None
    """For a prompt that is accepted."""
    looks: bool = False
    """The call only looks: while a person has the pages it answers nothing."""

    def accepts(self, kind: str) -> bool:
        """Whether a dialog of this kind is accepted: alert, beforeunload, confirm or prompt."""
        return kind in ("alert", "beforeunload") if self.do is None else self.do == "accept"


LOOKING = DialogAnswer(looks=True)


class PageDialogs:
    """The dialogs of all pages, by target id. `held` tells whether a person has the pages just now."""

    def __init__(self, notices: BrowserNotices, held: Callable[[], bool] = lambda: False) -> None:
        self._notices = notices
        self._held = held
        self._open: dict[str, Dialog] = {}
        self._answers: dict[str, list[DialogAnswer]] = {}
        self._tasks = Tasks()

    async def close(self) -> None:
        """Answer no more dialogs."""
        await self._tasks.close()

    async def watch(self, page: "Page", target: str) -> None:
        """Take the dialogs of a page."""
        page.on("dialog", lambda dialog: self._take(target, dialog))
        page.on("dialogclosed", lambda dialog: self._forget(target, dialog))
        page.on("close", lambda _: self._forget(target))

    @contextmanager
    def answered(self, target: str, answer: DialogAnswer) -> Iterator[None]:
        """Answer what a page asks meanwhile."""
        answers = self._answers.setdefault(target, [])
        answers.append(answer)
        try:
            yield
        finally:
            answers.remove(answer)
            if not answers:
                self._answers.pop(target, None)

    async def settle(self, answer: DialogAnswer, target: str | None = None) -> bool:
        """Answer the dialog that is open on a page, or those of all pages; true when there was one. See `leaves` for those that stay."""
        if self.leaves(answer):
            return False
        targets = [target] if target else list(self._open)
        settled = [await self._say(dialog, answer) for each in targets if (dialog := self._open.pop(each, None))]
        return any(settled)

    def leaves(self, answer: DialogAnswer) -> bool:
        """Whether a call leaves dialogs to the person who has the pages."""
        return answer.looks and self._held()

    def is_open(self, target: str | None = None) -> bool:
        """Whether a dialog waits for its answer on a page, or on any."""
        return target in self._open if target else bool(self._open)

    def _take(self, target: str, dialog: "Dialog") -> None:
        answers = [answer for answer in self._answers.get(target, ()) if not self.leaves(answer)]
        if answers:
            self._tasks.start(self._say(dialog, answers[-1]), name="dialog")
        else:
            self._open[target] = dialog

    def _forget(self, target: str, dialog: "Dialog | None" = None) -> None:
        if dialog is None or self._open.get(target) is dialog:
            self._open.pop(target, None)

    async def _say(self, dialog: "Dialog", answer: DialogAnswer) -> bool:
        """Answer a dialog; false where a person, or another client, was first."""
        from playwright.async_api import Error

        accepted = answer.accepts(dialog.type)
        with suppress(Error):
            await (dialog.accept(answer.text) if accepted else dialog.dismiss())
            self._notices.add(_told(dialog, accepted))
            return True
        return False


def _told(dialog: "Dialog", accepted: bool) -> str:
    other = "dismiss" if accepted else "accept"
    asked = f"The page asked in a {dialog.type} dialog {dialog.message[:MAX_SHOWN]!r}"
    return f"{asked}, which was {'accepted' if accepted else 'dismissed'}; give `dialog: {other!r}` with a call that is to {other} it."
