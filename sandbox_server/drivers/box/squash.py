"""Squashing: a checkpoint takes over what its parent changed, so that the chain is one layer shorter.

Files are linked, not copied: a layer is never written again.
"""

import errno
import os
import stat
from collections.abc import Iterator

from sandbox_server.drivers.box.checkpoint_records import Record, Why
from sandbox_server.drivers.box.layer_diff import is_opaque, is_too_long, is_whiteout
from sandbox_server.drivers.box.layer_store import BoxStore, StoreError
from sandbox_server.drivers.box.mount_plan import copy_owner
from sandbox_server.drivers.box.resolve_beneath import OPAQUE

type Task = tuple[str, str | None, str | None]
"""A directory to fill, and the ones of the upper and the lower layer that it comes from."""


def squash(store: BoxStore, checkpoint: str, why: Why = "squashed") -> Record:
    """Merge a checkpoint with its parent, which stays for whoever else stands on it. Raises StoreError where it stands on the image."""
    record = store.record(checkpoint)
    if record.parent is None:
        raise StoreError("conflict", f"checkpoint {checkpoint!r} stands on the image already")
    parent = store.record(record.parent)
    draft = store.make_draft()
    try:
        _merge(draft, store.layer(checkpoint), store.layer(parent.id))
    except OSError as error:
        store.drop([draft])
        if error.errno != errno.ENAMETOOLONG:
            raise
        raise StoreError("conflict", f"checkpoint {checkpoint!r} cannot be squashed: it has paths that are too long or too deep") from None
    return store.replace_layer(checkpoint, draft, parent=parent.parent, why=why)


def _merge(target: str, upper: str, lower: str) -> None:
    """Fill the directory `target` with what `upper` over `lower` is; all are directories. What is in them is done before themselves."""
    waiting: list[tuple[Task, Iterator[Task]]] = [((target, upper, lower), _fill(target, upper, lower))]
    while waiting:
        task, inner = waiting[-1]
        if (below := next(inner, None)) is not None:
            waiting.append((below, _fill(*below)))
        else:
            _finish(*task)
            waiting.pop()


def _fill(target: str, upper: str | None, lower: str | None) -> Iterator[Task]:
    """Link what is no directory, and make the directories, each of which is then to be filled."""
    above = _entries(upper) if upper else {}
    below = _entries(lower) if lower and not (upper and is_opaque(upper)) else {}
    for name in above.keys() | below.keys():
        place, over, under = f"{target}/{name}", above.get(name), below.get(name)
        status = over or under
        if status is None or not stat.S_ISDIR(status.st_mode):
            _link(f"{upper if over else lower}/{name}", place, status)
            continue
        if is_too_long(place):
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), place)
        os.mkdir(place)
        if over and under and not stat.S_ISDIR(under.st_mode):  # it took the place of something else: what is still lower must not show
            os.setxattr(place, OPAQUE, b"y")
        under = under if under and stat.S_ISDIR(under.st_mode) else None
        yield place, f"{upper}/{name}" if over else None, f"{lower}/{name}" if under else None


def _finish(target: str, upper: str | None, lower: str | None) -> None:
    copy_owner(upper or lower or target, target)
    if any(source and is_opaque(source) for source in (upper, lower)):
        os.setxattr(target, OPAQUE, b"y")


def _entries(folder: str) -> dict[str, os.stat_result]:
    with os.scandir(folder) as entries:
        return {entry.name: entry.stat(follow_symlinks=False) for entry in entries}


def _link(source: str, target: str, status: os.stat_result | None) -> None:
    if status and is_whiteout(status):
        os.mknod(target, stat.S_IFCHR, 0)
    else:
        os.link(source, target, follow_symlinks=False)
