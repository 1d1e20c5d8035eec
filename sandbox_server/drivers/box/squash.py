"""Squashing: a checkpoint takes over what its parent changed, so that the chain is one layer shorter.

Files are linked, not copied: a layer is never written again.
"""

import os
import stat

from sandbox_server.drivers.box.beneath import OPAQUE
from sandbox_server.drivers.box.layers import is_opaque, is_whiteout
from sandbox_server.drivers.box.plan import copy_owner
from sandbox_server.drivers.box.store import BoxStore, Record, StoreError, Why


def squash(store: BoxStore, checkpoint: str, why: Why = "squashed") -> Record:
    """Merge a checkpoint with its parent, which stays for whoever else stands on it. Raises StoreError where it stands on the image."""
    record = store.record(checkpoint)
    if record.parent is None:
        raise StoreError("conflict", f"checkpoint {checkpoint!r} stands on the image already")
    draft = store.make_draft()
    _merge(draft, store.layer(checkpoint), store.layer(record.parent))
    return store.replace_layer(checkpoint, draft, parent=store.record(record.parent).parent, why=why)


def _merge(target: str, upper: str, lower: str) -> None:
    """Fill the directory `target` with what `upper` over `lower` is; both are directories."""
    opaque = is_opaque(upper)
    above, below = _entries(upper), {} if opaque else _entries(lower)
    for name in above.keys() | below.keys():
        place, over, under = f"{target}/{name}", above.get(name), below.get(name)
        if over is None:
            _link(f"{lower}/{name}", place)
        elif under is None or not stat.S_ISDIR(over.st_mode):
            _link(f"{upper}/{name}", place)
        elif stat.S_ISDIR(under.st_mode):
            os.mkdir(place)
            _merge(place, f"{upper}/{name}", f"{lower}/{name}")
        else:  # a directory took the place of something else: what is still lower must not show through
            _link(f"{upper}/{name}", place)
            os.setxattr(place, OPAQUE, b"y")
    if opaque or is_opaque(lower):
        os.setxattr(target, OPAQUE, b"y")
    copy_owner(upper, target)


def _entries(folder: str) -> dict[str, os.stat_result]:
    return {entry.name: entry.stat(follow_symlinks=False) for entry in os.scandir(folder)}


def _link(source: str, target: str) -> None:
    status = os.lstat(source)
    if is_whiteout(status):
        os.mknod(target, stat.S_IFCHR, 0)
    elif stat.S_ISDIR(status.st_mode):
        os.mkdir(target)
        for name in os.listdir(source):
            _link(f"{source}/{name}", f"{target}/{name}")
        if is_opaque(source):
            os.setxattr(target, OPAQUE, b"y")
        copy_owner(source, target)
    else:
        os.link(source, target, follow_symlinks=False)
