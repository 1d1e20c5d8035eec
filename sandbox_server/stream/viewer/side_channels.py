"""What one viewer is sent beside frames: the cursor, the pointer, the input of others, the clipboard, and whether there is a desktop."""

from contextlib import suppress

from sandbox_server.core.errors import Unavailable
from sandbox_server.core.tasks import Tasks
from sandbox_server.stream import wire
from sandbox_server.stream.capture.cursor import CursorImage
from sandbox_server.stream.capture.x11 import ScreenCapture
from sandbox_server.stream.codecs.zstd import compress
from sandbox_server.stream.input.clipboard_sync import ClipboardSync
from sandbox_server.stream.input.echo_cursor import EchoCursor
from sandbox_server.stream.input.injector import InputInjector
from sandbox_server.stream.viewer.access import ViewerAccess
from sandbox_server.stream.viewer.socket import ViewerSocket


class SideChannels:
    """Sends each of them when it has changed, to who may have it. `tasks` are the viewer's."""

    def __init__(
        self,
        socket: ViewerSocket,
        screen: ScreenCapture,
        access: ViewerAccess,
        injector: InputInjector,
        clipboard: ClipboardSync,
        tasks: Tasks,
    ) -> None:
        self._socket = socket
        self._screen = screen
        self._access = access
        self._injector = injector
        self._clipboard = clipboard
        self._tasks = tasks
        self._echo = EchoCursor(screen)
        self._cursor: CursorImage | None = None
        self._pointer = (-1, -1)
        self._copies = screen.copies
        self._running = True

    def note_lease(self) -> None:
        """Forget the input that was echoed under another lease."""
        self._echo.forget()

    async def update(self) -> None:
        """Send what has changed. Who may not see the screen learns only whether there is a desktop."""
        await self._send_running()
        if not self._access.sees:
            self._copies = self._screen.copies
            return
        await self._send_cursor()
        await self._send_pointer()
        await self._send_echo()
        if self._screen.copies != self._copies:
            self._copies = self._screen.copies
            self._tasks.start(self._send_clipboard(), name="clipboard to viewer")

    async def _send_running(self) -> None:
        if self._screen.running != self._running:
            self._running = self._screen.running
            await self._socket.send(wire.desktop(running=self._running))

    async def _send_cursor(self) -> None:
        if self._screen.cursor is not None and self._screen.cursor != self._cursor:
            self._cursor = shown = self._screen.cursor
            await self._socket.send(wire.cursor(shown.hot, (shown.width, shown.height), compress(shown.pixels)))

    async def _send_pointer(self) -> None:
        if not self._access.drives and self._screen.pointer != self._pointer:
            self._pointer = self._screen.pointer
            await self._socket.send(wire.pointer(*self._pointer))

    async def _send_echo(self) -> None:
        for event in await self._echo.new_events():
            if self._access.sees_echo:
                await self._socket.send(event.message())

    async def _send_clipboard(self) -> None:
        """Send what was copied, which may be a password, to who may act alone."""
        if not self._access.may_control:
            return
        with suppress(Unavailable):
            forms = await self._injector.read_clipboard()
            if self._access.sees and (message := self._clipboard.message_for(forms)):
                await self._socket.send(message)
