"""The X11 proxy: a socket for the agent's programs, where each becomes an untrusted client, whatever its cookie.

The agent cannot reach the X server's own socket, because the browser that it drives can read the cookie for it. A
program's connection is forwarded with a new cookie in place of its own. Then bytes are carried, with requests filtered
by `untrusted_requests`, and without descriptors.
"""

import os
import socket
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass

from Xlib import display as xlib
from Xlib import xauth
from Xlib.error import ConnectionClosedError, DisplayError, XauthError, XError, XNoAuthError

from sandbox_server.drivers.x11.security_extension import PROTOCOL, untrusted_cookie
from sandbox_server.drivers.x11.untrusted_requests import SETUP_BYTES, ForbiddenRequestError, UntrustedRequests, own_numbers

MAX_CLIENTS = 96
"""Limit of connections. The X server allows 256 clients, so the desktop's own always find room."""
INTRODUCTION_SECONDS = 30.0
"""Seconds for a program to send its connection setup."""
BACKLOG = 64
BYTES = 1 << 16
_BYTE_ORDERS = {b"l": "<", b"B": ">"}

type Change = Callable[[bytes], bytes]


class NotAnXClientError(Exception):
    """What a program said first is not what an X client says first."""


@dataclass(frozen=True)
class UntrustedClients:
    """Connects programs to the display `name`, whose server listens at `server`.

    With `trusted` they are not restricted.
    """

    name: str
    server: str
    trusted: bool = False

    def serve(self, listener: socket.socket) -> None:
        """Accept connections until `listener` ends with OSError."""
        room = threading.BoundedSemaphore(MAX_CLIENTS)
        while True:
            client, _ = listener.accept()
            if room.acquire(blocking=False):
                threading.Thread(target=self._host, args=(client, room), daemon=True).start()
            else:
                client.close()

    def _host(self, client: socket.socket, room: threading.BoundedSemaphore) -> None:
        try:
            with client, socket.socket(socket.AF_UNIX) as server:
                order = self._introduce(client, server)
                exchange(client, server, _as_it_is if self.trusted else _requests(client, server, order))
        except NotAnXClientError:
            return  # an endpoint has gone, which ends the connection
        except (OSError, DisplayError, ConnectionClosedError, XError) as error:
            sys.stderr.write(f"guests: a program was not let in: {error}\n")
        finally:
            room.release()

    def _introduce(self, client: socket.socket, server: socket.socket) -> str:
        client.settimeout(INTRODUCTION_SECONDS)
        start = read_introduction(client)
        client.settimeout(None)
        server.connect(self.server)
        server.sendall(introduction(start, self._cookie()))
        return _BYTE_ORDERS[start[:1]]

    def _cookie(self) -> bytes:
        if self.trusted:
            return own_cookie(self.name)
        display = xlib.Display(f"unix/{self.name}")
        with closing(display):
            return untrusted_cookie(display)


def listen(path: str) -> socket.socket:
    """Bind `path`, replacing a stale socket, with permission for every user to connect."""
    fresh = f"{path}.new"
    with suppress(FileNotFoundError):
        os.unlink(fresh)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(fresh)
    os.chmod(fresh, 0o666)
    listener.listen(BACKLOG)
    os.rename(fresh, path)
    return listener


def own_cookie(name: str) -> bytes:
    """Return the cookie of the desktop's own clients; empty if the X server requires none."""
    try:
        _, cookie = xauth.Xauthority().get_best_auth(xauth.FamilyLocal, socket.gethostname().encode(), int(name.removeprefix(":")))  # type: ignore[arg-type] # as Xlib itself calls it
    except (XauthError, XNoAuthError):
        return b""
    return bytes(cookie)


def read_introduction(client: socket.socket) -> bytes:
    """Read the connection setup of an X client, and return its first 6 bytes: byte order and protocol version."""
    start = _read(client, 12)
    order = _BYTE_ORDERS.get(start[:1])
    if order is None:
        raise NotAnXClientError("it does not speak X11")
    lengths = struct.unpack(f"{order}HH", start[6:10])
    _read(client, sum(length + -length % 4 for length in lengths))
    return start[:6]


def introduction(start: bytes, cookie: bytes) -> bytes:
    """Return the connection setup with another cookie."""
    protocol = PROTOCOL if cookie else b""
    lengths = struct.pack(f"{_BYTE_ORDERS[start[:1]]}HHxx", len(protocol), len(cookie))
    return start + lengths + b"".join(text + bytes(-len(text) % 4) for text in (protocol, cookie))


def _read(client: socket.socket, size: int) -> bytes:
    data = client.recv(size, socket.MSG_WAITALL) if size else b""
    if len(data) < size:
        raise NotAnXClientError("it hung up")
    return data


def exchange(client: socket.socket, server: socket.socket, change: Change) -> None:
    """Carry bytes both ways until either side closes. `change` filters what the client sends."""
    back = threading.Thread(target=_carry, args=(server, client, _as_it_is), daemon=True)
    back.start()
    _carry(client, server, change)
    back.join()


def _requests(client: socket.socket, server: socket.socket, order: str) -> Change:
    """Forward the start of the X server's first answer, which has the client's id range; return the filter."""
    setup = server.recv(SETUP_BYTES, socket.MSG_WAITALL)
    client.sendall(setup)
    if len(setup) < SETUP_BYTES:
        raise NotAnXClientError("the X server refused it")
    return UntrustedRequests(order, *own_numbers(order, setup)).take


def _as_it_is(data: bytes) -> bytes:
    return data


def _carry(source: socket.socket, target: socket.socket, change: Change) -> None:
    with suppress(OSError, ForbiddenRequestError):
        while data := source.recv(BYTES):
            target.sendall(change(data))
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
