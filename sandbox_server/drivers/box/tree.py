"""Puts the box's tree of files together. Runs in the process that becomes the box's first, as root of the outer of its two user namespaces.

Afterwards the inner user namespace gets a copy of all mounts, and the kernel locks them there: root in the box can mount more over its
tree, but can neither take away nor make writable what is mounted here.
"""

import os
import stat
from collections.abc import Collection, Sequence
from contextlib import suppress

from sandbox_server.drivers.box.namespaces import (
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_RDONLY,
    bind,
    freeze_mount,
    keep_mounts_private,
    mount,
)
from sandbox_server.drivers.box.plan import X_SOCKETS, Layered, Part, Shared, mount_points

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_DEVICE_LINKS = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
# What the engine hides and protects in an ordinary container (the OCI runtimes' maskedPaths and readonlyPaths).
_PROC_READ_ONLY = ("sys", "sysrq-trigger", "irq", "bus", "fs")
_PROC_HIDDEN = ("acpi", "asound", "interrupts", "kcore", "keys", "latency_stats", "sched_debug", "scsi", "timer_list", "timer_stats")
_SYS_HIDDEN = ("firmware", "devices/virtual/powercap")
_QUIET = MS_NOSUID | MS_NODEV


def build(store: str, parts: Sequence[Part], options: Sequence[str], agent_run: str, hidden: Collection[str]) -> str:
    """Mount everything, and give the path at which it is.

    `options` are overlayfs's for each layered part, relative to `store`; `agent_run` is shown read-only; `hidden` are paths that must
    not show through a shared mount.
    """
    keep_mounts_private()
    os.chdir(store)
    root = os.path.join(store, "root")
    waiting = iter(options)
    for part in parts:
        target = root + part.path.rstrip("/")
        if isinstance(part, Layered):
            mount("box", target, "overlay", 0, next(waiting))
        else:
            _share(part, target)
    for path in hidden:
        if os.path.isdir(root + path):
            mount("hidden", root + path, "tmpfs", MS_RDONLY, "size=0,mode=0")
    _mount_kernel(root)
    _mount_run(root, agent_run)
    return root


def _share(part: Shared, target: str) -> None:
    if not os.path.lexists(target):  # the agent removed it before anything was mounted there
        if os.path.isdir(part.path):
            os.makedirs(target)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    bind(part.path, target)


def _mount_kernel(root: str) -> None:
    for name in ("proc", "sys", "dev", "run", "tmp"):
        os.makedirs(f"{root}/{name}", exist_ok=True)
    mount("proc", f"{root}/proc", "proc", _QUIET | MS_NOEXEC)
    for name in _PROC_READ_ONLY:
        if os.path.exists(f"{root}/proc/{name}"):
            freeze_mount(f"{root}/proc/{name}", f"{root}/proc/{name}")
    bind("/sys", f"{root}/sys")
    for point in mount_points():
        if f"{point}/".startswith(f"{root}/sys/"):
            freeze_mount(None, point)
    for path in (*(f"{root}/proc/{name}" for name in _PROC_HIDDEN), *(f"{root}/sys/{name}" for name in _SYS_HIDDEN)):
        _hide(path)
    _mount_devices(f"{root}/dev")


def _hide(path: str) -> None:
    if os.path.isdir(path):
        mount("hidden", path, "tmpfs", MS_RDONLY, "size=0")
    elif os.path.exists(path):
        freeze_mount("/dev/null", path, MS_NOSUID | MS_NOEXEC)


def _mount_devices(dev: str) -> None:
    mount("dev", dev, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755,size=64k")
    for name in DEVICES:
        os.close(os.open(f"{dev}/{name}", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o666))
        freeze_mount(f"/dev/{name}", f"{dev}/{name}", MS_NOSUID | MS_NOEXEC)  # it can be written to, its mode cannot be changed
    for name in ("pts", "shm", "mqueue"):
        os.mkdir(f"{dev}/{name}")
    mount("devpts", f"{dev}/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620,gid=5")
    mount("shm", f"{dev}/shm", "tmpfs", _QUIET | MS_NOEXEC, f"mode=1777,size={_size_of('/dev/shm')}")
    with suppress(OSError):  # a kernel may have none
        mount("mqueue", f"{dev}/mqueue", "mqueue", _QUIET | MS_NOEXEC)
    for name, target in _DEVICE_LINKS.items():
        os.symlink(target, f"{dev}/{name}")


def _size_of(path: str) -> int:
    room = os.statvfs(path)
    return room.f_blocks * room.f_frsize


def _mount_run(root: str, agent_run: str) -> None:
    mount("run", f"{root}/run", "tmpfs", _QUIET, "mode=755,size=64m")
    os.mkdir(f"{root}/run/lock", 0o1777)
    os.chmod(f"{root}/run/lock", 0o1777)
    if os.path.isdir(agent_run):
        os.makedirs(root + agent_run, exist_ok=True)
        bind(agent_run, root + agent_run)
        _mount_own(root + agent_run)
        freeze_mount(None, root + agent_run)
        _mount_display(root, f"{agent_run}/x11")


def _mount_display(root: str, sockets: str) -> None:
    """Show the display where X clients look for it, unless the agent has put a link or a file there."""
    place = root + X_SOCKETS
    if os.path.isdir(sockets) and os.path.isdir(place) and not os.path.islink(place) and not os.path.islink(os.path.dirname(place)):
        bind(sockets, place)
        freeze_mount(None, place)


def _mount_own(folder: str) -> None:
    """Give the agent an empty directory of the same owner in the place of each of its own."""
    for entry in list(os.scandir(folder)):
        status = entry.stat(follow_symlinks=False)
        if entry.is_dir(follow_symlinks=False) and status.st_uid != 0:
            own = f"uid={status.st_uid},gid={status.st_gid},mode={stat.S_IMODE(status.st_mode):o},size=64m"
            mount("own", entry.path, "tmpfs", _QUIET, own)
