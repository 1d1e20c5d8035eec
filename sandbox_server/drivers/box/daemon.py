"""Box daemon: makes it, replaces it when it ends, and turns its files into checkpoints.

A small root daemon of the standard library on a Unix socket. It lives in a user namespace of its own, so that it has rights over the box
and none over the container beyond those of a file's owner. A client sends one request per connection, in the way of `wire_fds`: a JSON
object `{"op": name, ...}`. The answer comes the same way: `{"ok": ...}`, or `{"refused": kind, "message"}`.

The spawner sends `{"op": "attach"}` instead and keeps the connection: on it the daemon puts the descriptors of each box that it makes.
"""

import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from sandbox_server.drivers.box import namespaces
from sandbox_server.drivers.box.attribution import AttributedProcess, EndedProcess, ProcessUse
from sandbox_server.drivers.box.box import Box, BoxError
from sandbox_server.drivers.box.disk_reserve import FULL
from sandbox_server.drivers.box.layer_store import BoxStore, StoreError
from sandbox_server.drivers.box.layer_worker import WORK_BYTES, LayerWork
from sandbox_server.drivers.box.lifecycle import UNCHANGED, Answer, BoxLifecycle
from sandbox_server.drivers.box.live_job import LiveJob
from sandbox_server.drivers.box.tree_walk import remove
from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.drivers.ipc.descriptor_passing import MalformedMessageError, Message
from sandbox_server.drivers.ipc.poller import Poller
from sandbox_server.drivers.ipc.unix_listener import peer_uid
from sandbox_server.timeouts import scaled

RETRY_SECONDS = 1.0
"""Between two attempts to make a box, after one failed."""
WORKERS = 8
"""Pieces of work on layers that go on at once."""
WORK_SECONDS = 3600
PATIENCE_SECONDS = scaled(180)
"""A watchdog restarts the daemon when one thing takes this long."""
_NICE = 10


@dataclass(eq=False)
class _Client:
    sock: socket.socket
    uid: int
    worker: int = 0
    """The process that does what it asked for; 0 for none."""


class BoxDaemon:
    """Serves clients of `listener` in one thread; `peers` are the uids that may ask, `quota` bytes that checkpoints may take."""

    def __init__(self, listener: socket.socket, lifecycle: BoxLifecycle, store: BoxStore, *, peers: frozenset[int], quota: int) -> None:
        self._listener = listener
        self._lifecycle = lifecycle
        self._store = store
        self._peers = peers
        self._quota = quota
        self.poller = Poller(PATIENCE_SECONDS)
        self._workers: set[int] = set()
        self._abandoned: set[int] = set()
        """Workers that were killed because their client hung up, and whose end is not seen yet."""
        self._remover = 0
        self._monitor = lifecycle.monitor
        self._spawners: set[_Client] = set()
        self._announced = 0
        self._live: LiveJob | None = None

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT, and end the box then."""
        self._listener.setblocking(False)
        self.poller.watch_signals((signal.SIGCHLD, signal.SIGTERM, signal.SIGINT), self._on_signals)
        self.poller.watch(self._listener.fileno(), self._accept)
        self.poller.run(self._before_waiting)
        self.end_box()
        self.poller.close()

    def _on_signals(self, numbers: bytes) -> None:
        if signal.SIGTERM in numbers or signal.SIGINT in numbers:
            self.poller.stop()
        with suppress(ChildProcessError):
            while ended := os.waitpid(-1, os.WNOHANG)[0]:
                self._note_worker(ended)

    def _note_worker(self, pid: int) -> None:
        """A process of ours has ended: what it left is removed, once nobody else works on something like it."""
        if pid == self._remover:
            self._remover = 0
        elif pid in self._workers:
            self._workers.discard(pid)
            self._abandoned.discard(pid)
            if not self._workers and not self._live:
                self._store.drop_drafts()
            self._clear_away()

    def _before_waiting(self) -> float:
        """Have a box, and look at it; gives the seconds after which to do so again."""
        retry = self._have_box()
        self._end_overdue()
        self._store.reserve.hold()
        try:
            self._monitor.look(self._lifecycle.box.init if self._lifecycle.box else None)
        except (OSError, ValueError, LookupError) as error:  # a process went while it was looked at
            _log(f"could not look at the box: {error!r}")
        return self._monitor.wait() if retry is None else retry

    def _have_box(self) -> float | None:
        """Make a box where there is none, and give a new one to whom it concerns; gives the seconds after which to try again."""
        before = self._lifecycle.failure
        if not self._lifecycle.box and not self._lifecycle.make() and self._lifecycle.failure != before:
            _log(f"cannot make a box, and tries again every {RETRY_SECONDS:g} s: {self._lifecycle.failure}")
        if (box := self._lifecycle.box) and self._announced != self._lifecycle.made:
            self._announced = self._lifecycle.made
            self.poller.watch(box.pidfd, partial(self._on_end, box))
            for spawner in self._spawners:
                self._give_box(spawner)
            self._clear_away()
        return None if self._lifecycle.box else RETRY_SECONDS

    def _on_end(self, box: Box) -> None:
        self.poller.unwatch(box.pidfd)
        if self._lifecycle.box is box:
            _log("the box ended and is made anew")
            self._lifecycle.forget()
            self._give_up_stale()

    def end_box(self) -> None:
        """End the box, which is made anew once its end is seen."""
        if self._lifecycle.box:
            self._lifecycle.box.kill()

    def _clear_away(self) -> None:
        """Remove, in the background, what no box needs any more."""
        leftovers = self._store.leftovers()
        if leftovers and not self._remover:
            self._remover = self._fork(lambda: remove(leftovers))

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        sock.setblocking(False)
        client = _Client(sock, peer_uid(sock))
        if client.uid not in self._peers:
            sock.close()
            return
        self.poller.watch(sock.fileno(), partial(self._on_packet, client))

    def _on_packet(self, client: _Client) -> None:
        fds: list[int] = []
        try:
            message, fds = descriptor_passing.receive(client.sock)
            if message and client in self._spawners and "ended" in message:
                self._note_end(message)
            elif message and "ping" in message:
                descriptor_passing.send(client.sock, {"pong": True})
            elif message is None or not fds:
                self._hang_up(client)
            else:
                self._serve(client, descriptor_passing.read_body(fds[0]), fds[1:])
        except BlockingIOError:
            return
        except (OSError, MalformedMessageError) as error:
            _log(f"dropped a client: {error}")
            self._hang_up(client)
        finally:
            descriptor_passing.close_all(fds)

    def _note_end(self, message: Message) -> None:
        """Note what the spawner says of a process that ended; not of one that ended with its box."""
        if message["box"] == self._lifecycle.made:
            ended = message["ended"]
            self._monitor.attribution.note(
                EndedProcess(AttributedProcess(**ended["culprit"]), ProcessUse(**ended["use"]), killed=ended["killed"])
            )

    def _hang_up(self, client: _Client) -> None:
        self._spawners.discard(client)
        if client.worker in self._workers:  # nobody waits for what it does
            self._abandoned.add(client.worker)
            os.kill(client.worker, signal.SIGKILL)
        self.poller.unwatch(client.sock.fileno())
        client.sock.close()

    def _serve(self, client: _Client, request: Message, fds: list[int]) -> None:
        name = str(request.get("op"))
        if name == "attach" and client.uid == 0:
            self._spawners.add(client)
            self._give_box(client)
        elif name in LayerWork.OPERATIONS:
            self._begin_work(client, name, request, fds)
        elif name == "checkpoint" and self._is_live(request):
            self._begin_live(client, request)
        else:
            self._operate(client, name, request)

    def _begin_work(self, client: _Client, name: str, request: Message, fds: list[int]) -> None:
        if self._is_full():
            _answer(client.sock, _refuse_work)
            return
        work = LayerWork(self._store, self._lifecycle.layered, self._quota)
        client.worker = self._fork(lambda: _answer(client.sock, lambda: work.run(name, request, fds)), self._store.folder)
        self._workers.add(client.worker)

    def _is_full(self) -> bool:
        return len(self._workers) - len(self._abandoned) >= WORKERS

    def _is_live(self, request: Message) -> bool:
        """Whether a checkpoint is made of the box while it runs: so it is asked, or something runs that would be stopped."""
        mode = request.get("mode", "auto")
        return self._lifecycle.box is not None and (mode == "live" or (mode == "auto" and not self._lifecycle.is_idle()))

    def _begin_live(self, client: _Client, request: Message) -> None:
        def check() -> Answer:
            return {} if self._lifecycle.check_checkpoint(request) else UNCHANGED

        outcome = _outcome(_refuse_meanwhile if self._live else check)
        if self._is_full():
            outcome = _outcome(_refuse_work)
        if outcome != {"ok": {}}:
            _send_outcome(client.sock, outcome)
            return
        self._live = job = LiveJob(self._lifecycle, request, partial(self._end_live, client))
        work = LayerWork(self._store, self._lifecycle.layered, self._quota)
        only_changes = bool(request.get("if_changed"))
        job.worker = client.worker = self._fork(lambda: _capture(job, work, only_changes), self._store.folder, nice=0)
        self._workers.add(job.worker)
        job.theirs.close()
        self.poller.watch(job.ours.fileno(), job.on_message)

    def _end_live(self, client: _Client, work: Callable[[], Answer]) -> None:
        """Say what came of a checkpoint of the box that runs."""
        if job := self._live:
            self._live = None
            self.poller.unwatch(job.ours.fileno())
            job.ours.close()
        _answer(client.sock, work)
        self._clear_away()

    def _give_up_stale(self) -> None:
        """End a copy of a box that is no more: what ended that did not wait for it."""
        if (job := self._live) and job.stale:
            os.kill(job.worker, signal.SIGKILL)
            job.end_stale()

    def _end_overdue(self) -> None:
        if self._live and self._live.overdue:
            os.kill(self._live.worker, signal.SIGKILL)  # its socket tells of it, and the box goes on

    def _operate(self, client: _Client, name: str, request: Message) -> None:
        box = self._lifecycle.box
        watched = box.pidfd if box else -1
        self.poller.unwatch(watched)  # the operation may close it, and another descriptor may get its number
        _answer(client.sock, lambda: self._operation(name)(request), self._have_box)
        if box and self._lifecycle.box is box:
            self.poller.watch(watched, partial(self._on_end, box))
            self._clear_away()
        self._give_up_stale()

    def _operation(self, name: str) -> Callable[[Message], Answer]:
        if name not in self._lifecycle.operations:
            raise StoreError("not_found", f"no operation {name!r}")
        return self._lifecycle.operations[name]

    def _give_box(self, client: _Client) -> None:
        if box := self._lifecycle.box:
            with suppress(OSError):
                descriptor_passing.send(client.sock, {"box": self._lifecycle.made}, box.descriptors)

    def _fork(self, work: Callable[[], None], folder: str | None = None, nice: int = _NICE) -> int:
        """Work in a process of its own, which ends with this one; where `folder` is given, it follows no link below that."""
        own = os.getpid()
        pid = os.fork()
        if pid == 0:
            _work(work, folder, own, nice)
        return pid


def _refuse_work() -> Answer:
    raise StoreError("resource_exhausted", f"{WORKERS} pieces of work on checkpoints go on: try again once one is done")


def _refuse_meanwhile() -> Answer:
    raise StoreError("unavailable", "a checkpoint is being made: try again once it is")


def _answer(sock: socket.socket, work: Callable[[], Answer], then: Callable[[], object] = lambda: None) -> None:
    """Do the work and say what came of it, after `then`."""
    outcome = _outcome(work)
    then()
    _send_outcome(sock, outcome)


def _send_outcome(sock: socket.socket, outcome: Message) -> None:
    with suppress(OSError):
        descriptor_passing.send_request(sock, outcome)


def _outcome(work: Callable[[], Answer]) -> Message:
    """Do the work; gives what it answers, or why it is refused."""
    try:
        return {"ok": dict(work())}
    except StoreError as error:
        return {"refused": error.kind, "message": error.message}
    except (KeyError, TypeError, ValueError) as error:
        return {"refused": "invalid_argument", "message": f"malformed request: {error}"}
    except (OSError, BoxError) as error:
        full = isinstance(error, OSError) and error.errno in FULL
        return {"refused": "resource_exhausted" if full else "unavailable", "message": str(error)}
    except MemoryError:
        return {"refused": "resource_exhausted", "message": f"it takes more than {WORK_BYTES >> 20} MiB of memory"}


def _capture(job: LiveJob, work: LayerWork, only_changes: bool) -> None:
    """Copy what changed, in the worker, and tell the daemon what came of it."""
    job.ours.close()
    descriptor_passing.send(job.theirs, _outcome(lambda: work.capture(job.theirs, only_changes=only_changes)))


def _work(work: Callable[[], None], folder: str | None, parent: int, nice: int) -> NoReturn:
    status = 1
    try:
        namespaces.end_with(parent)  # the next daemon takes it that nobody else works on the store
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        os.nice(nice)
        if folder:
            signal.alarm(WORK_SECONDS)
            resource.setrlimit(resource.RLIMIT_DATA, (WORK_BYTES, WORK_BYTES))
            namespaces.forbid_links(folder)
        work()
        status = 0
    except Exception:  # noqa: BLE001 - the top of a forked process: it ends, and its output says why
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)


def _log(message: str) -> None:
    sys.stderr.write(f"box: {message}\n")
