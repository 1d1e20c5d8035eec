"""The spawner: it starts every process of the agent.

It is a small root daemon that uses only the standard library. A client makes one connection per process on a Unix
socket, and receives how the process started and how it ended. Closing the connection ends the process. See
`descriptor_passing` for the messages and `process` for the client.

Requests: `{"argv", "user", "cwd", "env", "fds", "on_disconnect", "on_exit", "limits", "isolation", "oom_score",
"zygote", "forked_from"}`, or `{"worker": true, "user"}` for a file worker, whose socket comes with the reply. `zygote`
makes the program a zygote of that name, and `forked_from` lets the zygote of that name fork the process
(`zygote_pool`). Replies: `{"pid"}` or `{"error": errno, "message", "subject"}`, later `{"exit": code}` or `{"signal":
number}`. A client may send `{"kill": signal, "group": bool}` at any time between, and `{"ping": true}`, which is
answered with `{"pong": true}`.
"""

import errno
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from sandbox_server.drivers.box.spawner_link import RETRY_SECONDS, SpawnerLink
from sandbox_server.drivers.ipc import descriptor_passing
from sandbox_server.drivers.ipc.descriptor_passing import MalformedMessageError, Message
from sandbox_server.drivers.ipc.poller import HANG_UP, Poller
from sandbox_server.drivers.ipc.unix_listener import peer_uid
from sandbox_server.drivers.spawn import child_setup
from sandbox_server.drivers.spawn.busy_groups import BusyGroups
from sandbox_server.drivers.spawn.child_setup import Account
from sandbox_server.drivers.spawn.client import SpawnConnection, ending, failure
from sandbox_server.drivers.spawn.request import SpawnRequests
from sandbox_server.drivers.spawn.warm_process import WarmProcesses
from sandbox_server.drivers.spawn.zygote_pool import NOBODY, NoZygoteError, ZygotePool
from sandbox_server.settings.paths import Paths
from sandbox_server.timeouts import scaled

WATCHDOG_SECONDS = scaled(30)
"""Seconds for one step of the spawner. After that it is killed and restarted."""
MAX_TRIES = 20
"""Limit of attempts to start a process in a box that is ending, one every `RETRY_SECONDS`."""

type FileServer = Callable[[socket.socket], None]


class Spawner:
    """Forks what clients of `listener` request, in one thread.

    `accounts` maps the `user` of a request to an account; `allowed_uids` are the uids that may connect. With a `link`, every
    process starts in the box, and requests wait while there is no box. `limits` apply to every program but the
    desktop's (`child_setup.LIMITS`).
    """

    def __init__(
        self,
        listener: socket.socket,
        *,
        accounts: Mapping[str, Account],
        environment: Mapping[str, str],
        allowed_uids: frozenset[int],
        serve_files: FileServer,
        link: SpawnerLink | None = None,
        limits: Mapping[str, int] | None = None,
        private: str = Paths().agent_run,
        warm_process: bool = False,
    ) -> None:
        self._listener = listener
        self._asked = SpawnRequests(accounts, environment, limits or {}, private)
        self._allowed_uids = allowed_uids
        self._serve_files = serve_files
        self._link = link
        self._limits = limits or {}
        self._warm = WarmProcesses(accounts["agent"], link, self._limits) if warm_process else None
        self._zygotes = ZygotePool(accounts["agent"])
        self._busy = BusyGroups(accounts["agent"])
        self._unborn: list[SpawnConnection] = []
        self._waiting: list[tuple[SpawnConnection, list[int]]] = []
        self._poller = Poller(WATCHDOG_SECONDS)
        self._children: dict[int, SpawnConnection] = {}

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT, then kill every process that is not to be kept."""
        self._listener.setblocking(False)
        self._poller.watch_signals((signal.SIGCHLD, signal.SIGTERM, signal.SIGINT), self._on_signals)
        self._poller.watch(self._listener.fileno(), self._accept)
        self._poller.run(self._keep)
        for connection in list(self._children.values()):
            self._hang_up(connection)
        if self._warm:
            self._warm.drop()
        self._poller.close()

    def _keep(self) -> float | None:
        """Keep the link to the box daemon, a warm process, and the weight of busy groups. Return the seconds until the next check."""
        waits = [self._keep_link(), self._warm.keep() if self._warm else None, self._busy.keep()]
        return min((wait for wait in waits if wait is not None), default=None)

    def _keep_link(self) -> float | None:
        """Connect to the box daemon if there is no connection. Return the seconds until the next attempt."""
        if not self._link:
            return None
        if self._link.connect():
            self._poller.watch(self._link.fileno(), self._on_link)
        if self._waiting and self._link.taken:
            self._begin_waiting()
        return RETRY_SECONDS if self._waiting else self._link.patience

    def _begin_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for connection, fds in waiting:
            self._begin(connection, fds)

    def _on_link(self) -> None:
        """Take the box from the box daemon, and start the processes that waited for it."""
        if not (link := self._link):
            return
        self._poller.unwatch(link.ended)
        descriptor = link.fileno()
        if not link.receive():
            self._poller.unwatch(descriptor)
            link.disconnect()
        if link.taken:
            self._poller.watch(link.ended, self._on_box_end)

    def _on_box_end(self) -> None:
        if self._link:
            self._poller.unwatch(self._link.ended)
            self._link.leave()
        if self._warm:
            self._warm.drop()

    def _on_signals(self, numbers: bytes) -> None:
        if signal.SIGTERM in numbers or signal.SIGINT in numbers:
            self._poller.stop()
        self._reap()

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except BlockingIOError:
            return
        except OSError as error:  # no descriptors left: leave the queue alone until one is free
            _log(f"cannot accept: {error}")
            self._poller.unwatch(self._listener.fileno())
            return
        sock.setblocking(False)
        if peer_uid(sock) not in self._allowed_uids:
            _log(f"refused a client of uid {peer_uid(sock)}")
            sock.close()
            return
        self._poller.watch(sock.fileno(), partial(self._on_packet, SpawnConnection(sock)))

    def _on_packet(self, connection: SpawnConnection) -> None:
        try:
            message, fds = descriptor_passing.receive(connection.sock)
        except BlockingIOError:
            return
        except OSError:  # it disconnected without reading the replies
            message, fds = None, []
        except MalformedMessageError as error:
            _log(f"dropped a client: {error}")
            message, fds = None, []
        try:
            if message is None:
                self._hang_up(connection)
            elif fds:
                self._begin(connection, fds)
                fds = []
            else:
                self._kill(connection, message)
        finally:
            descriptor_passing.close_all(fds)

    def _begin(self, connection: SpawnConnection, fds: list[int]) -> None:
        """Start the requested process, or let it wait for a box."""
        if self._link and not self._link.taken:
            self._waiting.append((connection, fds))
            return
        if connection.sock.fileno() >= 0 and not self._start(connection, fds):  # else it disconnected while it waited
            connection.tries += 1
            self._waiting.append((connection, fds))
        else:
            descriptor_passing.close_all(fds)

    def _start(self, connection: SpawnConnection, fds: list[int]) -> bool:
        """Start the requested process or refuse it. Return False if the box is ending."""
        try:
            if connection.pid or connection.failed:
                raise MalformedMessageError("a connection can start only one process")
            request = descriptor_passing.read_body(fds[0])
            self._fork(connection, request, fds[1:])
        except NoZygoteError as error:
            self._refuse(connection, error.errno or errno.ENOENT, str(error.strerror), "zygote")
        except OSError as error:
            if self._link and error.errno == errno.ENOMEM and connection.tries < MAX_TRIES:  # fork's error in a dying namespace
                return False
            self._refuse(connection, error.errno or errno.EIO, error.strerror or str(error))
        except (KeyError, TypeError, ValueError) as error:
            self._refuse(connection, errno.EINVAL, f"malformed request: {error}")
        return True

    def _refuse(self, connection: SpawnConnection, number: int, message: str, subject: str = "request") -> None:
        connection.failed = True
        self._reply(connection, {"error": number, "message": message, "subject": subject})

    def _fork(self, connection: SpawnConnection, request: Message, fds: list[int]) -> None:
        user = request.get("user", "agent")
        account, place = self._asked.account(user), self._link and (self._link.desktop if user == "desktop" else self._link)
        if request.get("worker"):
            connection.kept = True  # ends with its own socket, not with this connection
            connection.worker = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            own = connection.worker[1]
            if place:
                connection.describe(account)
            self._fork_to(connection, partial(child_setup.run_worker, self._serve_files, own, account, place))
            return
        connection.kept = request.get("on_disconnect", "kill") == "keep"
        connection.ends_group = request.get("on_exit", "keep") == "kill"
        program = self._asked.program(request, account, fds)
        if place:
            connection.describe(account, program)
        if "forked_from" in request:
            self._await_birth(connection, self._zygotes.fork(request["forked_from"], program))
        elif "zygote" in request:
            with self._zygotes.open(request["zygote"]) as channel:
                program = replace(program, fds=(*program.fds[: child_setup.STANDARD], channel.fileno()))
                self._fork_to(connection, partial(child_setup.run_program, program, account, place))
        elif self._warm and user == "agent" and (warm := self._warm.take(program)):
            self._watch_start(connection, warm.pid, warm.report)
        else:
            self._fork_to(connection, partial(child_setup.run_program, program, account, place))

    def _fork_to(self, connection: SpawnConnection, enter: Callable[[int], object]) -> None:
        readable, writable = os.pipe()
        try:
            pid = os.fork()
        except OSError:
            os.close(readable)
            raise
        else:
            if pid == 0:
                enter(writable)
        finally:
            os.close(writable)
        self._watch_start(connection, pid, readable)

    def _await_birth(self, connection: SpawnConnection, report: int) -> None:
        connection.report = report
        self._unborn.append(connection)
        self._poller.watch(report, partial(self._on_birth, connection))

    def _on_birth(self, connection: SpawnConnection) -> None:
        """Adopt the process that a zygote has forked, or learn that it did not fork."""
        try:
            pid = self._zygotes.born(connection.report, self._children)
        except BlockingIOError:
            return
        self._unborn.remove(connection)
        self._poller.unwatch(connection.report)
        if pid == NOBODY:
            os.close(connection.report)
            connection.report = -1
            self._refuse(connection, errno.ENOENT, "it did not fork", "zygote")
            return
        self._watch_start(connection, pid, connection.report)

    def _claim(self, pid: int) -> SpawnConnection | None:
        """Return the connection of a child that has ended, also of one that a zygote has just forked."""
        for connection in [] if pid in self._children else list(self._unborn):
            self._on_birth(connection)
        return self._children.pop(pid, None)

    def _watch_start(self, connection: SpawnConnection, pid: int, readable: int) -> None:
        connection.pid, connection.report = pid, readable
        os.set_blocking(readable, False)
        self._children[pid] = connection
        self._poller.watch(readable, partial(self._on_report, connection))

    def _on_report(self, connection: SpawnConnection) -> None:
        """Read whether the child started; it reports only failures.

        Nothing waits here. A child that keeps the pipe open has until its client gives up.
        """
        if not connection.listen():
            return
        if connection.told:
            with suppress(OSError):
                self._signal(connection, signal.SIGKILL)
        self._end_report(connection)

    def _end_report(self, connection: SpawnConnection) -> None:
        self._poller.unwatch(connection.report)
        os.close(connection.report)
        connection.report = -1
        if connection.told:
            connection.failed = True
            self._reply(connection, failure(connection.told))
        elif connection.worker:
            self._hand_over(connection, *connection.worker)
        else:
            self._reply(connection, {"pid": connection.own_pid()})

    def _hand_over(self, connection: SpawnConnection, theirs: socket.socket, own: socket.socket) -> None:
        self._reply(connection, {"pid": connection.own_pid()}, [theirs.fileno()])
        theirs.close()
        self._poller.watch(own.fileno(), partial(self._end_worker, connection), HANG_UP)

    def _end_worker(self, connection: SpawnConnection) -> None:
        if connection.worker:
            self._poller.unwatch(connection.worker[1].fileno())
        self._signal(connection, signal.SIGKILL)

    def _kill(self, connection: SpawnConnection, message: Message) -> None:
        if "ping" in message:
            self._reply(connection, {"pong": True})
            return
        try:
            self._signal(connection, int(message["kill"]), group=bool(message.get("group", True)))
        except (KeyError, TypeError, ValueError, OSError) as error:
            _log(f"cannot send a signal: {error}")

    def _signal(self, connection: SpawnConnection, number: int, *, group: bool = True) -> None:
        if not connection.pid:
            return
        connection.signalled = True
        try:
            (os.killpg if group else os.kill)(connection.pid, number)
        except ProcessLookupError:  # it has no group yet
            os.kill(connection.pid, number)

    def _hang_up(self, connection: SpawnConnection) -> None:
        self._poller.unwatch(connection.sock.fileno())
        connection.sock.close()
        self._forget_unborn(connection)
        if not connection.kept or connection.report >= 0:
            with suppress(PermissionError):
                self._signal(connection, signal.SIGKILL)
        self._resume_accepting()

    def _forget_unborn(self, connection: SpawnConnection) -> None:
        """Stop waiting for a zygote's fork. If the process is forked after all, it is not started, and is reaped."""
        if connection in self._unborn:
            self._unborn.remove(connection)
            self._poller.unwatch(connection.report)
            os.close(connection.report)
            connection.report = -1

    def _resume_accepting(self) -> None:
        if not self._poller.watches(self._listener.fileno()):
            self._poller.watch(self._listener.fileno(), self._accept)

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while True:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if ended is None:
                    return
                if connection := self._claim(ended.si_pid):
                    self._finish(connection, connection.reap(self._link))
                else:
                    os.waitpid(ended.si_pid, 0)
                if self._warm:
                    self._warm.note_end(ended.si_pid)

    def _finish(self, connection: SpawnConnection, status: int) -> None:
        if connection.report >= 0:
            connection.listen()
            self._end_report(connection)
        connection.pid = 0
        if connection.worker:
            for end in connection.worker:
                self._poller.unwatch(end.fileno())
                end.close()
        if not connection.failed:
            self._reply(connection, ending(status))

    def _reply(self, connection: SpawnConnection, message: Message, fds: Sequence[int] = ()) -> None:
        """Send a reply if the client is still connected. The client closes the connection, so that no reply is lost."""
        with suppress(OSError):
            descriptor_passing.send(connection.sock, message, fds)


def _log(message: str) -> None:
    sys.stderr.write(f"spawner: {message}\n")
