"""Lifecycle of the box: make it, end it, and the operations on it in between, each in milliseconds."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from itertools import islice
from typing import Any

from sandbox_server.drivers.box import processes as box_processes
from sandbox_server.drivers.box.box import Box, BoxError, Tree, create, start_time
from sandbox_server.drivers.box.disk_reserve import FULL
from sandbox_server.drivers.box.layer_store import BoxStore, Former, StoreError
from sandbox_server.drivers.box.limit_monitor import LimitMonitor, MonitoredLimits, disk, newest_first
from sandbox_server.drivers.box.mount_plan import LayeredPart, Part, SharedPart
from sandbox_server.drivers.box.tree_walk import remove
from sandbox_server.drivers.ipc.descriptor_passing import Message
from sandbox_server.drivers.spawn.child_setup import WARM
from sandbox_server.drivers.storage import atomic_write

MAX_STOPPED = 100
"""Processes that are named when a box ends."""
_FILE_WORKER = "-m sandbox_server spawn"
"""How the command line of a file worker ends: it is a copy of the spawner that never executed anything."""

type Answer = Mapping[str, object]


class BoxLifecycle:
    """Owns the box that runs. `record` is the file that tells the next daemon which one that is."""

    def __init__(self, store: BoxStore, parts: list[Part], agent_run: str, sockets: str, record: str, limits: MonitoredLimits) -> None:
        self.box: Box | None = None
        self.made = 0
        """How many boxes there were; a number for the newest."""
        self.failure: str | None = None
        """Why there is no box."""
        self._store = store
        self._parts = parts
        self._agent_run = agent_run
        self._sockets = sockets
        self._record = record
        self._limits = limits
        self.monitor = LimitMonitor(store.folder, limits)
        self._frozen = False
        self._stopped_before: set[int] = set()
        self.operations: dict[str, Callable[[Message], Answer]] = {
            "status": self._status,
            "list": self._list,
            "checkpoint": self._checkpoint,
            "restore": self._restore,
            "remove": self._remove,
            "replace": self._replace,
            "freeze": self._freeze,
            "thaw": self._thaw,
        }

    @property
    def layered(self) -> list[LayeredPart]:
        """The parts of the tree that have layers."""
        return [part for part in self._parts if isinstance(part, LayeredPart)]

    def make(self) -> bool:
        """Make a box where there is none; tell whether there is one now, or say in `failure` why not."""
        self._store.reserve.make_room()
        try:
            self._store.set_stale_aside()
            stacks, store = self._store.prepare_mounts(self.layered), self._store.folder
            self.adopt(create(Tree(store, self._parts, stacks, self._agent_run, [store], self._sockets, self._limits.processes)))
        except (OSError, BoxError, StoreError) as error:
            self.failure = str(error)
        return self.box is not None

    def _make_again(self) -> None:
        """Make a box after one was ended; raises BoxError where that fails. It is tried again then."""
        if not self.make():
            raise BoxError(f"the box does not come back yet: {self.failure}")

    def adopt(self, box: Box) -> None:
        """Take care of a box that runs."""
        self.box, self.failure, self._frozen, self.made = box, None, False, self.made + 1
        self.monitor.begin_anew()
        self._write_record(box)

    def take_over(self, box: Box) -> None:
        """Take care of the box of a daemon that is gone, which may have suspended it."""
        self.adopt(box)
        box_processes.thaw(set())

    def _write_record(self, box: Box) -> None:
        parts = [[part.path, part.lower] if isinstance(part, LayeredPart) else [part.path] for part in self._parts]
        atomic_write.replace(self._record, json.dumps({"init": box.init, "start": start_time(box.init), "parts": parts}))

    def forget(self) -> None:
        """Give up a box that has ended."""
        if self.box:
            self.box.close()
        self.box = None

    def _end(self) -> list[dict[str, object]]:
        """End the box and name what was running."""
        found = [(one, box_processes.command_line(one.pid) or one.name) for one in box_processes.inmates()]
        if self.box:
            self.box.kill()
        self.forget()
        theirs = ((one, command) for one, command in found if command != WARM and not command.endswith(_FILE_WORKER))
        return [{"pid": one.inner, "uid": one.uid, "command": command} for one, command in islice(theirs, MAX_STOPPED)]

    def _status(self, _: Message) -> Answer:
        return {
            "running": self.box is not None,
            "failure": self.failure,
            "frozen": self._frozen,
            "made": self.made,
            "head": self._store.head,
            "processes": sum(1 for _ in box_processes.inmates()),
            "limits": asdict(self._limits),
            "disk": disk(self._store.folder),
            "reserved": self._store.reserve.held,
            "incidents": newest_first(self.monitor.incidents),
        }

    def _list(self, _: Message) -> Answer:
        return {"head": self._store.head, "checkpoints": [asdict(record) for record in self._store.records()]}

    def _checkpoint(self, request: Message) -> Answer:
        if request.get("parent") not in (None, self._store.head):
            raise StoreError("conflict", f"the box stands on {self._store.head or 'the image'}, not on {request['parent']}")
        label, who, why = str(request["label"]), str(request["who"]), request.get("why", "asked")
        if request.get("if_changed") and not self._store.has_changes(self.layered):
            return {"checkpoint": None, "stopped": [], "unchanged": True}
        self._store.check_depth()
        self._store.reserve.make_room()
        stopped = self._end()
        try:
            record = self._store.checkpoint(label, who, why)
        except BaseException:
            self.make()
            raise
        self._make_again()
        return {"checkpoint": asdict(record), "stopped": stopped}

    def _restore(self, request: Message) -> Answer:
        """Go back to a checkpoint; where no box runs on that, to what was there before."""
        target, who, keep = request.get("checkpoint"), str(request["who"]), request.get("keep", True)
        self._store.check_target(target)
        if keep:
            self._store.check_depth()
        self._store.reserve.make_room()
        stopped, kept = self._end(), None
        try:
            if keep and self._store.has_changes(self.layered):
                kept = asdict(self._store.checkpoint(f"before restoring {target or 'the image'}", who, "before_restore"))
            former = self._start_from(target)
        except BaseException:
            self.make()
            raise
        if not self.make():
            self._go_back(former, target)
        self._store.let_go(former)
        return {"head": target, "kept": kept, "stopped": stopped}

    def _go_back(self, former: Former, target: str | None) -> None:
        reason = self.failure
        self._store.go_back(former)
        self._make_again()
        raise StoreError("conflict", f"no box runs on checkpoint {target or 'image'}, and it is where it was again: {reason}")

    def _start_from(self, target: str | None) -> Former:
        try:
            return self._store.start_from(target)
        except OSError as error:
            if error.errno not in FULL:
                raise
        self._store.drop_changes()
        remove(self._store.leftovers(), enough=lambda: self._store.reserve.roomy)
        return self._store.start_from(target)

    def _replace(self, _: Message) -> Answer:
        stopped = self._end()
        self._make_again()
        return {"stopped": stopped}

    def _remove(self, request: Message) -> Answer:
        self._store.reserve.make_room()
        self._store.forget(str(request["checkpoint"]))
        return {}

    def _freeze(self, _: Message) -> Answer:
        if not self._frozen:
            self._stopped_before = box_processes.freeze()
            self._frozen = True
        return {"processes": sum(1 for _ in box_processes.inmates())}

    def _thaw(self, _: Message) -> Answer:
        if self._frozen:
            box_processes.thaw(self._stopped_before)
            self._frozen = False
        return {}


def find(record: str) -> tuple[Box, list[Part]] | None:
    """Find the box of an earlier daemon and what its tree is made of; None where it has ended."""
    try:
        with open(record, encoding="utf-8") as file:
            content: dict[str, Any] = json.load(file)
        parts: list[Part] = [LayeredPart(*part) if len(part) == 2 else SharedPart(*part) for part in content["parts"]]
        return Box.find(content["init"], content["start"]), parts
    except (OSError, ValueError, KeyError):
        return None
