"""Speaks the kernels' protocol, inside the agent's box, for the API server outside: `relay.py PACKAGES FOLDER`.

Kernels listen on Unix sockets in the box, which the server cannot reach, and a large C++ library parses their messages, which the server
should not contain. So this process of the agent is the relay. Requests and answers are lines of JSON on its standard input, a socket. A
request has an `id`, which its answers repeat:

- `{"op": "open", "kernel"}`: make a folder and a connection file for a kernel; `done` with `file`.
- `{"op": "connect", "kernel", "file", "pid"}`: wait until the kernel answers; `done`.
- `{"op": "execute", "kernel", "code", "room", "count", "silent"}`: `begun`, `output` for each output, then `done` with the kernel's
  reply. At most `room` bytes and `count` outputs are passed on; `dropped` is the number of other bytes. `silent` code is not stored in
  `In`. The size of a stream is that of its text, the size of any other output that of its JSON.
- `{"op": "show", "kernel", "file", "name"}`: let JupyterLab list the kernel; `done`.
- `{"op": "sweep", "kernel"}`: end the copies of the kernel that the last code has forked; `done` with how many are `left`.
- `{"op": "close", "kernel"}`: forget the kernel and its folder; no answer.

`failed` instead of `done` gives a `reason`.
"""

import asyncio
import json
import os
import shutil
import socket
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandbox_server.drivers.kernels.relay_execution import RelayedExecution

Message = dict[str, Any]
Send = Callable[[Message], None]

MAX_LINE = 64 << 20
KNOWN = "known"
"""Folder of the connection files of the kernels that JupyterLab lists."""
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
"""The directory of this package."""
RECONNECT_MS = 2
"""Milliseconds until a socket retries a kernel that does not listen yet (zmq_setsockopt(3), ZMQ_RECONNECT_IVL).
ZeroMQ's default of 100 is longer than a kernel's start. The interval doubles up to `MAX_RECONNECT_MS`.
"""
MAX_RECONNECT_MS = 100
KNOCK_SECONDS = 0.05
"""Seconds until a starting kernel is asked again. The interval doubles up to `MOST_KNOCK_SECONDS`."""
MOST_KNOCK_SECONDS = 1.0
RUNNING_SCORE = 700
"""The oom_score_adj of a kernel while it runs code, inherited by what that code starts. Idle kernels live longer."""
STRAGGLING_SECONDS = 2.0
"""Seconds after the reply in which outputs may still arrive before they count as lost."""
OVERDUE_SECONDS = 0.5
"""Seconds after the kernel is idle in which its reply may still arrive before it is requested."""
OF_EVERY_CODE = ("status", "execute_input")
"""Messages that a kernel publishes for all clients' code. Other outputs cannot be attributed."""
MAX_WORDS = 1000
"""Limit of characters of an exception's name and text in a reply. Standard error has all of it."""


async def knock(ask: Callable[[], "asyncio.Future[Message]"], heard: asyncio.Event) -> None:
    """Repeat a request until any reply came and `heard` is set, because a busy machine answers late."""
    answered, interval = asyncio.Event(), KNOCK_SECONDS
    while not (answered.is_set() and heard.is_set()):
        ask().add_done_callback(lambda _: answered.set())
        with suppress(TimeoutError):
            async with asyncio.timeout(interval):
                await answered.wait()
                await heard.wait()
        interval = min(2 * interval, MOST_KNOCK_SECONDS)


class NoReplyError(Exception):
    """The kernel ran the code and lives, but the reply was not sent or was lost."""


def _context() -> Any:
    """The ZeroMQ context of this process, for all kernels: each context has two threads."""
    import zmq.asyncio

    context = zmq.asyncio.Context.instance()
    context.setsockopt(zmq.RECONNECT_IVL, RECONNECT_MS)
    context.setsockopt(zmq.RECONNECT_IVL_MAX, MAX_RECONNECT_MS)
    return context


class KernelLink:
    """The connection to one kernel."""

    def __init__(self, connection_file: str, pid: int) -> None:
        from jupyter_client.asynchronous.client import AsyncKernelClient

        from sandbox_server.drivers.kernels.forked_copies import ForkedCopies

        self._client = AsyncKernelClient(connection_file=connection_file, context=_context())
        self._client.load_connection_file()
        self._client.start_channels(stdin=False, hb=False, control=False)
        self.copies = ForkedCopies(pid)
        self._answered = self._closed = False
        self._badness = f"/proc/{pid}/oom_score_adj"
        self._current: RelayedExecution | None = None
        self._replies: dict[str, asyncio.Future[Message]] = {}
        self._heard = asyncio.Event()
        self._tasks = [asyncio.create_task(self._follow_output()), asyncio.create_task(self._follow_replies())]

    async def ready(self) -> None:
        """Wait until the kernel has replied once, and its outputs arrive here."""
        if self._answered:
            return
        await knock(self._greet, self._heard)
        self._answered = True

    async def execute(self, code: str, run: "RelayedExecution", *, silent: bool) -> Message:
        """Run code and return the kernel's reply; raises NoReplyError."""
        self._current, before = run, self._set_oom_score(RUNNING_SCORE)
        self.copies.begin()
        try:
            content = {"code": code, "silent": silent, "store_history": not silent, "user_expressions": {}, "allow_stdin": False}
            reply = await self._run({**content, "stop_on_error": True}, run)
            while reply.get("status") == "aborted":  # it has not begun: other code failed, for which this had waited
                await asyncio.sleep(KNOCK_SECONDS)
                reply = await self._run({**content, "stop_on_error": True}, run)
            run.show_page(reply)
            with suppress(TimeoutError):
                async with asyncio.timeout(STRAGGLING_SECONDS):
                    await run.idle.wait()
            return reply
        finally:
            self._current = None
            self._set_oom_score(before)

    def close(self) -> None:
        """Disconnect. Those who wait for a reply get an error."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        self._client.stop_channels()
        for reply in list(self._replies.values()):
            if not reply.done():
                reply.set_exception(ConnectionError("the kernel was closed"))

    def _set_oom_score(self, score: int) -> int:
        """Set the kernel's oom_score_adj (proc_pid_oom_score_adj(5)), and return the old one."""
        before = score
        with suppress(OSError, ValueError), open(self._badness, "r+", encoding="ascii") as file:
            before = int(file.read())
            file.seek(0)
            file.write(str(score))
        return before

    async def _run(self, content: Message, run: "RelayedExecution") -> Message:
        """Request an execution and wait for the reply.

        A kernel that is idle has sent its reply, and it replies in the order of the requests. So if a later request is
        answered first, this reply will not come: it could not be encoded, or an interrupt came after the code had
        ended.
        """
        message = self._client.session.msg("execute_request", content)
        run.idle.clear()
        run.number = message["header"]["msg_id"]
        reply, idle = self._ask(message), asyncio.ensure_future(run.idle.wait())
        either: list[asyncio.Future[Any]] = [reply, idle]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        idle.cancel()
        if not (await asyncio.wait([reply], timeout=OVERDUE_SECONDS))[0]:
            await asyncio.wait([reply, self._greet()], return_when=asyncio.FIRST_COMPLETED)
        if not reply.done():
            raise NoReplyError("the kernel ran the code but did not report how it ended")
        return reply.result()

    def _greet(self) -> "asyncio.Future[Message]":
        """Send a request that costs the kernel nothing."""
        return self._ask(self._client.session.msg("kernel_info_request", {}))

    def _ask(self, message: Message) -> "asyncio.Future[Message]":
        """Send a request, and return the future reply.

        The client's own methods are not used: they bypass the asynchronous socket, which then may miss a reply, as
        zmq_getsockopt(3) says of ZMQ_FD.
        """
        if self._closed:
            raise ConnectionError("the kernel was closed")
        number = message["header"]["msg_id"]
        reply = self._replies[number] = asyncio.get_running_loop().create_future()
        reply.add_done_callback(lambda _: self._replies.pop(number, None))
        self._client.shell_channel.socket.send_multipart(self._client.session.serialize(message))
        return reply

    async def _follow_replies(self) -> None:
        channel = self._client.shell_channel.socket
        while True:
            frames = await channel.recv_multipart()
            with suppress(Exception):  # code can make the kernel send anything, which must not end this task
                self._settle(self._read(frames))

    def _settle(self, message: Message) -> None:
        reply = self._replies.get(message["parent_header"].get("msg_id"))
        if reply and not reply.done():
            reply.set_result(dict(message["content"]))

    def _read(self, frames: list[bytes]) -> Message:
        """Parse a message; raises anything if it is malformed."""
        _, parts = self._client.session.feed_identities(frames)
        return dict(self._client.session.deserialize(parts))

    async def _follow_output(self) -> None:
        channel = self._client.iopub_channel.socket
        while True:
            frames = await channel.recv_multipart()
            self._heard.set()
            run = self._current
            if run and run.full and not frames[0].endswith(b".status"):  # an endless loop writes faster than it can be parsed
                run.miss(frames[0], frames[-1])
                await asyncio.sleep(0)  # what has arrived is received without a pause, and the reply must get through
            elif run:
                with suppress(Exception):  # as with replies
                    self._publish(self._read(frames), run)

    def _publish(self, message: Message, run: "RelayedExecution") -> None:
        if message["msg_type"] not in OF_EVERY_CODE or message["parent_header"].get("msg_id") == run.number:
            run.take(message["msg_type"], message["content"])


class Relay:
    """Handles the requests of the server."""

    def __init__(self, folder: str, send: Send) -> None:
        self._folder = folder
        self._send = send
        self._links: dict[str, KernelLink] = {}

    async def handle(self, request: Message) -> None:
        """Handle one request and answer it."""
        number = request.get("id")
        operations = {
            "open": self._open,
            "connect": self._connect,
            "execute": self._execute,
            "show": self._show,
            "sweep": self._sweep,
            "close": self._close,
        }

        def answer(message: Message) -> None:
            self._send({"id": number, **message})

        try:
            done = await operations[request["op"]](request, answer)
        except Exception as error:  # noqa: BLE001 - the top of a request: who asked is told
            answer({"event": "failed", "reason": f"{type(error).__name__}: {error}"[:1000]})
        else:
            answer({"event": "done", **done})

    async def _open(self, request: Message, _: Send) -> Message:
        from jupyter_client.connect import write_connection_file

        folder = os.path.join(self._folder, request["kernel"])
        os.makedirs(folder, 0o700, exist_ok=True)
        file, _configuration = write_connection_file(os.path.join(folder, "kernel.json"), transport="ipc", ip=os.path.join(folder, "s"))
        return {"file": file}

    async def _connect(self, request: Message, _: Send) -> Message:
        if request["kernel"] not in self._links:
            self._links[request["kernel"]] = KernelLink(request["file"], request["pid"])
        await self._links[request["kernel"]].ready()
        return {}

    async def _execute(self, request: Message, answer: Send) -> Message:
        from sandbox_server.drivers.kernels.relay_execution import RelayedExecution

        run = RelayedExecution(answer, request["room"], request["count"])
        reply = await self._links[request["kernel"]].execute(request["code"], run, silent=request.get("silent", False))
        told = {name: reply.get(name) for name in ("status", "execution_count")}
        words = {name: None if reply.get(name) is None else str(reply[name])[:MAX_WORDS] for name in ("ename", "evalue")}
        return {**told, **words, "dropped": run.dropped, "complete": run.idle.is_set()}

    async def _show(self, request: Message, _: Send) -> Message:
        os.makedirs(os.path.join(self._folder, KNOWN), 0o700, exist_ok=True)
        _add_name(request["file"], request["name"], self._shown(request["kernel"]))
        return {}

    def _shown(self, kernel: str) -> str:
        return os.path.join(self._folder, KNOWN, f"{kernel}.json")

    async def _sweep(self, request: Message, _: Send) -> Message:
        return {"left": self._links[request["kernel"]].copies.end()}

    async def _close(self, request: Message, _: Send) -> Message:
        link = self._links.pop(request["kernel"], None)
        if link:
            link.close()
        with suppress(OSError):
            os.unlink(self._shown(request["kernel"]))
        shutil.rmtree(os.path.join(self._folder, request["kernel"]), ignore_errors=True)
        return {}


def _add_name(connection_file: str, name: str, shown: str) -> None:
    """Write a connection file with the kernel's name, in the form that an external kernel manager expects, in one step."""
    with open(connection_file, encoding="utf-8") as file:
        described = json.load(file)
    draft = f"{connection_file}.named"
    with open(draft, "w", encoding="utf-8") as file:
        json.dump({**described, "kernel_name": name}, file)
    os.rename(draft, shown)


async def serve(folder: str, sock: socket.socket) -> None:
    """Serve one server until it disconnects."""
    reader, writer = await asyncio.open_unix_connection(sock=sock, limit=MAX_LINE)
    relay = Relay(folder, lambda message: writer.write(json.dumps(message).encode() + b"\n"))
    running: set[asyncio.Task[None]] = set()

    def start(work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        running.add(task)
        task.add_done_callback(running.discard)

    while line := await reader.readline():
        start(relay.handle(json.loads(line)))


def main(packages: str, folder: str) -> None:
    """Serve the server at the other end of standard input."""
    sys.path += [packages, ROOT]
    become(folder)


def become(folder: str) -> None:
    """Serve it once everything can be imported."""
    asyncio.run(serve(folder, socket.socket(fileno=0)))


def load() -> None:
    """Import in advance what the first kernel would need."""

    import sandbox_server.drivers.kernels.forked_copies
    import sandbox_server.drivers.kernels.relay_execution  # noqa: F401


if __name__ == "__main__":
    main(*sys.argv[1:])
