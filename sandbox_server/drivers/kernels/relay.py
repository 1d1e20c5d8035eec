"""Speaks the kernels' protocol, inside the agent's box, for the API server outside: `relay.py PACKAGES FOLDER`.

Kernels listen on Unix sockets in the box, which the server cannot reach, and their messages are parsed by a large C++ library, which the
server would rather not have: so this process, of the agent's own, stands between. Requests and answers are lines of JSON on its standard
input, a socket. A request has an `id`, which its answers repeat:

- `{"op": "open", "kernel"}`: make a folder and a connection file for a kernel; `done` with `file`.
- `{"op": "connect", "kernel", "file", "pid"}`: wait until the kernel answers; `done`.
- `{"op": "execute", "kernel", "code", "room", "count", "silent"}`: `begun`, `output` for each output, then `done` with what the kernel
  replied. Of the outputs at most `room` bytes and `count` pieces are passed on; `dropped` says how many bytes were not. `silent` leaves
  no trace in `In`. A stream's bytes are those of its text, any other output's those of its JSON.
- `{"op": "show", "kernel", "file", "name"}`: let JupyterLab list the kernel; `done`.
- `{"op": "sweep", "kernel"}`: end the copies of the kernel that what ran last has forked; `done` with how many are `left`.
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
"""Folder of the connection files of those kernels that JupyterLab lists."""
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
"""Where this package is."""
RECONNECT_MS = 2
"""Milliseconds after which a socket that a kernel does not listen on yet is tried again (zmq_setsockopt(3), ZMQ_RECONNECT_IVL); ZeroMQ's
own 100 are longer than a kernel takes to start. Twice as long each time, and at most `MAX_RECONNECT_MS`."""
MAX_RECONNECT_MS = 100
KNOCK_SECONDS = 0.05
"""After how long a kernel that starts is asked again whether it is there; twice as long each time, and at most `MOST_KNOCK_SECONDS`."""
MOST_KNOCK_SECONDS = 1.0
RUNNING_SCORE = 700
"""What a kernel offers the out-of-memory killer while it runs code, and for good what that code starts: those that idle stay longer."""
STRAGGLING_SECONDS = 2.0
"""How long after the reply outputs may still come, before they count as lost."""
OVERDUE_SECONDS = 0.5
"""How long after the kernel is idle again its reply may still come, before it is asked for."""
OF_EVERY_CODE = ("status", "execute_input")
"""What a kernel publishes of whichever code it runs, others' too; of the rest of what it puts out nobody can tell."""
MAX_WORDS = 1000
"""Characters of an exception's name, or of its text, in a reply; the error output has it all."""


async def knock(ask: Callable[[], "asyncio.Future[Message]"], heard: asyncio.Event) -> None:
    """Ask again and again until there was an answer, to whichever, and `heard` is set: a busy machine gives answers late."""
    answered, patience = asyncio.Event(), KNOCK_SECONDS
    while not (answered.is_set() and heard.is_set()):
        ask().add_done_callback(lambda _: answered.set())
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await answered.wait()
                await heard.wait()
        patience = min(2 * patience, MOST_KNOCK_SECONDS)


class NoReplyError(Exception):
    """The kernel has run the code and is there, but what became of it was not said, or got lost."""


def _context() -> Any:
    """The ZeroMQ context of this process, for all kernels: each has two threads of its own."""
    import zmq.asyncio

    context = zmq.asyncio.Context.instance()
    context.setsockopt(zmq.RECONNECT_IVL, RECONNECT_MS)
    context.setsockopt(zmq.RECONNECT_IVL_MAX, MAX_RECONNECT_MS)
    return context


class KernelLink:
    """The conversation with one kernel."""

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
        """Wait until the kernel has answered once, and its outputs arrive here."""
        if self._answered:
            return
        await knock(self._greet, self._heard)
        self._answered = True

    async def execute(self, code: str, run: "RelayedExecution", *, silent: bool) -> Message:
        """Run code and give the kernel's reply; raises NoReplyError."""
        self._current, before = run, self._offer(RUNNING_SCORE)
        self.copies.begin()
        try:
            content = {"code": code, "silent": silent, "store_history": not silent, "user_expressions": {}, "allow_stdin": False}
            reply = await self._run({**content, "stop_on_error": True}, run)
            while reply.get("status") == "aborted":  # it has not begun: code of somebody else's failed, for which this had waited
                await asyncio.sleep(KNOCK_SECONDS)
                reply = await self._run({**content, "stop_on_error": True}, run)
            run.show_page(reply)
            with suppress(TimeoutError):
                async with asyncio.timeout(STRAGGLING_SECONDS):
                    await run.idle.wait()
            return reply
        finally:
            self._current = None
            self._offer(before)

    def close(self) -> None:
        """Hang up; who still waits for a reply is told."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        self._client.stop_channels()
        for reply in list(self._replies.values()):
            if not reply.done():
                reply.set_exception(ConnectionError("the kernel was closed"))

    def _offer(self, score: int) -> int:
        """Set the kernel's badness (proc_pid_oom_score_adj(5)); gives what it was."""
        before = score
        with suppress(OSError, ValueError), open(self._badness, "r+", encoding="ascii") as file:
            before = int(file.read())
            file.seek(0)
            file.write(str(score))
        return before

    async def _run(self, content: Message, run: "RelayedExecution") -> Message:
        """Ask for an execution and wait for the reply.

        A kernel that is idle again has sent it, and replies in the order in which it was asked. So where the reply to a later request
        comes first, the one to this will not come: it could not be encoded, or an interrupt came when the code was over already.
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
            raise NoReplyError("it has run the code and did not say how that ended")
        return reply.result()

    def _greet(self) -> "asyncio.Future[Message]":
        """Ask for what costs a kernel nothing."""
        return self._ask(self._client.session.msg("kernel_info_request", {}))

    def _ask(self, message: Message) -> "asyncio.Future[Message]":
        """Send a request; gives what will be the reply.

        Not by the client's own methods: they send behind the back of the asynchronous socket, which then may not notice that a reply has
        come meanwhile, as zmq_getsockopt(3) says of ZMQ_FD.
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
            with suppress(Exception):  # code can have the kernel send whatever it likes, which must not end who listens
                self._settle(self._read(frames))

    def _settle(self, message: Message) -> None:
        reply = self._replies.get(message["parent_header"].get("msg_id"))
        if reply and not reply.done():
            reply.set_result(dict(message["content"]))

    def _read(self, frames: list[bytes]) -> Message:
        """Read a message; raises whatever it raises where it is none."""
        _, parts = self._client.session.feed_identities(frames)
        return dict(self._client.session.deserialize(parts))

    async def _follow_output(self) -> None:
        channel = self._client.iopub_channel.socket
        while True:
            frames = await channel.recv_multipart()
            self._heard.set()
            run = self._current
            if run and run.full and not frames[0].endswith(b".status"):  # unread: an endless loop writes faster than it can be parsed
                run.miss(frames[0], frames[-1])
                await asyncio.sleep(0)  # what is there already is received without a pause, and the reply must come through
            elif run:
                with suppress(Exception):  # as with replies
                    self._publish(self._read(frames), run)

    def _publish(self, message: Message, run: "RelayedExecution") -> None:
        if message["msg_type"] not in OF_EVERY_CODE or message["parent_header"].get("msg_id") == run.number:
            run.take(message["msg_type"], message["content"])


class Relay:
    """Does what it is asked."""

    def __init__(self, folder: str, send: Send) -> None:
        self._folder = folder
        self._send = send
        self._links: dict[str, KernelLink] = {}

    async def handle(self, request: Message) -> None:
        """Carry out one request and answer it."""
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
        except Exception as error:
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
    """Write a connection file with the kernel's name, as a manager of external kernels expects it, where that finds it whole."""
    with open(connection_file, encoding="utf-8") as file:
        described = json.load(file)
    draft = f"{connection_file}.named"
    with open(draft, "w", encoding="utf-8") as file:
        json.dump({**described, "kernel_name": name}, file)
    os.rename(draft, shown)


async def serve(folder: str, sock: socket.socket) -> None:
    """Serve one server until it hangs up."""
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
    """Serve it, once everything can be imported."""
    asyncio.run(serve(folder, socket.socket(fileno=0)))


def load() -> None:
    """Import what is imported otherwise when the first kernel is there."""

    import sandbox_server.drivers.kernels.forked_copies
    import sandbox_server.drivers.kernels.relay_execution  # noqa: F401


if __name__ == "__main__":
    main(*sys.argv[1:])
