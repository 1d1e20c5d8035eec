"""The terminal socket: one person at one session, with the messages of the contract.

To the page: `session_id`, `ready`, `output`, `ping`, `error`, and `resize` where someone else changed the size.
"""

import asyncio
import codecs
import json
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

from sandbox_server.core import Failure, Socket, TooLarge
from sandbox_server.core.tasks import start_task
from sandbox_server.drivers.shells.terminal_screen import TerminalScreen
from sandbox_server.features.shell.session import ShellSession

PING_SECONDS = 20.0
MAX_BACKLOG = 1 << 20
"""Bytes that may wait for a slow page; beyond, it is given the screen as it is instead."""
GONE, HELD, NO_ROOM = 4404, 4423, 4429
"""Codes with which the socket is closed where there is nothing to show: the page says why, and does not try again."""
MAX_REASON = 100
"""Bytes of a reason in a frame that closes; it may have 123."""
MAX_MESSAGE = 256 << 10
MAX_COLUMNS = 1000
MAX_ROWS = 500

# What a program asks its terminal. tmux answers already; a second answer from the page would arrive as typed keys.
_QUESTIONS = re.compile(
    rb"\x1b\[[>=]?[0-9;]*c|\x1b\[\??[0-9;]*n|\x1b\[\??[0-9;]*\$p|\x1b\[>[0-9;]*q|\x1b\[1[3-9]t|\x1b\[2[01]t|\x1bZ|\x05"
    rb"|\x1bP[+$]q[^\x1b]*\x1b\\|\x1b\](?:4;[0-9]+|1[0-9]);\?(?:\x07|\x1b\\)"
)
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|[\]P][^\x07\x1b]{0,64}\x1b?)?\Z")


class Terminal:
    """One connection (`Viewer`). `may_type` tells whether what is typed counts, `typed` is told how much that was."""

    def __init__(self, socket: Socket, may_type: Callable[[], Awaitable[bool]], typed: Callable[[int], None] = lambda _: None) -> None:
        self._socket = socket
        self._may_type = may_type
        self._typed = typed
        self._refused = False
        self._loop = asyncio.get_running_loop()
        self._waiting = bytearray()
        self._stale = True
        self._closed = False
        self._size = (0, 0)
        self._change: asyncio.Future[None] = self._loop.create_future()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    async def refuse(self, reason: str, code: int = GONE) -> None:
        """Say why there is nothing to show, and close."""
        await self._send("error", reason)
        await self._socket.close(code, reason.encode()[:MAX_REASON].decode("utf-8", "ignore"))

    async def show(self, session: ShellSession) -> None:
        """Show a session until one side leaves. Raises ConnectionError."""
        await self._send("session_id", session.id)
        await self._send("ready", "Terminal ready")
        sending = start_task(self._output(session))
        try:
            while not sending.done() and (message := await self._received(sending)) is not None:
                await self._take(session, message)
        finally:
            session.state.viewers.discard(self)
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
        await self._socket.close()

    def output(self, data: bytes) -> None:
        """Take bytes of the terminal."""
        if not self._stale:
            self._waiting += data
            self._stale = len(self._waiting) > MAX_BACKLOG
        self._wake()

    def stale(self) -> None:
        """Show the screen anew: bytes are missing."""
        self._stale = True
        self._wake()

    def closed(self) -> None:
        """Take the end of the session."""
        self._closed = True
        self._wake()

    async def _received(self, sending: "asyncio.Task[None]") -> str | bytes | None:
        receiving = start_task(self._socket.receive())
        await asyncio.wait([receiving, sending], return_when=asyncio.FIRST_COMPLETED)
        if receiving.done():
            return receiving.result()
        receiving.cancel()
        return None

    async def _take(self, session: ShellSession, message: str | bytes) -> None:
        try:
            content = _parsed(message)
            match content.get("type"):
                case "input":
                    await self._type(session, str(content["data"]))
                case "resize":
                    columns, rows = int(content["data"]["cols"]), int(content["data"]["rows"])
                    self._size = (min(max(columns, 2), MAX_COLUMNS), min(max(rows, 2), MAX_ROWS))
                    await session.resize(*self._size)
                case "pong":
                    pass
                case other:
                    await self._send("error", f"no message has the type {other!r}")
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            await self._send("error", "a message is JSON: input with a text, resize with cols and rows, or pong")
        except Failure as failure:
            await self._send("error", failure.message)

    async def _type(self, session: ShellSession, text: str) -> None:
        refused, self._refused = self._refused, not await self._may_type()
        if self._refused:
            if not refused:
                await self._send("error", "Somebody else has control: what you type goes nowhere")
            return
        session.touch()
        self._typed(len(text))
        if session.state.over and ("\r" in text or "\n" in text):
            await session.reopen()
        elif not session.state.over:
            await session.type(text.encode("utf-8", "surrogateescape"))

    async def _output(self, session: ShellSession) -> None:
        session.state.viewers.add(self)
        due = self._loop.time() + PING_SECONDS
        while not self._closed:
            change = self._change
            if self._stale:
                await self._redraw(session)
            elif self._waiting:
                await self._flush()
            else:
                await asyncio.wait([change], timeout=due - self._loop.time())
            if self._loop.time() >= due:
                await self._message({"type": "ping", "timestamp": int(time.time() * 1000)})
                due = self._loop.time() + PING_SECONDS
        await self._send("error", "Session closed")

    async def _redraw(self, session: ShellSession) -> None:
        def taken(screen: TerminalScreen) -> None:
            self._waiting[:] = screen.restore()
            self._stale = False

        self._decoder.reset()
        try:
            size = (await session.started.capture(taken)).state.size
            if size != self._size:
                self._size = size
                await self._message({"type": "resize", "data": {"cols": size[0], "rows": size[1]}})
        except Failure as failure:
            self._waiting[:] = f"\r\n[{failure.message}. Press Enter to reopen]\r\n".encode()
            self._stale = False

    async def _flush(self) -> None:
        raw = bytes(self._waiting)
        unfinished = _UNFINISHED.search(raw, max(0, len(raw) - 128))
        used = unfinished.start() if unfinished and unfinished.start() else len(raw)
        del self._waiting[:used]
        text = self._decoder.decode(_QUESTIONS.sub(b"", raw[:used]))
        if text:
            await self._send("output", text)

    async def _send(self, kind: str, text: str) -> None:
        await self._message({"type": kind, "data": text})

    async def _message(self, message: dict[str, Any]) -> None:
        await self._socket.send(json.dumps(message, ensure_ascii=False))

    def _wake(self) -> None:
        changed, self._change = self._change, self._loop.create_future()
        changed.set_result(None)


def _parsed(message: str | bytes) -> dict[str, Any]:
    if len(message) > MAX_MESSAGE:
        raise TooLarge(f"a message is at most {MAX_MESSAGE} bytes")
    content = json.loads(message)
    if not isinstance(content, dict):
        raise TypeError("not an object")
    return content
