"""Puts the box's tree of files together. Runs in the process that becomes the box's first, as root of the outer of its two user namespaces.

Afterwards the inner user namespace gets a copy of all mounts, and the kernel locks them there: root in the box can mount more over its
tree, but can neither take away nor make writable what is mounted here.
"""

import os
import stat
import sys
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress

from sandbox_server.drivers.box import resolve_beneath
from sandbox_server.drivers.box.mount_plan import X_SOCKETS, LayeredPart, Part, SharedPart, Stack, mount_points
from sandbox_server.drivers.box.namespaces import (
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_RDONLY,
    bind,
    follow_no_links,
    freeze_mount,
    keep_mounts_private,
    mount,
)

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_DEVICE_LINKS = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
# What the engine hides and protects in an ordinary container (the OCI runtimes' maskedPaths and readonlyPaths).
_PROC_READ_ONLY = ("sys", "sysrq-trigger", "irq", "bus", "fs")
_PROC_HIDDEN = ("acpi", "asound", "interrupts", "kcore", "keys", "latency_stats", "sched_debug", "scsi", "timer_list", "timer_stats")
_SYS_HIDDEN = ("firmware", "devices/virtual/powercap")
_QUIET = MS_NOSUID | MS_NODEV


def build(store: str, parts: Sequence[Part], stacks: Sequence[Stack], agent_run: str, hidden: Collection[str]) -> str:
    """Mount everything, and give the path at which it is.

    `stacks` are what overlayfs puts together for each layered part; `agent_run` is shown read-only; `hidden` are paths that must not
    show through a shared mount. What the agent left in its layers leads nowhere: each way below the store and the tree is opened name
    by name, and beside that no link below the store can be followed at all, by a flag of its mount (MS_NOSYMFOLLOW, Linux 5.10).
    """
    keep_mounts_private()
    bind(store, store)
    follow_no_links(store)
    os.chdir(store)
    root = os.path.join(store, "root")
    waiting = iter(stacks)
    for part in parts:
        if isinstance(part, LayeredPart):
            _mount_layers(store, next(waiting), root, part.path)
        else:
            _share(part, root)
    for path in hidden:
        if resolve_beneath.is_directory(root, path):
            with resolve_beneath.opened(root, path) as target:
                mount("hidden", target, "tmpfs", MS_RDONLY, "size=0,mode=0")
    _mount_kernel(root)
    _mount_run(root, agent_run)
    return root


def _mount_layers(store: str, stack: Stack, root: str, path: str) -> None:
    """Mount a part by the descriptors of its layers; the length of their names does not matter then, of which a page has to hold all."""
    with ExitStack() as held:
        target = held.enter_context(resolve_beneath.opened(root, path))
        lowers = [held.enter_context(_lower(store, lower)) for lower in stack.lowers]
        upper, work = (held.enter_context(resolve_beneath.opened(store, name)) for name in (stack.upper, stack.work))
        mount("box", target, "overlay", 0, f"lowerdir={':'.join(lowers)},upperdir={upper},workdir={work},userxattr")


def _lower(store: str, lower: str) -> AbstractContextManager[str]:
    return resolve_beneath.opened(lower, "") if lower.startswith("/") else resolve_beneath.opened(store, lower)


def _share(part: SharedPart, root: str) -> None:
    """Show a mount of the container's user; what the agent has put in its place gives way, unless that is a directory for a file."""
    if os.path.isdir(part.path):
        _make(root, part.path)
        with resolve_beneath.opened(root, part.path) as target:
            bind(part.path, target)
        return
    folder, name = os.path.split(part.path)
    _make(root, folder)
    with resolve_beneath.opened(root, folder) as place:
        target = f"{place}/{name}"
        if resolve_beneath.is_directory(place, name):
            _log(f"{part.path} is not shown: the agent has made a directory there")
            return
        _make_file(target)
        bind(part.path, target)


def _make_file(path: str) -> None:
    """Have a file to mount another on; its directory is one that no link led to."""
    with suppress(FileNotFoundError):
        if stat.S_ISREG(os.lstat(path).st_mode):
            return
        os.unlink(path)
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644))


def _make(root: str, path: str) -> None:
    """Have a directory in the tree, whatever the agent has put there."""
    made, replaced = resolve_beneath.make_directory(root, path)
    os.close(made)
    if replaced:
        _log(f"what the agent had put at {path} made way for what is mounted there")


def _log(message: str) -> None:
    sys.stderr.write(f"box: {message}\n")


def _mount_at(root: str, path: str, kind: str, flags: int, options: str | None = None) -> None:
    _make(root, path)
    with resolve_beneath.opened(root, path) as target:
        mount(kind, target, kind, flags, options)


def _mount_kernel(root: str) -> None:
    """Mount the kernel's own. Once something of ours is mounted at a path, the agent has no say in what is below."""
    _make(root, "/tmp")
    _mount_at(root, "/proc", "proc", _QUIET | MS_NOEXEC)
    for name in _PROC_READ_ONLY:
        if os.path.exists(f"{root}/proc/{name}"):
            freeze_mount(f"{root}/proc/{name}", f"{root}/proc/{name}")
    _make(root, "/sys")
    with resolve_beneath.opened(root, "/sys") as target:
        bind("/sys", target)
    for point in mount_points():
        if f"{point}/".startswith(f"{root}/sys/"):
            freeze_mount(None, point)
    for path in (*(f"{root}/proc/{name}" for name in _PROC_HIDDEN), *(f"{root}/sys/{name}" for name in _SYS_HIDDEN)):
        _hide(path)
    _mount_at(root, "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755,size=64k")
    _fill_devices(f"{root}/dev")


def _hide(path: str) -> None:
    if os.path.isdir(path):
        mount("hidden", path, "tmpfs", MS_RDONLY, "size=0")
    elif os.path.exists(path):
        freeze_mount("/dev/null", path, MS_NOSUID | MS_NOEXEC)


def _fill_devices(dev: str) -> None:
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
    _mount_at(root, "/run", "tmpfs", _QUIET, "mode=755,size=64m")
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
    if not os.path.isdir(sockets) or not resolve_beneath.is_directory(root, X_SOCKETS):
        return
    with resolve_beneath.opened(root, X_SOCKETS) as place:
        bind(sockets, place)
    with resolve_beneath.opened(root, X_SOCKETS) as mounted:
        freeze_mount(None, mounted)


def _mount_own(folder: str) -> None:
    """Give the agent an empty directory of the same owner in the place of each of its own."""
    for entry in list(os.scandir(folder)):
        status = entry.stat(follow_symlinks=False)
        if entry.is_dir(follow_symlinks=False) and status.st_uid != 0:
            own = f"uid={status.st_uid},gid={status.st_gid},mode={stat.S_IMODE(status.st_mode):o},size=64m"
            mount("own", entry.path, "tmpfs", _QUIET, own)
