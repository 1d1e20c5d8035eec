"""What the box's tree of files is made of, found by looking at the container's.

Every directory of the image that holds anything becomes a layered one: the image's files below, what the agent changed above. The kernel
refuses a layered directory over one that has a mount below it, so such a directory is copied where it is small, and divided into its
subdirectories where it is not. What the container's user mounted is shared with the box as it is. What belongs to the sandbox itself, and
the kernel's own filesystems, are left out: the box gets its own.
"""

import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

OWN = ("/proc", "/sys", "/dev", "/run")
"""What the box gets of its own."""
EMPTY = ("/tmp",)
"""What starts empty: the image's is the control side's."""
X_SOCKETS = "/tmp/.X11-unix"
"""Where X clients look for a display; the box's is laid over it."""
ENGINE_FILES = ("/etc/hosts", "/etc/hostname", "/etc/resolv.conf")
"""What the engine mounts. The box gets copies, because the control side resolves names by them too."""
COPIED = ("/etc",)
"""What is copied even where nothing is mounted below it: what the control side and the box say of users is not the same."""
SYSTEM = (*OWN, *EMPTY, "/bin", "/boot", "/etc", "/lib", "/lib64", "/opt", "/root", "/sbin", "/usr", "/var")
"""What is never shared with the box as it is: what the control side is made of is there."""
_HOSTS = """\
127.0.0.1 localhost {name}
::1 localhost ip6-localhost ip6-loopback
"""
SMALL_ENTRIES = 5000
SMALL_BYTES = 64 << 20
"""A directory with a mount below it is copied whole up to this many files and bytes."""


@dataclass(frozen=True)
class LayeredPart:
    """A directory of the image, at `path` of the box; `lower` is where its files are."""

    path: str
    lower: str


@dataclass(frozen=True)
class SharedPart:
    """A mount of the container's user, the same inside the box."""

    path: str


type Part = LayeredPart | SharedPart


@dataclass(frozen=True)
class Stack:
    """What overlayfs puts together for a layered part: `lowers` from the uppermost down, relative to the store but for the image's."""

    lowers: tuple[str, ...]
    upper: str
    work: str


def mount_points(table: str = "/proc/self/mountinfo") -> list[str]:
    """Where something is mounted, sorted (proc_pid_mountinfo(5))."""
    lines = Path(table).read_bytes().decode("utf-8", "surrogateescape").split("\n")
    return sorted({_unescaped(line.split(" ")[4]) for line in lines if line})


def _unescaped(field: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(code, character)
    return field


class Planner:
    """Divides the tree below `image`; copies go to `base`, and nothing of `hidden` gets into the plan."""

    def __init__(self, base: str, mounts: Sequence[str], hidden: Collection[str], image: str = "/") -> None:
        self._base = base
        self._mounts = mounts
        self._hidden = {*hidden, *OWN, *EMPTY}
        self._omitted = frozenset(hidden)
        self._image = image.rstrip("/")

    def plan(self) -> list[Part]:
        """Copy what has to be copied and give the parts in the order in which they are mounted; the first is the root."""
        return list(self._divide("/"))

    def _parts(self, path: str) -> Iterator[Part]:
        below = self._mounts_below(path)
        if path in self._mounts:
            yield SharedPart(path)
        elif not below and path not in COPIED:
            yield LayeredPart(path, self._source(path))
        elif is_small(self._source(path), leave=[self._source(mount) for mount in below]):
            yield self._copy(path, below)
            yield from (SharedPart(mount) for mount in below if mount not in ENGINE_FILES and mount not in self._hidden)
        else:
            yield from self._divide(path)

    def _divide(self, path: str) -> Iterator[Part]:
        target = self._make_directory(path)
        children = []
        for entry in list(os.scandir(self._source(path))):
            child = os.path.join(path, entry.name)
            if child in self._omitted:
                continue
            if entry.is_dir(follow_symlinks=False):
                self._make_directory(child)
                children += [child] if child in self._mounts or os.listdir(entry.path) else []
            elif _is_copied(entry):
                shutil.copy2(entry.path, f"{target}/{entry.name}", follow_symlinks=False)
                children += [child] if child in self._mounts and child not in ENGINE_FILES else []
        yield LayeredPart(path, target)
        for child in sorted(children):
            if child not in self._hidden:
                yield from self._parts(child)

    def _copy(self, path: str, leave: Sequence[str]) -> LayeredPart:
        self._make_directory(path)
        copy_tree(self._source(path), self._target(path), leave={self._source(mount) for mount in leave})
        return LayeredPart(path, self._target(path))

    def _make_directory(self, path: str) -> str:
        target = self._target(path)
        os.makedirs(target, exist_ok=True)
        copy_owner(self._source(path) or "/", target)
        return target

    def _source(self, path: str) -> str:
        return self._image + path if path != "/" else self._image or "/"

    def _target(self, path: str) -> str:
        return self._base + path.rstrip("/")

    def _mounts_below(self, path: str) -> list[str]:
        """The uppermost mounts below a directory: what is mounted below those comes with them."""
        found: list[str] = []
        for mount in self._mounts:
            inside = mount.startswith(path.rstrip("/") + "/")
            if inside and not any(mount.startswith(upper + "/") for upper in found):
                found.append(mount)
        return found


def is_small(path: str, leave: Collection[str]) -> bool:
    """Whether a directory, without the mounts in `leave`, is quickly copied."""
    entries = size = 0
    waiting = [path]
    while waiting:
        for entry in list(os.scandir(waiting.pop())):
            entries += 1
            size += entry.stat(follow_symlinks=False).st_size
            if entries > SMALL_ENTRIES or size > SMALL_BYTES:
                return False
            if entry.is_dir(follow_symlinks=False) and entry.path not in leave:
                waiting.append(entry.path)
    return True


def copy_tree(source: str, target: str, leave: Collection[str]) -> None:
    """Copy files, links and directories with mode, owner and times; a directory in `leave` is left empty."""
    for entry in list(os.scandir(source)):
        copy = f"{target}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            os.mkdir(copy)
            if entry.path not in leave:
                copy_tree(entry.path, copy, leave)
        elif _is_copied(entry):
            shutil.copy2(entry.path, copy, follow_symlinks=False)
        else:
            continue
        copy_owner(entry.path, copy)


def copy_owner(source: str, target: str) -> None:
    """Give `target` the owner, mode and times of `source`; neither is followed."""
    status = os.lstat(source)
    os.chown(target, status.st_uid, status.st_gid, follow_symlinks=False)
    shutil.copystat(source, target, follow_symlinks=False)


def _is_copied(entry: os.DirEntry[str]) -> bool:
    return entry.is_symlink() or entry.is_file(follow_symlinks=False)


def is_system(path: str) -> bool:
    """Whether a directory is one of the system's, or holds one: the box never gets such a one as it is."""
    return any(f"{path.rstrip('/')}/".startswith(f"{one}/") or one.startswith(f"{path.rstrip('/')}/") for one in SYSTEM)


def prepare(
    base: str, hidden: Collection[str], sudo_user: str | None, shared: Sequence[str] = (), resolver: str | None = None
) -> list[Part]:
    """Plan the box's tree, with copies in `base`; `sudo_user` may become root in the box, and only there, without a password.

    Directories in `shared` are the container's own in the box too, and in no layer. With a `resolver` names are looked up there, and the
    box knows no addresses of other hosts.
    """
    parts = Planner(base, sorted({*mount_points(), *shared}), hidden).plan()
    etc = next((part for part in parts if part.path == "/etc"), None)
    if sudo_user and isinstance(etc, LayeredPart) and os.path.isdir(f"{etc.lower}/sudoers.d"):
        with open(f"{etc.lower}/sudoers.d/agent", "w", encoding="ascii", opener=_private) as file:
            file.write(f"{sudo_user} ALL=(ALL:ALL) NOPASSWD: ALL\n")
    if resolver and isinstance(etc, LayeredPart):
        _replace(f"{etc.lower}/resolv.conf", f"nameserver {resolver}\n")
        _replace(f"{etc.lower}/hosts", _HOSTS.format(name=os.uname().nodename))
    return parts


def _replace(path: str, content: str) -> None:
    """Write a file anew, whatever is there."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    with open(path, "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o644)
        file.write(content)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o440)
