"""A checkpoint of a box that runs: what changed is copied aside, and programs stand still only while the last of it is.

The copying is done by a worker, a process of its own. It asks the daemon over a socket to stop the box's processes and to let them go on,
and tells it what came of it: only the daemon changes what the store is. A worker that dies leaves a draft, which is no layer.
"""

import os
import secrets
import socket
import time
from collections.abc import Mapping
from contextlib import suppress

from sandbox_server.drivers.box import resolve_beneath
from sandbox_server.drivers.box.delta_capture import DeltaCapture
from sandbox_server.drivers.box.disk_reserve import FULL
from sandbox_server.drivers.box.entry_copy import NO_ROOM, CopyBudget
from sandbox_server.drivers.box.layer_store import BoxStore, StoreError
from sandbox_server.drivers.box.mapped_files import mapped_files
from sandbox_server.drivers.box.tree_snapshot import COARSE_NS, MappedFiles, TreeSnapshot
from sandbox_server.drivers.ipc import descriptor_passing

MAX_ROUNDS = 6
"""Rounds while the box runs."""
FEW_FILES = 200
FEW_BYTES = 4 << 20
"""What a round copied at most after which the next one is made with the box stopped."""
MAX_PAUSE_SECONDS = 2.0
"""For so long the box may stand still; a copy that takes longer is given up."""

type Answer = Mapping[str, object]


class LiveCapture:
    """Makes the draft in `store`, to which this process is confined; `proc` is an open /proc from before."""

    def __init__(self, store: BoxStore, daemon: socket.socket, known: TreeSnapshot | None, clock: Mapping[str, object], proc: int) -> None:
        self._daemon = daemon
        self._known = known
        self._clock = clock
        self._proc = proc
        self._store = store
        self._mapped = known.mapped if known else MappedFiles()
        self._began = known.since if known else 0

    def run(self, limit: int, *, only_changes: bool) -> Answer:
        """Copy at most `limit` bytes, and say what is to become a layer. Raises StoreError, and leaves no draft then."""
        try:
            return self._fill(self._store.make_draft(), limit, only_changes=only_changes)
        except OSError as error:
            if error.errno not in FULL:
                raise
            raise StoreError("resource_exhausted", NO_ROOM) from error

    def _fill(self, draft: str, limit: int, *, only_changes: bool) -> Answer:
        try:
            return self._copy(draft, limit, only_changes=only_changes)
        except BaseException:
            self._store.drop([draft])
            raise

    def _copy(self, draft: str, limit: int, *, only_changes: bool) -> Answer:
        source, target = (os.open(path, resolve_beneath.DIRECTORY) for path in (self._store.up, draft))
        budget = CopyBudget(limit, target)
        reference = self._known.tree if self._known else None
        capture = DeltaCapture(source, target, reference, self._began, budget, self._discard)
        rounds = self._copy_while_it_runs(capture, budget)
        before, mapped = self._began, self._look()
        self._copy_while_it_stands(capture, before)
        if only_changes and not capture.changes:
            self._store.drop([draft])
            return {"unchanged": True}
        checkpoint = secrets.token_hex(4)
        if capture.tree:
            with suppress(OSError, MemoryError):  # without it the next one copies everything
                found = TreeSnapshot(checkpoint, self._began, capture.tree, mapped, self._clock)
                found.save(self._store.snapshot)
        told = {"rounds": rounds + 1, "copied_files": budget.files, "copied_bytes": budget.bytes}
        return {"id": checkpoint, "draft": os.path.basename(draft), "follows": self._known is not None, **told}

    def _look(self) -> MappedFiles:
        """Begin a round: note the time and what is mapped."""
        self._began = time.time_ns() - COARSE_NS
        found = mapped_files(self._proc)
        self._mapped |= found
        return found

    def _copy_while_it_runs(self, capture: DeltaCapture, budget: CopyBudget) -> int:
        """Copy until little changes meanwhile; gives the number of rounds."""
        most = None
        for number in range(1, MAX_ROUNDS + 1):
            files, size, since = budget.files, budget.bytes, self._began
            self._look()
            capture.run_round(since, self._mapped)
            files, size = budget.files - files, budget.bytes - size
            if (files <= FEW_FILES and size <= FEW_BYTES) or (most is not None and size > most // 2 and files > FEW_FILES):
                return number
            most = size
        return MAX_ROUNDS

    def _copy_while_it_stands(self, capture: DeltaCapture, since: int) -> None:
        descriptor_passing.send(self._daemon, {"pause": True})
        if descriptor_passing.receive(self._daemon)[0] is None:
            raise ConnectionError("the daemon went away")
        try:
            capture.run_round(since, self._mapped, time.monotonic() + MAX_PAUSE_SECONDS)
        finally:
            descriptor_passing.send(self._daemon, {"continue": True})

    def _discard(self, place: int, name: str) -> None:
        """Take a name of the draft away, with all that is in it."""
        with suppress(FileNotFoundError):
            try:
                os.unlink(name, dir_fd=place)
            except IsADirectoryError:
                os.rename(name, f"/gone-{secrets.token_hex(4)}", src_dir_fd=place)
