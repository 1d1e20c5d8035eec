"""What programs on the desktop see: the image's own system, which only the image's maker wrote, with the box's files in it.

Chromium shows and saves the agent's files, and holds what the agent must not have: the cookie of the X server, the DevTools pipe, passwords
in its profile. So it lives outside the box's inner user namespace, where root in the box can neither trace it nor reach its files, and
executes nothing that the box can write; nor does a link that the agent makes lead it to files of its own. It shares the box's process
namespace, and ends with the box.
"""

import errno
import os
from collections.abc import Collection, Iterator
from contextlib import suppress

from sandbox_server.drivers.box.mount_plan import X_SOCKETS, mount_points
from sandbox_server.drivers.box.namespaces import MS_RDONLY, bind, follow_no_links, mount

SYSTEM = ("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "opt", "run", "sbin", "sys", "usr", "var")
"""The image's, not the box's: programs, libraries and what they are configured by."""

PROFILES = "profiles"
"""The directory of the browser's profiles in the box's store."""


def build(root: str, sockets: str, hidden: Collection[str], profiles: tuple[str, str] = ("", "")) -> None:
    """Lay the box's files, mounted at `root`, over this process's mount namespace, which is a copy of the container's.

    `sockets` is a directory that shows the X server's sockets, which are otherwise in /tmp. `hidden` are paths that must not show.
    `profiles` is a directory and where it shows, unless something is mounted there.
    """
    kept, shown_at = profiles
    if os.path.isdir(kept) and os.path.isdir(shown_at) and shown_at not in mount_points():
        bind(kept, shown_at)
    if os.path.isdir(sockets) and os.path.isdir(X_SOCKETS):
        bind(X_SOCKETS, sockets)
    os.chdir(root)  # a directory that is laid over another may hide the way here
    names = list(shown(root))
    for name in names:
        with suppress(FileNotFoundError):  # the agent made it, and nothing can be mounted where the image has no directory
            bind(name, f"/{name}")
    for point in mount_points():
        if point.split("/")[1] in names and not f"{point}/".startswith("/proc/"):
            _follow_no_links(point)
    for path in hidden:
        if os.path.isdir(path):
            mount("hidden", path, "tmpfs", MS_RDONLY, "size=0,mode=0")


def _follow_no_links(point: str) -> None:
    try:
        follow_no_links(point)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.EINVAL):  # something else is mounted over it
            raise


def shown(root: str) -> Iterator[str]:
    """The directories at the top of the box's tree that are shown; the agent may have put a link where one was."""
    for entry in sorted(os.scandir(root), key=lambda entry: entry.name):
        if entry.is_dir(follow_symlinks=False) and entry.name not in SYSTEM:
            yield entry.name


def viewable() -> tuple[str, ...]:
    """The directories whose files the browser may be asked to show: those of the agent's, not the system's."""
    return tuple(f"/{name}" for name in shown("/") if name != "proc")
