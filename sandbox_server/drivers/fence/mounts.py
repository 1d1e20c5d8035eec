"""Hides paths or makes them read-only by mounts in the process's own namespace.

Landlock can only allow; these mounts remove parts of what is allowed. Runs as root of a user namespace that owns the
mount namespace.
"""

import os
from collections.abc import Collection, Iterator, Sequence

from sandbox_server.drivers.box.namespaces import MS_BIND, MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_RDONLY, MS_REMOUNT, bind, freeze_mount, mount

_KEPT = MS_NOSUID | MS_NODEV | MS_NOEXEC
"""Flags that a mount inherited from elsewhere must keep; statvfs(3) uses the same bits."""


def within(path: str, folder: str) -> bool:
    """Whether a path is a folder or below it."""
    return f"{path}/".startswith(folder.rstrip("/") + "/")


def resolved(paths: Collection[str]) -> list[str]:
    """Return the existing paths with links resolved, shorter ones first."""
    return sorted({os.path.realpath(path) for path in paths if os.path.lexists(path)}, key=lambda path: path.count("/"))


def hide(denied: Collection[str], allowed: Collection[str]) -> None:
    """Hide each of `denied`, except what `allowed` names below it. Of two nested paths the inner one counts."""
    hidden = resolved(denied)
    shown = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in resolved(allowed)}
    for path in hidden:
        if not os.path.lexists(path):  # hidden with a directory above it
            continue
        if os.path.isdir(path):
            _hide_folder(path, [(inner, fd) for inner, fd in shown.items() if inner != path and _innermost(inner, hidden) == path])
        else:  # a device on a mount without devices cannot be opened
            freeze_mount("/dev/null", path)
    for fd in shown.values():
        os.close(fd)


def _innermost(path: str, folders: Sequence[str]) -> str:
    return max((folder for folder in folders if within(path, folder)), key=len, default="")


def _hide_folder(path: str, shown: Sequence[tuple[str, int]]) -> None:
    mount("fence", path, "tmpfs", MS_NOSUID | MS_NODEV, f"mode={'111' if shown else '0'},size=64k")
    for inner, fd in shown:
        _make_like(fd, inner)
        bind(f"/proc/self/fd/{fd}", inner)
    mount(None, path, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)


def _make_like(fd: int, path: str) -> None:
    """Make an empty directory or file as the mount point for `fd`. Directories above it can only be entered."""
    os.makedirs(os.path.dirname(path), mode=0o111, exist_ok=True)
    if os.path.isdir(f"/proc/self/fd/{fd}"):
        os.makedirs(path, exist_ok=True)
    else:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o444))


def hold(denied: Collection[str], allowed: Collection[str]) -> None:
    """Make each existing path of `denied` read-only. Parent directories below `allowed` cannot be renamed."""
    frozen, writable = resolved(denied), resolved(allowed)
    pinned = {folder for path in frozen for folder in _way_to(path) if any(within(folder, outer) for outer in writable)}
    for folder in sorted(pinned, key=lambda path: path.count("/")):
        bind(folder, folder)
    for path in frozen:
        freeze_mount(path, path, _flags(path))


def _way_to(path: str) -> Iterator[str]:
    while (path := os.path.dirname(path)) != "/":
        yield path


def _flags(path: str) -> int:
    return os.statvfs(path).f_flag & _KEPT
