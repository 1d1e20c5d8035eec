"""The egress process's connection to the box daemon: it gets the box's network namespace there, and gives it back to the next daemon."""

import socket
import threading
import time
from collections.abc import Callable, Sequence

from sandbox_server.drivers.egress import namespace_handover
from sandbox_server.drivers.egress.network_namespace import EgressNamespace
from sandbox_server.drivers.ipc.descriptor_passing import MalformedMessageError
from sandbox_server.timeouts import scaled

RETRY_SECONDS = 0.05
ANSWER_SECONDS = scaled(60.0)
"""How long the daemon may take; making a namespace takes it half a minute at most."""

type Given = tuple[EgressNamespace, Sequence[int]]
"""A namespace, and the ports of its forwarded listeners."""


class DaemonLink:
    """A connection to the daemon on `path`, which may not be there yet."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._sock: socket.socket | None = None

    def obtain(self) -> Given:
        """Wait for the daemon and get the namespace."""
        while True:
            found = self._ask(None)
            if isinstance(found, tuple):
                return found
            time.sleep(RETRY_SECONDS)

    def follow(self, held: EgressNamespace, changed: Callable[[], None]) -> None:
        """Give what is held to each new daemon, in a thread. `changed` is called there when the box has another namespace."""

        def keep() -> None:
            while self._is_kept(held):
                self._await_end()
            self.close()
            changed()

        threading.Thread(target=keep, name="daemon-link", daemon=True).start()

    def close(self) -> None:
        """Close the connection."""
        if self._sock:
            self._sock.close()

    def _await_end(self) -> None:
        """Wait until the daemon has ended."""
        if not self._sock:
            return
        self._sock.settimeout(None)
        try:
            self._sock.recv(1)
        except OSError:
            return

    def _is_kept(self, held: EgressNamespace) -> bool:
        """Give a daemon what is held; whether that is the box's namespace."""
        while True:
            found = self._ask(held)
            if found is not None:
                return found is True
            time.sleep(RETRY_SECONDS)

    def _ask(self, held: EgressNamespace | None) -> Given | bool | None:
        """Ask once: a namespace, or True if the one that is held is the box's; None: ask again."""
        self.close()
        self._sock = sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sock.settimeout(ANSWER_SECONDS)
        try:
            sock.connect(self._path)
            namespace_handover.send(sock, held)
            message, made = namespace_handover.receive(sock)
        except (OSError, MalformedMessageError):
            return None
        if made:
            return made, [int(port) for port in (message or {}).get("ports", ())]
        return True if message and message.get("kept") else None
