"""Box daemon: makes it, replaces it when it ends, and turns its files into checkpoints.

A small root daemon of the standard library on a Unix socket. It lives in a user namespace of its own, so that it has rights over the box
and none over the container beyond those of a file's owner. A client sends one request per connection, in the way of `wire_fds`: a JSON
object `{"op": name, ...}`. The answer comes the same way: `{"ok": ...}`, or `{"refused": kind, "message"}`.

The spawner sends `{"op": "attach"}` instead and keeps the connection: on it the daemon puts the descriptors of each box that it makes.
"""

import argparse
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from sandbox_server.drivers.box import mount_plan, namespaces
from sandbox_server.drivers.box.attribution import AttributedProcess, EndedProcess, ProcessUse
from sandbox_server.drivers.box.box import Box, BoxError
from sandbox_server.drivers.box.disk_reserve import FULL
from sandbox_server.drivers.box.layer_store import BoxStore, StoreError
from sandbox_server.drivers.box.layer_worker import LayerWork
from sandbox_server.drivers.box.lifecycle import Answer, BoxLifecycle, find
from sandbox_server.drivers.box.limit_monitor import MonitoredLimits
from sandbox_server.drivers.box.mount_plan import Part
from sandbox_server.drivers.box.tree_walk import remove
from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.drivers.ipc.descriptor_passing import MalformedMessageError, Message
from sandbox_server.drivers.ipc.poller import Poller
from sandbox_server.drivers.ipc.unix_listener import listen, peer_uid
from sandbox_server.drivers.spawn.child_setup import Account
from sandbox_server.drivers.stats import cgroup

RETRY_SECONDS = 1.0
"""Between two attempts to make a box, after one failed."""
WORKERS = 8
"""Pieces of work on layers that go on at once."""
WORK_SECONDS = 3600
WORK_BYTES = 1 << 30
"""Memory of each."""
PATIENCE_SECONDS = 180
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
        self._poller = Poller(PATIENCE_SECONDS)
        self._workers: set[int] = set()
        self._remover = 0
        self._monitor = lifecycle.monitor
        self._spawners: set[_Client] = set()
        self._announced = 0

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT, and end the box then."""
        self._listener.setblocking(False)
        self._poller.watch_signals((signal.SIGCHLD, signal.SIGTERM, signal.SIGINT), self._on_signals)
        self._poller.watch(self._listener.fileno(), self._accept)
        self._poller.run(self._before_waiting)
        if self._lifecycle.box:
            self._lifecycle.box.kill()
        self._poller.close()

    def _on_signals(self, numbers: bytes) -> None:
        if signal.SIGTERM in numbers or signal.SIGINT in numbers:
            self._poller.stop()
        with suppress(ChildProcessError):
            while ended := os.waitpid(-1, os.WNOHANG)[0]:
                self._note_worker(ended)

    def _note_worker(self, pid: int) -> None:
        """A process of ours has ended: what it left is removed, once nobody else works on something like it."""
        if pid == self._remover:
            self._remover = 0
        elif pid in self._workers:
            self._workers.discard(pid)
            if not self._workers:
                self._store.drop_drafts()
            self._clear_away()

    def _before_waiting(self) -> float:
        """Have a box, and look at it; gives the seconds after which to do so again."""
        retry = self._have_box()
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
            self._poller.watch(box.pidfd, partial(self._on_end, box))
            for spawner in self._spawners:
                self._give_box(spawner)
            self._clear_away()
        return None if self._lifecycle.box else RETRY_SECONDS

    def _on_end(self, box: Box) -> None:
        self._poller.unwatch(box.pidfd)
        if self._lifecycle.box is box:
            _log("the box ended and is made anew")
            self._lifecycle.forget()

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
        self._poller.watch(sock.fileno(), partial(self._on_packet, client))

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
            os.kill(client.worker, signal.SIGKILL)
        self._poller.unwatch(client.sock.fileno())
        client.sock.close()

    def _serve(self, client: _Client, request: Message, fds: list[int]) -> None:
        name = str(request.get("op"))
        if name == "attach" and client.uid == 0:
            self._spawners.add(client)
            self._give_box(client)
        elif name in LayerWork.OPERATIONS:
            self._begin_work(client, name, request, fds)
        else:
            self._operate(client, name, request)

    def _begin_work(self, client: _Client, name: str, request: Message, fds: list[int]) -> None:
        if len(self._workers) >= WORKERS:
            _answer(client.sock, _refuse_work)
            return
        work = LayerWork(self._store, self._lifecycle.layered, self._quota)
        client.worker = self._fork(lambda: _answer(client.sock, lambda: work.run(name, request, fds)), self._store.folder)
        self._workers.add(client.worker)

    def _operate(self, client: _Client, name: str, request: Message) -> None:
        box = self._lifecycle.box
        watched = box.pidfd if box else -1
        self._poller.unwatch(watched)  # the operation may close it, and another descriptor may get its number
        _answer(client.sock, lambda: self._operation(name)(request), self._have_box)
        if box and self._lifecycle.box is box:
            self._poller.watch(watched, partial(self._on_end, box))
            self._clear_away()

    def _operation(self, name: str) -> Callable[[Message], Answer]:
        if name not in self._lifecycle.operations:
            raise StoreError("not_found", f"no operation {name!r}")
        return self._lifecycle.operations[name]

    def _give_box(self, client: _Client) -> None:
        if box := self._lifecycle.box:
            with suppress(OSError):
                descriptor_passing.send(client.sock, {"box": self._lifecycle.made}, box.descriptors)

    def _fork(self, work: Callable[[], None], folder: str | None = None) -> int:
        """Work in a process of its own, which ends with this one; where `folder` is given, it follows no link below that."""
        own = os.getpid()
        pid = os.fork()
        if pid == 0:
            _work(work, folder, own)
        return pid


def _refuse_work() -> Answer:
    raise StoreError("resource_exhausted", f"{WORKERS} pieces of work on checkpoints go on: try again once one is done")


def _answer(sock: socket.socket, work: Callable[[], Answer], then: Callable[[], object] = lambda: None) -> None:
    """Do the work and say what came of it, after `then`."""
    try:
        answer: dict[str, object] = {"ok": work()}
    except StoreError as error:
        answer = {"refused": error.kind, "message": error.message}
    except (KeyError, TypeError, ValueError) as error:
        answer = {"refused": "invalid_argument", "message": f"malformed request: {error}"}
    except (OSError, BoxError) as error:
        full = isinstance(error, OSError) and error.errno in FULL
        answer = {"refused": "resource_exhausted" if full else "unavailable", "message": str(error)}
    except MemoryError:
        answer = {"refused": "resource_exhausted", "message": f"it takes more than {WORK_BYTES >> 20} MiB of memory"}
    then()
    with suppress(OSError):
        descriptor_passing.send_request(sock, answer)


def _work(work: Callable[[], None], folder: str | None, parent: int) -> NoReturn:
    status = 1
    try:
        namespaces.end_with(parent)  # the next daemon takes it that nobody else works on the store
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        os.nice(_NICE)
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


def serve(arguments: Sequence[str]) -> None:
    """Run the daemon with command-line `arguments`."""
    options = _parse(arguments)
    client = Account.named(options.client)
    store = BoxStore(options.store)
    listener = listen(options.socket, client)
    namespaces.forbid_tracing()
    found = find(options.record)
    if found and not options.memory:
        os.setns(found[0].user, os.CLONE_NEWUSER)
        parts = found[1]
    else:
        if found:  # its files were in the memory of a daemon that is gone
            found[0].kill()
            found = None
        namespaces.leave_user_namespace()
        if options.memory:
            namespaces.mount_memory(options.store)
        parts = _prepare(store, options.sudo_user, options.shared)
    limits = MonitoredLimits(options.processes, options.max_memory or cgroup.snapshot().mem_max_bytes, enforced=options.max_memory > 0)
    lifecycle = BoxLifecycle(store, parts, options.agent_run, options.desktop_sockets, options.record, limits)
    if found:
        lifecycle.take_over(found[0])
    BoxDaemon(listener, lifecycle, store, peers=frozenset({0, client.uid}), quota=options.quota).run()


def _prepare(store: BoxStore, sudo_user: str | None, shared: Sequence[str]) -> list[Part]:
    """Prepare the store, on a full disk too: what an earlier container left for removal goes first."""
    store.prepare()
    base = store.make_base()
    if not store.reserve.held:
        remove(store.leftovers())
    for path in filter(mount_plan.is_system, shared):
        _log(f"{path} is part of the system, and stays in checkpoints")
    kept_out = [path for path in shared if os.path.isdir(path) and not mount_plan.is_system(path)]
    parts = mount_plan.prepare(base, hidden=[store.folder], sudo_user=sudo_user, shared=kept_out)
    os.makedirs(base + mount_plan.X_SOCKETS, exist_ok=True)  # below the layers, so that it is no change of the agent's
    return parts


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("sandbox_server box", description="Keep the agent's box.")
    parser.add_argument("--socket", required=True, help="Unix socket to serve on")
    parser.add_argument("--store", required=True, help="directory for the box's files, on a filesystem that can hold layers")
    parser.add_argument("--record", required=True, help="file that tells the next daemon which box runs")
    parser.add_argument("--agent-run", required=True, help="directory that the box sees too, read-only")
    parser.add_argument("--desktop-sockets", default="", help="directory in which programs on the desktop find the X server")
    parser.add_argument("--client", default="control", help="user that may ask")
    parser.add_argument("--sudo-user", default=None, help="user who may become root in the box")
    parser.add_argument("--processes", type=int, default=1024, help="processes and threads that may be in the box at once")
    parser.add_argument("--max-memory", type=int, default=0, help="bytes of memory that the agent may use; 0: what the container has")
    parser.add_argument("--shared", action="append", default=[], help="directory that is in no checkpoint")
    parser.add_argument("--memory", action="store_true", help="keep everything in memory, because the directory cannot hold layers")
    parser.add_argument("--quota", type=int, default=10 << 30, help="bytes that checkpoints may take together")
    return parser.parse_args(arguments)
