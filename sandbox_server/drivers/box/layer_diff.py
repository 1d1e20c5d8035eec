"""What layers hold: the changes between two states of the box.

A layer is the upper directory of an overlay: a deleted name is a character device 0/0, and a directory that hides the one below it is
marked opaque (kernel documentation, filesystems/overlayfs). The agent wrote what is in it, so nothing here follows a link.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import Literal

from sandbox_server.drivers.box.layer_store import BoxStore
from sandbox_server.drivers.box.mount_plan import LayeredPart
from sandbox_server.drivers.box.resolve_beneath import OPAQUE

MAX_COMPARED = 1_000_000
"""Paths that are compared for one answer."""
MAX_WEIGHED = 20_000
"""Entries of deleted directories whose bytes are counted for one answer."""
MAX_PATH = 4095
"""Bytes of a path in a layer; the kernel takes none that is longer (PATH_MAX)."""

MAX_LEVELS = 256
"""Directories in one another."""
MAX_NAME = 300
"""Bytes of a name in a directory, and of where the layers are."""

type Change = Literal["added", "changed", "deleted"]


@dataclass(frozen=True)
class LayerDifference:
    """One path that differs; sizes in bytes, of the older and the newer state, None where there is nothing."""

    path: str
    change: Change
    before: int | None
    after: int | None


def is_whiteout(status: os.stat_result) -> bool:
    """Whether an entry of a layer says that the name was deleted."""
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def is_opaque(path: str) -> bool:
    """Whether a directory of a layer hides what is below it."""
    with suppress(OSError):
        return os.getxattr(path, OPAQUE, follow_symlinks=False) == b"y"
    return False


@dataclass(frozen=True)
class LayeredView:
    """A state of the box that is not mounted: layers, the uppermost first, over the parts of the image."""

    layers: Sequence[str]
    parts: Sequence[LayeredPart]

    def find(self, path: str) -> os.stat_result | None:
        """What is at a path, which starts with a slash; None where nothing is."""
        for layer in self.layers:
            found, hidden = _look(layer, path)
            if found or hidden:
                return found
        lower, below = self._in_image(path)
        return _look(lower, below)[0] if lower else None

    def directories(self, path: str) -> list[str]:
        """The directories that are merged into the one at a path, the uppermost first."""
        found = []
        for layer in self.layers:
            status, hidden = _look(layer, path)
            if status and stat.S_ISDIR(status.st_mode):
                found.append(f"{layer}{path}")
            if hidden:
                return found
        lower, below = self._in_image(path)
        status = _look(lower, below)[0] if lower else None
        return [*found, f"{lower}{below}"] if status and stat.S_ISDIR(status.st_mode) else found

    def _in_image(self, path: str) -> tuple[str, str]:
        """Which part of the image has a path, and the path in it; empty where none has it."""
        part = max((part for part in self.parts if _is_below(path, part.path)), key=lambda part: len(part.path), default=None)
        return (part.lower, path[len(part.path.rstrip("/")) :]) if part else ("", "")


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _look(layer: str, path: str) -> tuple[os.stat_result | None, bool]:
    """Look for a path in one layer: what is there, and whether the layer hides what lower ones have. No link on the way is followed."""
    place, hidden = layer, False
    status: os.stat_result | None = None
    names = [name for name in path.split("/") if name]
    for left, name in enumerate(names, start=1 - len(names)):
        place = f"{place}/{name}"
        try:
            status = os.lstat(place)
        except OSError:
            return None, hidden
        if is_whiteout(status):
            return None, True
        directory = stat.S_ISDIR(status.st_mode)
        hidden |= not directory or is_opaque(place)
        if left and not directory:
            return None, True
    return status if names else os.lstat(layer), hidden


@dataclass
class DirectorySizes:
    """Counts the bytes of directories of a state that does not change, of at most `left` entries together; of more, the first count."""

    view: LayeredView
    left: int = MAX_WEIGHED

    def size(self, path: str) -> int:
        """The bytes of all files below a directory."""
        total, waiting = 0, [self.view.directories(path)]
        while waiting:
            for status, below in _merged(waiting.pop()):
                if not self.left:
                    return total
                self.left -= 1
                total += 0 if below else status.st_size
                if below:
                    waiting.append(below)
        return total


def _merged(directories: Sequence[str]) -> Iterator[tuple[os.stat_result, list[str]]]:
    """What is in directories that are merged, the uppermost first: of each name its status, and of a directory what is merged into it."""
    settled = set[str]()
    folders: dict[str, tuple[os.stat_result, list[str]]] = {}
    for directory in directories:
        for name, status in _entries(directory):
            if name in settled:
                continue
            path = f"{directory}/{name}"
            if stat.S_ISDIR(status.st_mode) and not is_too_long(path):
                folders.setdefault(name, (status, []))[1].append(path)
                if is_opaque(path):
                    settled.add(name)
            else:
                settled.add(name)
                if name not in folders and not is_whiteout(status):
                    yield status, []
    yield from folders.values()


def _entries(directory: str) -> list[tuple[str, os.stat_result]]:
    with suppress(OSError), os.scandir(directory) as entries:
        found = ((entry.name, _status(entry)) for entry in islice(entries, MAX_WEIGHED))
        return [(name, status) for name, status in found if status]
    return []


@dataclass(frozen=True)
class Comparison:
    """Two states of the box; `layers` are those that only one of them has: what differs is in them."""

    newer: LayeredView
    older: LayeredView
    layers: Sequence[str]


def diff(comparison: Comparison, limit: int) -> tuple[list[LayerDifference], bool]:
    """List what the newer state changed of the older, in the order of paths; and whether there was more than `limit`.

    A directory that was deleted, or took the place of another, is one entry, with the bytes of all that was in it. Of more
    than `MAX_COMPARED` paths the first are looked at.
    """
    found: list[LayerDifference] = []
    paths = {path for layer in comparison.layers for path in islice(_paths(layer), MAX_COMPARED)}
    for difference in _differences(comparison, sorted(paths, key=_folder_first)[:MAX_COMPARED]):
        if len(found) == limit:
            return found, True
        found.append(difference)
    return found, len(paths) >= MAX_COMPARED or any(map(is_too_long, paths))


def _folder_first(path: str) -> str:
    """Sorts what is in a directory right behind it."""
    return path.replace("/", "\0")


def _differences(comparison: Comparison, paths: Sequence[str]) -> Iterator[LayerDifference]:
    own = {part.path for part in comparison.older.parts}
    deleted, sizes = "\0", DirectorySizes(comparison.older)
    for path in paths:
        if path.startswith(deleted):
            continue
        for difference in _compare(path, comparison.newer, comparison.older, is_part=path in own):
            if difference.change == "deleted":
                deleted = f"{path}/"
                yield replace(difference, before=(difference.before or 0) + sizes.size(path))
            else:
                yield difference


def _compare(path: str, newer: LayeredView, older: LayeredView, *, is_part: bool) -> Iterator[LayerDifference]:
    before, after = older.find(path), newer.find(path)
    if before is None and after is None:
        return
    if before is None or after is None:
        yield LayerDifference(path, "added" if before is None else "deleted", _size(before), _size(after))
    elif not is_part and _signature(before) != _signature(after):
        yield LayerDifference(path, "changed", _size(before), _size(after))


def _size(status: os.stat_result | None) -> int | None:
    if status is None:
        return None
    return 0 if stat.S_ISDIR(status.st_mode) else status.st_size


def _signature(status: os.stat_result) -> tuple[int, ...]:
    """What makes two entries the same; a directory's times change with what is in it, and that is listed itself."""
    own = (status.st_mode, status.st_uid, status.st_gid)
    return own if stat.S_ISDIR(status.st_mode) else (*own, status.st_size, status.st_mtime_ns)


def _paths(layer: str) -> Iterator[str]:
    return (path[len(layer) :] for path, _ in walk(layer))


def walk(layer: str) -> Iterator[tuple[str, os.stat_result]]:
    """Everything in a layer, directories before what is in them; one whose path is too long is not entered."""
    waiting = [layer]
    while waiting:
        folder = waiting.pop()
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
            for entry in entries:
                status = _status(entry)
                if status is None:
                    continue
                yield entry.path, status
                if stat.S_ISDIR(status.st_mode) and not is_too_long(entry.path):
                    waiting.append(entry.path)


def is_too_long(path: str) -> bool:
    """Whether a directory is too deep to be looked into: the kernel may not take the path of what is in it, or all would take too long."""
    return path.count("/") > MAX_LEVELS or len(os.fsencode(path)) + MAX_NAME > MAX_PATH


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    with suppress(OSError):  # it has just gone
        return entry.stat(follow_symlinks=False)
    return None


def compare(store: BoxStore, parts: Sequence[LayeredPart], checkpoint: str | None, against: str | None) -> Comparison:
    """Find what to compare.

    `checkpoint` None is the box as it is now, `against` None the state before: of the box its head, of a checkpoint its parent; `"image"`
    is the image. Raises StoreError for a checkpoint that is not there.
    """
    newer = _layers(store, checkpoint) if checkpoint else [store.up, *_layers(store, store.base)]
    if against is None:
        before = store.record(checkpoint).parent if checkpoint else store.head
    else:
        before = None if against == "image" else store.record(against).id
    older = _layers(store, before)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(reversed(newer), reversed(older), strict=False)))
    only = [*newer[: len(newer) - common], *older[: len(older) - common]]
    return Comparison(LayeredView(newer, parts), LayeredView(older, parts), only)


def _layers(store: BoxStore, checkpoint: str | None) -> list[str]:
    return [store.layer(one) for one in store.chain(checkpoint)]
