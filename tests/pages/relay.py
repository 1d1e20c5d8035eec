"""A relay in front of the gateway, which can stop passing bytes as a bad network does, and spoil WebSockets as a bad proxy does."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Self
from urllib.parse import urlsplit

CHUNK = 1 << 16
UPGRADE = re.compile(rb"\r\n(?:upgrade|connection): [^\r]*(?:websocket|upgrade)[^\r]*", re.IGNORECASE)
"""The headers by which a request asks for a WebSocket."""


class _Connection:
    """One connection of a client, and the one to the gateway that belongs to it."""

    def __init__(self, relay: "Relay", client: socket.socket, gateway: socket.socket) -> None:
        self._relay = relay
        self._ends = client, gateway
        self.lost = False
        """Whether what is sent here never arrives."""
        for source, target in ((client, gateway), (gateway, client)):
            threading.Thread(target=self._pump, args=(source, target), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(CHUNK):
                self._relay.flowing.wait()
                if not self.lost:
                    target.sendall(self._relay.spoil(data) if source is self._ends[0] else data)
        self.close()

    def close(self) -> None:
        """End both."""
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class Relay:
    """Listens on loopback for as long as the context, and passes on to the gateway at `base_url` what comes."""

    def __init__(self, base_url: str) -> None:
        address = urlsplit(base_url)
        self._gateway = address.hostname or "", address.port or 80
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections: list[_Connection] = []
        self.flowing = threading.Event()
        """Cleared, nothing passes, and everything is kept."""
        self.flowing.set()
        self.strips_upgrades = False
        """Whether the headers that ask for a WebSocket are left out, as a proxy does that does not know them."""
        self.refuses = False
        """Whether whoever connects is sent away."""

    @property
    def base_url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def spoil(self, data: bytes) -> bytes:
        """What is passed on of a request."""
        return UPGRADE.sub(b"", data) if self.strips_upgrades and b"websocket" in data.lower() else data

    def lose(self) -> None:
        """From now on nothing passes by the connections that there are. New ones work."""
        for connection in self._connections:
            connection.lost = True

    def cut(self) -> None:
        """End the connections that there are."""
        for connection in self._connections:
            connection.close()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.flowing.set()
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                self._take(self._listener.accept()[0])

    def _take(self, client: socket.socket) -> None:
        gateway = None if self.refuses else self._connected()
        if gateway is None:
            client.close()
        else:
            self._connections.append(_Connection(self, client, gateway))

    def _connected(self) -> socket.socket | None:
        """A connection to the gateway; None where there is none just now, which is no reason to take no others."""
        with suppress(OSError):
            return socket.create_connection(self._gateway)
        return None


@contextmanager
def stalled(relay: Relay) -> Iterator[None]:
    """For as long as the context, no byte passes."""
    relay.flowing.clear()
    try:
        yield
    finally:
        relay.flowing.set()
