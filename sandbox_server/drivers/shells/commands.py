"""The files by which a shell is told what to run and says how it ended.

`<name>.command` holds the next command: token, how to follow links, directory, what to do without it, text, and what is run in place of
the text where that is only shown, each ended by a NUL; before the first command it holds the nonce and a newline. `<name>.begun` holds the
token of the command that began last, `<name>.status` token, exit code and directory of the one that ended last. `<name>.variables` holds
the exported variables at the last prompt, as bash declares them; a new shell takes over those that it finds there. `<name>.screen` holds
what a new shell shows first.
They are in a directory of the agent's, so they are made and read by file workers; the command file stays open here to be written at once.
"""

import os
import re
from dataclasses import dataclass
from typing import Literal, Self

from sandbox_server.core.errors import FileError, InvalidArgument, TooLarge
from sandbox_server.core.tasks import in_thread
from sandbox_server.drivers.files.files import Files

MAX_COMMAND = 4 << 20
"""Bytes of a command's text."""
MAX_VARIABLES = 1 << 20
"""Bytes of a shell's exported variables."""
MAX_STATUS = 16 << 10
"""Bytes of what a shell says of a command that began or ended: a token, a code and a path."""
_INLINE = 64 << 10
_CODE = re.compile("[0-9]{1,3}")


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """What a shell is to run. `directory` empty is where it is; `strict` does not run the text when there is no such directory; where there
    is a `line`, that is run, and the text is what people see."""

    token: str
    text: str
    directory: str = ""
    links: Literal["follow", "keep"] = "follow"
    strict: bool = False
    line: str = ""

    def encode(self) -> bytes:
        """Give the content of the file; raises InvalidArgument for a NUL and TooLarge."""
        option = "-L" if self.links == "keep" else "-P"
        fields = [self.token, option, self.directory, "strict" if self.strict else "", self.text, self.line]
        if any("\0" in field for field in fields):
            raise InvalidArgument("a command cannot hold a NUL character")
        content = b"".join(field.encode("utf-8", "surrogateescape") + b"\0" for field in fields)
        if len(content) > MAX_COMMAND:
            raise TooLarge(f"a command is at most {MAX_COMMAND} bytes", hint="write it to a file and run that", limit=MAX_COMMAND)
        return content

    @classmethod
    def decode(cls, content: bytes) -> "ShellCommand | None":
        """Read what `encode` gave; None for anything else."""
        fields = content.decode("utf-8", "surrogateescape").split("\0", 7)
        if len(fields) != 7:
            return None
        token, option, directory, strict, text, line, _ = fields
        return cls(token, text, directory, "keep" if option == "-L" else "follow", bool(strict), line)


@dataclass(frozen=True, slots=True)
class ShellStatus:
    """How the last command ended, as the shell wrote it down."""

    token: str
    code: int
    directory: str

    @classmethod
    def decode(cls, content: bytes) -> "ShellStatus | None":
        """Read what the shell wrote; None while it has not written yet."""
        fields = content.decode("utf-8", "surrogateescape").split("\0", 4)
        if len(fields) != 4 or not _CODE.fullmatch(fields[1]):
            return None
        return cls(fields[0], int(fields[1]), fields[2])


@dataclass(frozen=True, slots=True)
class Recall:
    """What the files say: the command that was given last, the token of the one that began last, and how the last one ended."""

    given: ShellCommand | None
    begun: str
    ended: ShellStatus | None

    @property
    def running(self) -> bool:
        """Whether the command that was given began and has not ended."""
        return self.given is not None and self.given.token == self.begun and (self.ended is None or self.ended.token != self.begun)


class CommandFile:
    """The files of one shell; `path` is theirs without the ending."""

    def __init__(self, files: Files, path: str) -> None:
        self.path = path
        self._access = files.access("prepare")
        self._fd = -1

    async def create(self, content: bytes) -> Self:
        """Make the command file anew, with this in it; raises FileError."""
        self.close()
        with await self._access.stage(f"{self.path}.command") as staged:
            await staged.write(content)
            committed = await self._access.commit(staged, f"{self.path}.command")
            if committed.inode == os.fstat(staged.fd).st_ino:  # else the file system made a copy: each command makes the file anew
                self._fd = os.dup(staged.fd)
        return self

    async def write(self, command: ShellCommand) -> None:
        """Put a command where the shell reads it."""
        await self._replace(command.encode())

    async def withdraw(self) -> None:
        """Take the command back: a shell that reads the file later finds none."""
        await self._replace(b"")

    async def recall(self) -> Recall:
        """Read what is written down."""
        begun = (await self._content("begun", MAX_STATUS)).decode("ascii", "replace")
        return Recall(
            ShellCommand.decode(await self._content("command")), begun, ShellStatus.decode(await self._content("status", MAX_STATUS))
        )

    async def variables(self) -> bytes:
        """Read what the shell exported at its last prompt; nothing where that is too much."""
        return await self._content("variables", MAX_VARIABLES)

    async def leave_variables(self, variables: bytes) -> None:
        """Have the shell that is about to start export what another one did; raises FileError."""
        await self._access.write(f"{self.path}.variables", variables, mode=0o600)

    async def leave_screen(self, screen: bytes) -> None:
        """Have the shell that is about to start show this first; raises FileError."""
        await self._access.write(f"{self.path}.screen", screen, mode=0o600)

    async def remove(self) -> None:
        """Delete the files."""
        self.close()
        for ending in ("command", "begun", "status", "variables", "screen"):
            await self._access.delete(f"{self.path}.{ending}", missing_ok=True)

    def close(self) -> None:
        """Close what is open here; the files stay."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    async def _replace(self, content: bytes) -> None:
        if self._fd < 0:
            await self.create(content)
        elif len(content) <= _INLINE:  # memory of the kernel's: faster than a thread
            _overwrite(self._fd, content)
        else:
            await in_thread(_overwrite_and_close, os.dup(self._fd), content)  # `close` may come meanwhile

    async def _content(self, ending: str, limit: int = 2 * MAX_COMMAND) -> bytes:
        try:
            content, _ = await self._access.read(f"{self.path}.{ending}", limit=limit)
        except FileError:
            return b""
        return content


def _overwrite_and_close(fd: int, content: bytes) -> None:
    try:
        _overwrite(fd, content)
    finally:
        os.close(fd)


def _overwrite(fd: int, content: bytes) -> None:
    os.ftruncate(fd, 0)
    view = memoryview(content)
    while view:
        view = view[os.pwrite(fd, view, len(content) - len(view)) :]
