"""The input of one viewer: injected into the desktop while it counts, and released when it counts no more."""

from contextlib import suppress

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.x11.keysyms import MODIFIERS
from sandbox_server.stream.input.clipboard_sync import ClipboardSync
from sandbox_server.stream.input.injector import Input, InputInjector, is_active_input
from sandbox_server.stream.viewer.access import ViewerAccess
from sandbox_server.stream.wire import Key


class ViewerInput:
    """Lets a viewer's input through to the injector as its access has it."""

    def __init__(self, access: ViewerAccess, injector: InputInjector, clipboard: ClipboardSync) -> None:
        self._access = access
        self._injector = injector
        self._clipboard = clipboard
        self._modifiers: dict[int, Key] = {}
        """The modifiers that the viewer has pressed while its input did not count, by keysym. They are injected before what counts."""

    async def take(self, what: Input) -> None:
        """Inject an input if it counts. One that acts may take control."""
        if not self._access.may_control:
            return
        counts = await self._access.ask_to_act() if is_active_input(what) else self._access.drives
        with suppress(Unavailable):  # there is no desktop to do it to
            if counts:
                await self._inject(what)
            elif self._injector.holds:
                await self._injector.release_all()
        if not counts and isinstance(what, Key) and what.keysym in MODIFIERS:
            self._keep(what)

    async def _inject(self, what: Input) -> None:
        if isinstance(what, Key) and not what.down:
            self._modifiers.pop(what.keysym, None)
        for each in self._modifiers.values():
            await self._injector.inject(each)
        self._modifiers.clear()
        self._clipboard.learn(what)
        await self._injector.inject(what)

    def _keep(self, modifier: Key) -> None:
        if modifier.down:
            self._modifiers[modifier.keysym] = modifier
        else:
            self._modifiers.pop(modifier.keysym, None)

    async def keep_to_lease(self) -> None:
        """Release everything if the viewer does not drive any more."""
        if not self._access.drives and self._injector.holds:
            await self.release_all()

    async def release_all(self) -> None:
        """Release every key and button that the viewer holds."""
        with suppress(Unavailable):
            await self._injector.release_all()
