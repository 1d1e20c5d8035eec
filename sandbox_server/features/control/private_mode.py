"""What has to keep to a person's privacy beside the calls that look."""

from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, Protocol, Self

from sandbox_server.core import Failure, Tasks
from sandbox_server.core.control import Holding
from sandbox_server.features.control.lease_keeper import LeaseKeeper


class ClipboardText(Protocol):
    """The desktop's clipboard."""

    async def read(self) -> str: ...
    async def write(self, text: str) -> None: ...


class ClearClipboard:
    """Empties the clipboard of what was copied in private, before anybody else may read it."""

    def __init__(self, clipboard: ClipboardText) -> None:
        self._clipboard = clipboard
        self._private: bool | None = None
        self._before: str | None = None

    async def __call__(self, holding: Holding) -> None:
        private, self._private = self._private, holding.private is not None
        if self._private and not private:
            await self._remember(known=private is not None)
        elif private and not self._private and (self._before is None or await self._clipboard.read() != self._before):
            await self._clipboard.write("")

    async def _remember(self, *, known: bool) -> None:
        """Learn what was on it before; what cannot be learnt, as after a restart, counts as different from all that is there later."""
        self._before = None
        with suppress(Failure):
            self._before = await self._clipboard.read() if known else None


type Follow = Callable[[Callable[[bool], None]], Coroutine[Any, Any, None]]
"""Tells, for ever, whether a field of a page that takes a secret has the focus."""


class SecretFocus:
    """Makes a person private as soon as a field for a secret has the focus, as `follow` tells; an asynchronous context manager."""

    def __init__(self, keeper: LeaseKeeper, follow: Follow) -> None:
        self._keeper = keeper
        self._follow = follow
        self._focused = False
        self._tasks = Tasks()
        keeper.hide_when(lambda _: self._focused)

    async def __aenter__(self) -> Self:
        self._tasks.start(self._follow(self._tell), name="fields for secrets")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    def _tell(self, focused: bool) -> None:
        begun, self._focused = focused and not self._focused, focused
        if begun:
            self._tasks.start(self._keeper.hide("focus"), name="private by focus")
