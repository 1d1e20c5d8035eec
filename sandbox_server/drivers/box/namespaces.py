"""System calls for namespaces and mounts that Python does not have, and the two that need care.

Only the standard library: the spawner and the box daemon are made of this.
"""

import ctypes
import fcntl
import importlib
import os
import signal
import struct
import sys
from collections.abc import Callable
from typing import NoReturn

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NAME = 1, 4, 15
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_CAPABILITY_VERSION_3 = 0x20080522
_NS_GET_USERNS = 0xB701
_ARG_START = 48 - 3
"""Where /proc/PID/stat says it, counted from the field behind the name (proc_pid_stat(5))."""
_MS_NOSYMFOLLOW, _MS_RELATIME = 256, 1 << 21

_NEEDED_LATER = ("encodings.ascii", "encodings.cp437", "encodings.latin_1", "encodings.utf_8")
"""Codecs, among them that of names in a zip archive."""

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def mount(source: str | None, target: str, kind: str | None, flags: int = 0, options: str | None = None) -> None:
    """Mount as mount(2) does."""
    encoded = [os.fsencode(text) if text is not None else None for text in (source, target, kind, options)]
    _check(_libc.mount(*encoded[:3], ctypes.c_ulong(flags), encoded[3]), target)


def bind(source: str, target: str) -> None:
    """Show `source`, and what is mounted below it, at `target` too."""
    mount(source, target, None, MS_BIND | MS_REC)


def freeze_mount(source: str | None, target: str, flags: int = MS_NOSUID | MS_NODEV | MS_NOEXEC) -> None:
    """Show `source` at `target` read-only, or make what is mounted at `target` so."""
    if source is not None:
        bind(source, target)
    mount(None, target, None, MS_BIND | MS_REMOUNT | MS_RDONLY | flags)


def follow_no_links(target: str) -> None:
    """Let no symbolic link in what is mounted at `target` lead anywhere; its other flags stay (mount(2), since Linux 5.10)."""
    flags = os.statvfs(target).f_flag
    kept = flags & (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | os.ST_NOATIME | os.ST_NODIRATIME)
    relative = _MS_RELATIME if flags & os.ST_RELATIME else 0
    mount(None, target, None, MS_BIND | MS_REMOUNT | _MS_NOSYMFOLLOW | kept | relative)


def forbid_links(folder: str) -> None:
    """Let this process, in a mount namespace of its own, follow no symbolic link below a directory, whoever changes what is in it."""
    os.unshare(os.CLONE_NEWNS)
    keep_mounts_private()
    bind(folder, folder)
    follow_no_links(folder)


def keep_mounts_private() -> None:
    """Let no mount made here show elsewhere, nor the other way round."""
    mount(None, "/", None, MS_REC | MS_PRIVATE)


def mount_memory(path: str) -> None:
    """Give this process and its children a filesystem in memory at `path`, in a mount namespace of their own.

    It has the size of the one in memory that is mounted there, where one is: that is how whoever runs the container limits it.
    """
    size = _memory_size(path)
    os.unshare(os.CLONE_NEWNS)
    keep_mounts_private()
    mount("box", path, "tmpfs", MS_NOSUID | MS_NODEV, f"mode=700{size}")


def _memory_size(path: str) -> str:
    room, most = os.statvfs(path), os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    size = room.f_blocks * room.f_frsize
    return f",size={size},nr_inodes={room.f_files}" if os.path.ismount(path) and 0 < size < most else ""


def enter_root(path: str) -> None:
    """Make the mounted tree at `path` this namespace's root and forget the old one (pivot_root(2), NOTES)."""
    os.chdir(path)
    _check(_libc.pivot_root(b".", b"."), path)
    _check(_libc.umount2(b".", MNT_DETACH), "the old root")
    os.chdir("/")


def forbid_tracing(*, forbidden: bool = True) -> None:
    """Keep every process but those with rights over the container from reading this one's memory and files (prctl(2)).

    Children inherit it until they execute a program.
    """
    _check(_libc.prctl(_PR_SET_DUMPABLE, int(not forbidden), 0, 0, 0), "PR_SET_DUMPABLE")


def drop_capabilities() -> None:
    """Give up every capability, for good: what is executed gets none back, unless the user is root or the file gives it (capset(2))."""
    header, none = struct.pack("Ii", _CAPABILITY_VERSION_3, 0), bytes(24)
    _check(_libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "PR_CAP_AMBIENT")
    _check(_libc.capset(header, none), "capset")


def name_process(name: str) -> None:
    """Set what `ps` shows, at most 15 bytes."""
    _check(_libc.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0), "PR_SET_NAME")


def end_with(parent: int) -> None:
    """Have the kernel kill this process when `parent` ends, which forked it (PR_SET_PDEATHSIG, prctl(2))."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "PR_SET_PDEATHSIG")
    if os.getppid() != parent:
        os._exit(1)


def replace_arguments(name: str) -> None:
    """Make `name` this process's command line, cut where that was shorter; it is in the process's own memory (proc_pid_cmdline(5)).

    Nothing changes where the kernel does not say where that is, as gVisor.
    """
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    start, end = (int(word) for word in fields[_ARG_START : _ARG_START + 2])
    if end <= start:
        return
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, name.encode(), min(len(name), end - start - 1))


def owner(namespace: int) -> int:
    """Open the user namespace that owns another namespace (ioctl_nsfs(2))."""
    return fcntl.ioctl(namespace, _NS_GET_USERNS)


def import_what_is_needed_later() -> None:
    """Import what a process may need after `forbid_imports`. Who forks many of them does it once for all: it takes over a millisecond."""
    for name in _NEEDED_LATER:
        importlib.import_module(name)


def forbid_imports() -> None:
    """Let nothing be imported any more, in a process about to enter files that the agent can write: it would run the agent's code.

    What may still be needed is imported first.
    """
    import_what_is_needed_later()
    sys.meta_path.clear()


def own_id_map(kind: str) -> bytes:
    """Write the ids that exist in this user namespace as a map of each to itself; `kind` is uid or gid."""
    with open(f"/proc/self/{kind}_map", "rb") as file:
        extents = [line.split() for line in file]
    return b"".join(b"%s %s %s\n" % (first, first, count) for first, _, count in extents)


def write_id_maps(pid: int) -> None:
    """Give the user namespace that `pid` has just made the ids of this one. The writer must be in its parent."""
    for kind in ("uid", "gid"):
        with open(f"/proc/{pid}/{kind}_map", "wb", buffering=0) as file:
            file.write(own_id_map(kind))


def leave_user_namespace() -> None:
    """Move this process into a user namespace of its own with the same ids, where it has every capability.

    Its parent namespace is where it was, so that it loses every capability there. The process must have one thread.
    """
    ready, made = os.pipe()
    own = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.close(made)  # else it would wait for itself where there is nothing to map
        _finish(lambda: _map_once(own, ready))
    try:
        os.unshare(os.CLONE_NEWUSER)
        os.write(made, b"x")
    finally:
        os.close(made)
        os.close(ready)
        _, status = os.waitpid(pid, 0)
    if status != 0:
        raise PermissionError(1, "the ids of a new user namespace may not be set: CAP_SETUID, CAP_SETGID and CAP_SETFCAP are needed")


def _map_once(pid: int, ready: int) -> None:
    if os.read(ready, 1):
        write_id_maps(pid)


def _finish(work: Callable[[], None]) -> NoReturn:
    status = 1
    try:
        work()
        status = 0
    except OSError as error:
        os.write(2, f"namespaces: {error}\n".encode())
    finally:
        os._exit(status)
