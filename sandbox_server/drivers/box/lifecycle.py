"""Lifecycle of the box: make it, end it, and the operations on it in between, each in milliseconds."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from itertools import islice
from typing import Any

from sandbox_server.drivers.box import kept_states, running_programs, socket_owners
from sandbox_server.drivers.box import processes as box_processes
from sandbox_server.drivers.box.box import Box, BoxError, Tree, create, start_time
from sandbox_server.drivers.box.box_network import BoxNetwork
from sandbox_server.drivers.box.checkpoint_records import Why
from sandbox_server.drivers.box.disk_reserve import FULL
from sandbox_server.drivers.box.layer_store import BoxStore, Former, StoreError
from sandbox_server.drivers.box.limit_monitor import LimitMonitor, MonitoredLimits, disk, newest_first
from sandbox_server.drivers.box.mount_plan import LayeredPart, Part, SharedPart
from sandbox_server.drivers.box.paused_programs import PausedPrograms
from sandbox_server.drivers.box.processes import Inmate
from sandbox_server.drivers.box.tree_walk import remove
from sandbox_server.drivers.ipc.descriptor_passing import Message
from sandbox_server.drivers.spawn.child_setup import WARM
from sandbox_server.drivers.storage import atomic_write

MAX_STOPPED = 100
"""Processes that are named when a box ends."""
_FILE_WORKER = "-m sandbox_server spawn"
"""How the command line of a file worker ends: it is a copy of the spawner that never executed anything."""

type Answer = Mapping[str, object]

UNCHANGED: Answer = {"checkpoint": None, "stopped": [], "unchanged": True}


class BoxLifecycle:
    """Owns the box that runs. `record` is the file that tells the next daemon which one that is.

    `network` is the namespace that a box joins; without one it has the container's.
    """

    def __init__(
        self,
        store: BoxStore,
        parts: list[Part],
        agent_run: str,
        sockets: str,
        record: str,
        limits: MonitoredLimits,
        network: BoxNetwork | None = None,
    ) -> None:
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
        self._network = network
        self.monitor = LimitMonitor(store.folder, limits)
        self._frozen = False
        self._paused = False
        self._stopped_before: set[int] = set()
        self._programs = PausedPrograms()
        self.operations: dict[str, Callable[[Message], Answer]] = {
            "status": self._status,
            "list": self._list,
            "checkpoint": self._checkpoint,
            "restore": self._restore,
            "preview": self._preview,
            "remove": self._remove,
            "replace": self._replace,
            "freeze": self._freeze,
            "thaw": self._thaw,
            "pause_programs": self._pause_programs,
            "resume_programs": self._resume_programs,
            "socket_owners": socket_owners.answer,
            "programs": running_programs.answer,
            "keep_state": self._keep_state,
            "state": lambda request: {"state": kept_states.read(self._store, str(request["checkpoint"]))},
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
            network = self._network.namespace if self._network else None
            self.adopt(create(Tree(store, self._parts, stacks, self._agent_run, [store], self._sockets, self._limits.processes, network)))
        except (OSError, BoxError, StoreError) as error:
            self.failure = str(error)
        return self.box is not None

    def _make_again(self) -> None:
        """Make a box after one was ended; raises BoxError where that fails. It is tried again then."""
        if not self.make():
            raise BoxError(f"the box does not come back yet: {self.failure}")

    def adopt(self, box: Box) -> None:
        """Take care of a box that runs."""
        self.box, self.failure, self._frozen, self._paused, self.made = box, None, False, False, self.made + 1
        self._programs.forget()
        self.monitor.begin_anew()
        self._write_record(box)

    def take_over(self, box: Box, *, paused: bool) -> None:
        """Take care of the box of a daemon that is gone, which may have suspended it; the agent stays paused."""
        self.adopt(box)
        box_processes.thaw(set())
        if paused:
            self._pause_programs({})

    def _write_record(self, box: Box) -> None:
        parts = [[part.path, part.lower] if isinstance(part, LayeredPart) else [part.path] for part in self._parts]
        atomic_write.replace(
            self._record, json.dumps({"init": box.init, "start": start_time(box.init), "parts": parts, "paused": self._programs.paused})
        )

    def forget(self) -> None:
        """Give up a box that has ended."""
        if self.box:
            self.box.close()
        self.box = None

    def _end(self) -> list[dict[str, object]]:
        """End the box and name what was running."""
        theirs = _named_programs()
        if self.box:
            self.box.kill()
        self.forget()
        return theirs

    def _status(self, _: Message) -> Answer:
        return {
            "running": self.box is not None,
            "failure": self.failure,
            "frozen": self._frozen,
            "programs": self._programs.told(),
            "made": self.made,
            "head": self._store.head,
            "base": self._store.base,
            "processes": sum(1 for _ in box_processes.inmates()),
            "limits": asdict(self._limits),
            "network": self._network.status() if self._network else None,
            "disk": disk(self._store.folder),
            "reserved": self._store.reserve.held,
            "incidents": newest_first(self.monitor.incidents),
        }

    def _list(self, _: Message) -> Answer:
        return {"head": self._store.head, "base": self._store.base, "checkpoints": [asdict(record) for record in self._store.records()]}

    def check_checkpoint(self, request: Message) -> bool:
        """Whether a checkpoint is to be made; raises StoreError where it may not be."""
        if request.get("parent") not in (None, self._store.head):
            raise StoreError("conflict", f"the box stands on {self._store.head or 'the image'}, not on {request['parent']}")
        _described(request)
        self._store.check_depth(self._store.head)
        return not request.get("if_changed") or self._store.has_changes(self.layered)

    def is_idle(self) -> bool:
        """Whether no program runs in the box."""
        return next(_running(), None) is None

    def _checkpoint(self, request: Message) -> Answer:
        if not self.check_checkpoint(request):
            return UNCHANGED
        self._store.reserve.make_room()
        stopped = self._end()
        try:
            record = self._store.checkpoint(*_described(request))
        except BaseException:
            self.make()
            raise
        self._make_again()
        return {"checkpoint": asdict(record), "stopped": stopped, "mode": "stop"}

    def keep_copy(self, request: Message, copied: Message) -> Answer:
        """Make a checkpoint of what a worker has copied while the box ran."""
        if copied.get("unchanged"):
            return UNCHANGED
        self._store.reserve.make_room()
        made = self._store.checkpoint_copy(copied["draft"], copied["id"], *_described(request), follows=copied["follows"])
        told = {name: copied[name] for name in ("rounds", "copied_files", "copied_bytes")}
        return {"checkpoint": asdict(made), "stopped": [], "mode": "live", **told}

    def pause(self) -> None:
        """Have everything stand still for a moment, unless it does already."""
        if not self._frozen:
            self._stopped_before = self._stop_all()
        self._paused = True

    def go_on(self) -> None:
        """Let go on what stood still for a moment, unless it is suspended."""
        if self._paused and not self._frozen:
            box_processes.thaw(self._stopped_before)
        self._paused = False

    def _restore(self, request: Message) -> Answer:
        """Go back to a checkpoint; where no box runs on that, to what was there before."""
        target, who, keep = request.get("checkpoint"), str(request["who"]), request.get("keep", True)
        self._store.check_target(target)
        if keep:
            self._store.check_depth(self._store.base)
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

    def _preview(self, request: Message) -> Answer:
        """Tell what a restore would stop, and whether it would keep anything."""
        self._store.check_target(request.get("checkpoint"))
        return {"stops": _named_programs(), "changed": self._store.has_changes(self.layered)}

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

    def _keep_state(self, request: Message) -> Answer:
        self._store.reserve.make_room()
        kept_states.keep(self._store, str(request["checkpoint"]), str(request["state"]))
        return {}

    def _freeze(self, _: Message) -> Answer:
        if not self._frozen and not self._paused:
            self._stopped_before = self._stop_all()
        self._frozen = True
        return {"processes": sum(1 for _ in box_processes.inmates())}

    def _stop_all(self) -> set[int]:
        return box_processes.freeze(namespace=self.box.processes if self.box else None)

    def _thaw(self, _: Message) -> Answer:
        if self._frozen and not self._paused:
            box_processes.thaw(self._stopped_before)
        self._frozen = False
        return {}

    def _pause_programs(self, _: Message) -> Answer:
        """Stop the agent's programs; the desktop goes on."""
        if self.box:
            still = self._frozen or self._paused
            self._programs.pause(self.box, self._stopped_before if still else None)
            self._stopped_before |= self._programs.stopped if still else set()
            self._write_record(self.box)
        return self._programs.told()

    def _resume_programs(self, _: Message) -> Answer:
        told = {**self._programs.told(), "paused": False}
        if self._frozen or self._paused:
            self._stopped_before -= self._programs.stopped  # they go on with the rest
            self._programs.forget()
        else:
            self._programs.resume()
        if self.box:
            self._write_record(self.box)
        return told


def _running() -> Iterator[tuple[Inmate, str]]:
    """What runs in the box beside the sandbox's own workers, and what it was started as."""
    for one in list(box_processes.inmates()):
        command = box_processes.command_line(one.pid) or one.name
        if command != WARM and not command.endswith(_FILE_WORKER):
            yield one, command


def _named_programs() -> list[dict[str, object]]:
    return [{"pid": one.inner, "uid": one.uid, "command": command} for one, command in islice(_running(), MAX_STOPPED)]


def _described(request: Message) -> tuple[str, str, Why]:
    return str(request["label"]), str(request["who"]), request.get("why", "asked")


def find(record: str) -> tuple[Box, list[Part], bool] | None:
    """Find the box of an earlier daemon, what its tree is made of and whether the agent is paused; None where it has ended."""
    try:
        with open(record, encoding="utf-8") as file:
            content: dict[str, Any] = json.load(file)
        parts: list[Part] = [LayeredPart(*part) if len(part) == 2 else SharedPart(*part) for part in content["parts"]]
        return Box.find(content["init"], content["start"]), parts, bool(content.get("paused"))
    except (OSError, ValueError, KeyError):
        return None
