"""What the daemon does with layers in a process of its own, because it takes as long as they are large."""

import os
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


class LayerWork:
    """One piece of work on the layers of `store`, with `quota` bytes for all checkpoints."""

    OPERATIONS: ClassVar[frozenset[str]] = frozenset({"diff", "usage", "export", "import", "squash"})

    def __init__(self, store: BoxStore, parts: Sequence[LayeredPart], quota: int) -> None:
        self._store = store
        self._parts = parts
        self._quota = quota

    def run(self, name: str, request: Message, fds: Sequence[int]) -> Mapping[str, object]:
        """Do it; raises StoreError."""
        self._store.reserve.make_room()
        work: dict[str, Callable[[], Mapping[str, object]]] = {
            "diff": lambda: self._diff(request.get("checkpoint"), request.get("against"), int(request["limit"])),
            "usage": self._usage,
            "export": lambda: self._export(str(request["checkpoint"]), fds[0]),
            "import": lambda: self._import(request.get("label"), str(request["who"]), fds[0]),
            "squash": lambda: self._squash(str(request["checkpoint"]), request.get("why", "squashed")),
        }
        return work[name]()

    def _diff(self, checkpoint: str | None, against: str | None, limit: int) -> Mapping[str, object]:
        layers, older = box_layers.changes(self._store, self._parts, checkpoint, against)
        found, more = box_layers.diff(layers, older, max(1, min(limit, MAX_DIFFERENCES)))
        return {"differences": [asdict(one) for one in found], "truncated": more}

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

    def _confine(self) -> BoxStore:
        """Leave nothing in reach but the store: what is in it came from the agent. Nothing can be imported after that."""
        namespaces.forbid_imports()
        os.chroot(self._store.folder)
        os.chdir("/")
        self._store = BoxStore("/")
        return self._store
