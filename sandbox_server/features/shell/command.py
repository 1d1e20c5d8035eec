"""One command of a session: what it wrote, and how it ended as far as that was observed."""

import asyncio
import secrets
from datetime import UTC, datetime
from typing import Literal

from sandbox_server.core import Model
from sandbox_server.core.hints import join_hints
from sandbox_server.features.shell.capture import OutputCapture
from sandbox_server.features.shell.text import plain, shorten

_IN_A_THREAD = 128 << 10
"""Bytes from which making text of them would hold up the event loop."""

type BashCommandStatus = Literal["running", "completed", "no_change_timeout", "hard_timeout", "terminated"]


class ConsoleRecord(Model):
    ps1: str
    """Prompt at which the command was given."""
    command: str
    """The command."""
    output: str = ""
    """What it wrote, at most 30000 characters."""


class RunningCommand:
    """A command that is given to a shell. It is `running` from then on, until `finish`."""

    def __init__(self, text: str, token: str) -> None:
        self.token = token
        self.text = text
        self.status: BashCommandStatus = "running"
        self.exit_code: int | None = None
        self.begun = False
        """Whether the shell has said that it runs."""
        self.unread = False
        """Whether the shell could not read it: its file had been deleted."""
        self.nowhere = False
        """Whether its directory could not be entered."""
        self.stopping: BashCommandStatus | None = None
        """How it will have ended, once it is being stopped."""
        self.ps1 = ""
        self.hints: list[str] = []
        self.created_at = datetime.now(UTC)
        self.capture = OutputCapture()
        self._loop = asyncio.get_running_loop()
        self._quiet_since = self._loop.time()
        self._change: asyncio.Future[None] = self._loop.create_future()

    @staticmethod
    def new_token() -> str:
        """Make up what a command is called between this server and its shell."""
        return secrets.token_hex(8)

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self.status != "running"

    @property
    def hint(self) -> str | None:
        """What the caller should know about how it went."""
        return join_hints(*self.hints)

    def begin(self) -> None:
        """Note that the shell runs it now."""
        self.begun = True
        self._quiet_since = self._loop.time()
        self._notify()

    def wrote(self, data: bytes) -> None:
        """Take output."""
        self.capture.add(data)
        self._quiet_since = self._loop.time()
        self._notify()

    def finish(self, status: BashCommandStatus, exit_code: int | None) -> None:
        """Note how it ended; only the first time counts."""
        if not self.ended:
            self.status = status
            self.exit_code = exit_code
            self._notify()

    def add_hint(self, hint: str | None) -> None:
        """Add a sentence for the caller."""
        if hint:
            self.hints.append(hint)

    def change(self) -> asyncio.Future[None]:
        """Done at the next output or change of state."""
        return self._change

    async def settle(self, timeout: float | None = None, no_change_timeout: float = 0) -> BashCommandStatus:
        """Wait until it has ended, `timeout` seconds have passed, or it was silent for `no_change_timeout` seconds (0: never mind).

        Gives its status, or `no_change_timeout`; it is not stopped by any of these.
        """
        deadline = None if timeout is None else self._loop.time() + timeout
        while not self.ended:
            silent = self._quiet_since + no_change_timeout if no_change_timeout else None
            until = min((moment for moment in (deadline, silent) if moment is not None), default=None)
            now = self._loop.time()
            if until is not None and until <= now:
                return "running" if until == deadline else "no_change_timeout"
            await asyncio.wait([self._change], timeout=None if until is None else until - now)
        return self.status

    async def output(self, *, truncate: bool = True) -> str:
        """Everything it wrote, as plain text; what is left out is named where it was."""
        if self.capture.size > _IN_A_THREAD:
            return await asyncio.to_thread(self._text, truncate)
        return self._text(truncate)

    def _text(self, truncate: bool) -> str:
        head, tail = self.capture.parts()
        if omitted := self.capture.omitted:
            text = f"{plain(head)}\n... [{omitted} bytes were not kept] ...\n{plain(tail)}"
        else:
            text = plain(head + tail)
        return shorten(text) if truncate else text

    def _notify(self) -> None:
        changed, self._change = self._change, self._loop.create_future()
        changed.set_result(None)
