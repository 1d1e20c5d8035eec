"""The handshake with one viewer: the session, its rights and the size of the screen, and each of them again when it changes."""

from sandbox_server.stream import wire
from sandbox_server.stream.viewer.access import ViewerAccess
from sandbox_server.stream.viewer.socket import ViewerSocket


class Handshake:
    """Sends `hello` once, with the first size, and then `size` and `rights`."""

    def __init__(self, socket: ViewerSocket, access: ViewerAccess, session: int) -> None:
        self._socket = socket
        self._access = access
        self._session = session
        self._rights = 0
        self.done = False
        """Whether `hello` was sent."""

    async def announce_size(self, width: int, height: int) -> None:
        """Send the size of the screen, with all else that `hello` has the first time."""
        if self.done:
            await self._socket.send(wire.size(width, height))
            return
        self.done = True
        self._rights = self._access.rights
        await self._socket.send(wire.hello(self._session, self._rights, width, height))

    async def update_rights(self) -> None:
        """Send the rights if they have changed. Before `hello` only that the screen is hidden is sent."""
        if (self.done or self._access.is_hidden) and self._rights != self._access.rights:
            self._rights = self._access.rights
            await self._socket.send(wire.rights(self._rights))
