"""What the desktop finds when it starts: a directory of its own, and the cookie that the X server asks for."""

import os
import secrets
import socket
import stat
import struct
from contextlib import suppress
from pathlib import Path

from sandbox_server.boot import places
from sandbox_server.drivers.storage import atomic_write
from sandbox_server.settings import Settings

COOKIE_BYTES = 16
SOCKETS = Path("/tmp/.X11-unix")
_LOCAL, _WILD = 256, 65535
"""Families of addresses (Xauth(3)): this host by name, for clients that know no other, and any. A client that is told a socket's path
takes it for display 0, so that one entry is for any number too."""


def prepare(settings: Settings, sockets: Path = SOCKETS) -> None:
    """Make the desktop's directories, a new cookie, and the place for the X server's socket, which the agent cannot enter.

    The cookie alone would not keep the agent out: the browser that it drives can read what the desktop's user can.
    """
    desktop = (settings.users.desktop_uid, settings.users.control_uid)
    places.own(settings.paths.desktop, 0o750, desktop)
    places.own(f"{settings.paths.desktop}/pulse", 0o750, desktop)
    places.own(settings.paths.desktop_sockets, 0o750, desktop)
    places.own(settings.paths.guest_sockets, 0o775, (os.geteuid(), settings.users.desktop_uid))
    places.own(settings.paths.downloads, 0o770, desktop)
    mark_microphone(Path(settings.paths.microphone), desktop, there=settings.stream.microphone)
    write_authority(Path(settings.paths.authority), settings.display.name, desktop)
    _set_aside(sockets)
    places.own(str(sockets), 0o1770, (0, settings.users.desktop_uid) if os.geteuid() == 0 else (os.geteuid(), os.getegid()))


def _set_aside(sockets: Path) -> None:
    """Move away what somebody but root made where the X server's socket is to be, in a directory that is everybody's."""
    with suppress(FileNotFoundError):
        found = sockets.lstat()
        if os.geteuid() == 0 and (found.st_uid != 0 or not stat.S_ISDIR(found.st_mode)):
            sockets.rename(f"{sockets}.{secrets.token_hex(8)}")


def guest_environ(settings: Settings, *, boxed: bool) -> dict[str, str]:
    """What tells the agent's programs where the display is. Without a box, its usual place is the X server's own, so they get a path."""
    if "desktop" in settings.components.left_out:
        return {}
    return {"DISPLAY": settings.display.name if boxed else f"unix:{settings.paths.guest_socket(settings.display.name)}"}


def mark_microphone(file: Path, owner: atomic_write.Owner, *, there: bool) -> None:
    """Say to the sound server whether the desktop has a microphone: `sound.pa` looks for the file."""
    if there:
        atomic_write.replace(file, b"", mode=0o440, owner=owner)
    else:
        file.unlink(missing_ok=True)


def write_authority(file: Path, display: str, owner: atomic_write.Owner) -> None:
    """Write a new cookie for X clients; the user and the group of `owner` can read it."""
    cookie = secrets.token_bytes(COOKIE_BYTES)
    entries = (_entry(_LOCAL, socket.gethostname(), display, cookie), _entry(_WILD, "", display, cookie), _entry(_WILD, "", "", cookie))
    atomic_write.replace(file, b"".join(entries), mode=0o440, owner=owner)


def _entry(family: int, address: str, display: str, cookie: bytes) -> bytes:
    """One entry of an authority file: numbers and lengths of two bytes, the highest first (Xau's AuRead.c)."""
    fields = (address.encode(), display.removeprefix(":").encode(), b"MIT-MAGIC-COOKIE-1", cookie)
    return struct.pack(">H", family) + b"".join(struct.pack(">H", len(field)) + field for field in fields)
