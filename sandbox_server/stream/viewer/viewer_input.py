"""The input of one viewer: injected into the desktop while it counts, and released when it counts no more."""

from contextlib import suppress

from sandbox_server.core.errors import Unavailable
from sandbox_server.stream.input.clipboard_sync import ClipboardSync
from sandbox_server.stream.input.injector import Input, InputInjector, is_active_input
from sandbox_server.stream.viewer.access import ViewerAccess


class ViewerInput:
    """Lets a viewer's input through to the injector as its access has it."""

    def __init__(self, access: ViewerAccess, injector: InputInjector, clipboard: ClipboardSync) -> None:
        self._access = access
        self._injector = injector
        self._clipboard = clipboard

    async def take(self, what: Input) -> None:
        """Inject an input if it counts. One that acts may take control."""
        if not self._access.may_control:
            return
        counts = await self._access.ask_to_act() if is_active_input(what) else self._access.drives
        with suppress(Unavailable):  # there is no desktop to do it to
            if counts:
                self._clipboard.learn(what)
                await self._injector.inject(what)
            elif self._injector.holds:
                await self._injector.release_all()

    async def keep_to_lease(self) -> None:
        """Release everything if the viewer does not drive any more."""
        if not self._access.drives and self._injector.holds:
            await self.release_all()

    async def release_all(self) -> None:
        """Release every key and button that the viewer holds."""
        with suppress(Unavailable):
            await self._injector.release_all()
