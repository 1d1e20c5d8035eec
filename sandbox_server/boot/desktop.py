"""Prepares the desktop: its directories, and the cookie that the X server requires."""

import os
import secrets
import socket
import stat
import struct
from contextlib import suppress
from pathlib import Path

from sandbox_server.boot import places
from sandbox_server.drivers.box.desktop_root import PROFILES
from sandbox_server.drivers.storage import atomic_write
from sandbox_server.settings import Settings

COOKIE_BYTES = 16
SOCKETS = Path("/tmp/.X11-unix")
_LOCAL, _WILD = 256, 65535
"""Address families (Xauth(3)): this host by name, for older clients, and any address. A client that is given a socket's
path uses display 0, so an entry for any display number is needed too.
"""


def prepare(settings: Settings, sockets: Path = SOCKETS, volume: str | None = None) -> None:
    """Make the desktop's directories, a new cookie, and a directory for the X server's socket that the agent cannot enter.

    `volume` is the box's, where the browser's profiles outlive the container.

    The cookie alone is not enough: the browser, which the agent drives, can read the desktop user's files.
    """
    desktop = (settings.users.desktop_uid, settings.users.control_uid)
    places.make_directory(settings.paths.desktop, 0o750, desktop)
    places.make_directory(f"{settings.paths.desktop}/pulse", 0o750, desktop)
    places.make_directory(settings.paths.desktop_sockets, 0o750, desktop)
    places.make_directory(settings.paths.guest_sockets, 0o775, (os.geteuid(), settings.users.desktop_uid))
    places.make_directory(settings.paths.profiles, 0o700, desktop)
    if volume:
        places.make_directory(f"{volume}/{PROFILES}", 0o700, desktop)
    places.make_directory(settings.paths.downloads, 0o770, desktop)
    mark_microphone(Path(settings.paths.microphone), desktop, there=settings.stream.microphone)
    Path(settings.paths.screen_prepared).unlink(missing_ok=True)
    write_authority(Path(settings.paths.authority), settings.display.name, desktop)
    _set_aside(sockets)
    places.make_directory(str(sockets), 0o1770, (0, settings.users.desktop_uid) if os.geteuid() == 0 else (os.geteuid(), os.getegid()))
    with suppress(FileExistsError):
        (sockets / os.path.basename(settings.display.local_socket)).symlink_to(os.path.basename(settings.display.socket))


def _set_aside(sockets: Path) -> None:
    """Move away a socket directory that a user other than root made in the world-writable parent."""
    with suppress(FileNotFoundError):
        found = sockets.lstat()
        if os.geteuid() == 0 and (found.st_uid != 0 or not stat.S_ISDIR(found.st_mode)):
            sockets.rename(f"{sockets}.{secrets.token_hex(8)}")


def guest_environ(settings: Settings, *, boxed: bool) -> dict[str, str]:
    """Return DISPLAY and related variables for the agent's programs.

    Without a box they name a socket's path, because the usual socket is the X server's own.
    """
    if "desktop" in settings.components.left_out:
        return {}
    return {"DISPLAY": settings.display.name if boxed else f"unix:{settings.paths.guest_socket(settings.display.name)}"}


def mark_microphone(file: Path, owner: atomic_write.Owner, *, there: bool) -> None:
    """Tell the sound server whether the desktop has a microphone: `sound.pa` checks for this file."""
    if there:
        atomic_write.replace(file, b"", mode=0o440, owner=owner)
    else:
        file.unlink(missing_ok=True)


def write_authority(file: Path, display: str, owner: atomic_write.Owner) -> None:
    """Write a new cookie for X clients. The user and the group of `owner` can read it."""
    cookie = secrets.token_bytes(COOKIE_BYTES)
    entries = (_entry(_LOCAL, socket.gethostname(), display, cookie), _entry(_WILD, "", display, cookie), _entry(_WILD, "", "", cookie))
    atomic_write.replace(file, b"".join(entries), mode=0o440, owner=owner)


def _entry(family: int, address: str, display: str, cookie: bytes) -> bytes:
    """Return one entry of an authority file: numbers and lengths are two bytes, big-endian (Xau's AuRead.c)."""
    fields = (address.encode(), display.removeprefix(":").encode(), b"MIT-MAGIC-COOKIE-1", cookie)
    return struct.pack(">H", family) + b"".join(struct.pack(">H", len(field)) + field for field in fields)
