"""What the daemon does with layers in a process of its own, because it takes as long as they are large."""

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import ClassVar

from sandbox_server.drivers.box import layer_diff as box_layers
from sandbox_server.drivers.box import namespaces, tree_walk
from sandbox_server.drivers.box.checkpoint_records import Why
from sandbox_server.drivers.box.layer_store import BoxStore
from sandbox_server.drivers.box.mount_plan import LayeredPart
from sandbox_server.drivers.ipc.descriptor_passing import Message

MAX_DIFFERENCES = 10_000
WORK_BYTES = 1 << 30
"""Memory of one piece of work."""


class LayerWork:
    """One piece of work on the layers of `store`, with `quota` bytes for all checkpoints."""

    OPERATIONS: ClassVar[frozenset[str]] = frozenset({"diff", "tree", "usage", "export", "import", "squash"})

    def __init__(self, store: BoxStore, parts: Sequence[LayeredPart], quota: int) -> None:
        self._store = store
        self._parts = parts
        self._quota = quota

    def run(self, name: str, request: Message, fds: Sequence[int]) -> Mapping[str, object]:
        """Do it; raises StoreError."""
        self._store.reserve.make_room()
        work: dict[str, Callable[[], Mapping[str, object]]] = {
            "diff": lambda: self._diff(request.get("checkpoint"), request.get("against"), int(request["limit"])),
            "tree": lambda: self._tree(request),
            "usage": self._usage,
            "export": lambda: self._export(str(request["checkpoint"]), fds[0]),
            "import": lambda: self._import(request.get("label"), str(request["who"]), fds[0]),
            "squash": lambda: self._squash(str(request["checkpoint"]), request.get("why", "squashed")),
        }
        return work[name]()

    def _diff(self, checkpoint: str | None, against: str | None, limit: int) -> Mapping[str, object]:
        comparison = box_layers.compare(self._store, self._parts, checkpoint, against)
        found, more = box_layers.diff(comparison, max(1, min(limit, MAX_DIFFERENCES)))
        return {"differences": [asdict(one) for one in found], "truncated": more}

    def _tree(self, request: Message) -> Mapping[str, object]:
        from sandbox_server.drivers.box import diff_tree

        comparison = box_layers.compare(self._store, self._parts, request.get("checkpoint"), request.get("against"))
        found, truncated = box_layers.diff(comparison, box_layers.MAX_COMPARED)
        entries, more = diff_tree.page(diff_tree.level(found, str(request["under"])), str(request["after"]), int(request["limit"]))
        return {"entries": [asdict(one) for one in entries], "more": more, "truncated": truncated}

    def _usage(self) -> Mapping[str, object]:
        """Count what was not counted yet."""
        for record in self._store.records():
            if record.bytes is None:
                files, size = tree_walk.usage(self._store.layer(record.id))
                self._store.update(record.id, files=files, size=size)
        return {"bytes": self._taken(), "quota": self._quota}

    def _taken(self) -> int:
        return sum(record.bytes or 0 for record in self._store.records())

    def _export(self, checkpoint: str, fd: int) -> Mapping[str, object]:
        from sandbox_server.drivers.box import archive  # heavy, and the daemon itself never needs it

        archive.load()
        with open(fd, "wb", closefd=False) as out:
            return {"layers": archive.write(self._confine(), checkpoint, out, self._quota)}

    def _import(self, label: str | None, who: str, fd: int) -> Mapping[str, object]:
        from sandbox_server.drivers.box import archive, archive_import

        archive.load()
        self._usage()
        store = self._confine()
        with open(fd, "rb", closefd=False) as source:
            return {"checkpoint": asdict(archive_import.read(store, source, label, who, self._quota - self._taken(), self._parts))}

    def _squash(self, checkpoint: str, why: Why) -> Mapping[str, object]:
        from sandbox_server.drivers.box import squash

        return {"checkpoint": asdict(squash.squash(self._confine(), checkpoint, why))}

    def capture(self, daemon: socket.socket, *, only_changes: bool) -> Mapping[str, object]:
        """Copy what changed in a box that runs into a draft; see `live_checkpoint`."""
        from sandbox_server.drivers.box import live_checkpoint, tree_snapshot

        limit = self._quota - self._taken()
        known = tree_snapshot.load(self._store.snapshot, self._store.head) if self._store.is_copied else None
        clock = tree_snapshot.clock()
        proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        store = self._confine()
        return live_checkpoint.LiveCapture(store, daemon, known, clock, proc).run(limit, only_changes=only_changes)

    def _confine(self) -> BoxStore:
        """Leave nothing in reach but the store: what is in it came from the agent. Nothing can be imported after that."""
        namespaces.forbid_imports()
        os.chroot(self._store.folder)
        os.chdir("/")
        self._store = BoxStore("/")
        return self._store
