"""The desktop: everything on one display, opened and closed together."""

from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import Any, Self

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.x11.clipboard import X11Clipboard
from sandbox_server.drivers.x11.connection import Display, X11Connection
from sandbox_server.drivers.x11.keyboard import Keyboard
from sandbox_server.drivers.x11.pointer import Pointer, release_everything
from sandbox_server.drivers.x11.screen import X11Screen
from sandbox_server.drivers.x11.text_typer import TextTyper
from sandbox_server.drivers.x11.windows import X11Windows


class Desktop:
    """The display `name`, such as `:99`. The cookie is found through XAUTHORITY. Connects on first use."""

    def __init__(self, name: str) -> None:
        self._input = X11Connection(name, opened=self._opened, event=self._on_event)
        self.screen = X11Screen(name)
        self.clipboard = X11Clipboard(name)
        self.keyboard = Keyboard(self._input)
        self.pointer = Pointer(self._input)
        self.windows = X11Windows(self._input)
        self.typist = TextTyper(self.keyboard, self.clipboard, self.windows)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for part in (self._input, self.screen, self.clipboard):
            await self._stack.enter_async_context(part)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with suppress(Unavailable):
            await self.release_all()
        await self._stack.__aexit__(kind, error, trace)

    @property
    def holds(self) -> bool:
        """Whether a key or a button is held down."""
        return bool(self.keyboard.held or self.pointer.held)

    async def release_all(self) -> None:
        """Release every key and button that this server holds down."""
        await self.pointer.release_all()
        await self.keyboard.release_all()

    async def release_everything(self) -> None:
        """Release every key and button that is down, whoever pressed it."""
        await self._input.call(release_everything)
        self.keyboard.held.clear()
        self.pointer.held.clear()

    def _on_event(self, _: Display, arrived: Any) -> None:
        self.keyboard.take(arrived)

    def _opened(self, display: Display) -> None:
        self.keyboard.forget()
        self.pointer.forget()
        release_everything(display)
