"""The agent's door to the display: a socket at which a program becomes an untrusted client of the X server, whatever cookie it has.

The X server's own socket stays out of the agent's reach, because the browser that the agent drives can read the cookie for it. Who comes
here is passed on with a new cookie in the place of its own; then bytes are carried, requests as `guest_requests` leaves them, and no
descriptors.
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
from sandbox_server.drivers.x11.untrusted_requests import SETUP_BYTES, ForbiddenRequestError, GuestRequests, own_numbers

MAX_GUESTS = 96
"""Of the 256 clients that the X server takes, so that the desktop's own always find room."""
INTRODUCTION_SECONDS = 30.0
"""How long a program may take to say who it is."""
BACKLOG = 64
BYTES = 1 << 16
_BYTE_ORDERS = {b"l": "<", b"B": ">"}

type Change = Callable[[bytes], bytes]


class NotAnXClientError(Exception):
    """What a program said first is not what an X client says first."""


@dataclass(frozen=True)
class Guests:
    """Lets programs in to the display `name`, whose server listens at `server`; `trusted` ones are like its own clients."""

    name: str
    server: str
    trusted: bool = False

    def serve(self, listener: socket.socket) -> None:
        """Take connections for as long as `listener` gives them; OSError when it no longer does."""
        room = threading.BoundedSemaphore(MAX_GUESTS)
        while True:
            guest, _ = listener.accept()
            if room.acquire(blocking=False):
                threading.Thread(target=self._host, args=(guest, room), daemon=True).start()
            else:
                guest.close()

    def _host(self, guest: socket.socket, room: threading.BoundedSemaphore) -> None:
        try:
            with guest, socket.socket(socket.AF_UNIX) as server:
                order = self._introduce(guest, server)
                exchange(guest, server, _as_it_is if self.trusted else _requests(guest, server, order))
        except NotAnXClientError:
            return  # nor does it matter to anybody else
        except (OSError, DisplayError, ConnectionClosedError, XError) as error:
            sys.stderr.write(f"guests: a program was not let in: {error}\n")
        finally:
            room.release()

    def _introduce(self, guest: socket.socket, server: socket.socket) -> str:
        guest.settimeout(INTRODUCTION_SECONDS)
        start = read_introduction(guest)
        guest.settimeout(None)
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
    """Bind `path` for everybody, in the place of a stale socket; who finds it there can connect."""
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
    """The cookie that the desktop's own clients use; empty where the X server asks for none."""
    try:
        _, cookie = xauth.Xauthority().get_best_auth(xauth.FamilyLocal, socket.gethostname().encode(), int(name.removeprefix(":")))  # type: ignore[arg-type] # as Xlib itself calls it
    except (XauthError, XNoAuthError):
        return b""
    return bytes(cookie)


def read_introduction(guest: socket.socket) -> bytes:
    """Read what an X client says first, and give its start: byte order and version of the protocol, in 6 bytes."""
    start = _read(guest, 12)
    order = _BYTE_ORDERS.get(start[:1])
    if order is None:
        raise NotAnXClientError("it does not speak X11")
    lengths = struct.unpack(f"{order}HH", start[6:10])
    _read(guest, sum(length + -length % 4 for length in lengths))
    return start[:6]


def introduction(start: bytes, cookie: bytes) -> bytes:
    """What the X server is told in its place."""
    protocol = PROTOCOL if cookie else b""
    lengths = struct.pack(f"{_BYTE_ORDERS[start[:1]]}HHxx", len(protocol), len(cookie))
    return start + lengths + b"".join(text + bytes(-len(text) % 4) for text in (protocol, cookie))


def _read(guest: socket.socket, size: int) -> bytes:
    data = guest.recv(size, socket.MSG_WAITALL) if size else b""
    if len(data) < size:
        raise NotAnXClientError("it hung up")
    return data


def exchange(guest: socket.socket, server: socket.socket, change: Change) -> None:
    """Carry bytes both ways until either side hangs up; what the guest says goes through `change`."""
    back = threading.Thread(target=_carry, args=(server, guest, _as_it_is), daemon=True)
    back.start()
    _carry(guest, server, change)
    back.join()


def _requests(guest: socket.socket, server: socket.socket, order: str) -> Change:
    """Pass on the start of the X server's first answer, which says what is the guest's own."""
    setup = server.recv(SETUP_BYTES, socket.MSG_WAITALL)
    guest.sendall(setup)
    if len(setup) < SETUP_BYTES:
        raise NotAnXClientError("the X server refused it")
    return GuestRequests(order, *own_numbers(order, setup)).take


def _as_it_is(data: bytes) -> bytes:
    return data


def _carry(source: socket.socket, target: socket.socket, change: Change) -> None:
    with suppress(OSError, ForbiddenRequestError):
        while data := source.recv(BYTES):
            target.sendall(change(data))
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
