"""The API's and the browser owner's side of the worker: one request, one process."""

import asyncio
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sandbox_server.core.errors import (
    Conflict,
    DeadlineExceeded,
    Failure,
    InvalidArgument,
    NotFound,
    ResourceExhausted,
    TooLarge,
    Unavailable,
)
from sandbox_server.drivers.profiles.condition import version_in
from sandbox_server.drivers.profiles.tree import MAX_BYTES
from sandbox_server.drivers.profiles.worker import MAX_REQUEST
from sandbox_server.drivers.spawn.pipes import Capture, PipeReader
from sandbox_server.drivers.spawn.process import Processes, put_down
from sandbox_server.timeouts import scaled

QUICK_SECONDS = scaled(60.0)
"""Seconds for what copies nothing; a busy machine takes long to start a process."""
COPY_SECONDS = 300.0
MAX_REPLY = 256 << 10
MAX_VERSION = 4096
MAX_SEALED = MAX_BYTES + (64 << 20)
"""Bytes of an exported profile."""
_KINDS: dict[str, type[Failure]] = {kind.kind: kind for kind in (InvalidArgument, NotFound, Conflict, TooLarge, ResourceExhausted)}
_HINTS = {
    "in_use": "Use another profile first, or end what has this one.",
    "newer_chromium": "Run an image with that version of Chromium or a later one.",
    "damaged": "Nothing of it was changed. Go on with another profile, or import its last export under another name.",
}


@dataclass(frozen=True, slots=True)
class StoredProfile:
    """A profile as it is on disk."""

    name: str
    created: float | None
    """Seconds since the epoch; None of `default`."""
    chromium: str | None
    """The version of Chromium that last ran on it."""
    bytes: int
    held: bool
    """Whether a process has it now."""
    problem: str | None
    """Why Chromium would not start on it."""


class ProfileStore:
    """Profiles below `root`, of at most `max_bytes` together.

    `default` is the directory of the profile of that name, `executable` Chromium's program.

    Every method raises NotFound, Conflict (`reason`: exists, in_use, damaged, newer_chromium), ResourceExhausted, Unavailable and
    DeadlineExceeded. What is refused or cut short leaves everything as it was.
    """

    def __init__(self, processes: Processes, root: str, default: str, executable: str, max_bytes: int) -> None:
        self._processes = processes
        self._always = {"root": root, "default": default, "max_bytes": max_bytes}
        self._executable = executable
        self._installed: str | None = None

    async def list(self) -> list[StoredProfile]:
        """Return every profile, `default` first."""
        return [StoredProfile(**each) for each in (await self._ask("list"))["profiles"]]

    async def create(self, name: str) -> None:
        """Make an empty profile."""
        await self._ask("create", name=name)

    async def check(self, name: str, *, make: bool = False) -> None:
        """Return if Chromium may start on a profile; one that is missing is made where `make` says so."""
        await self._ask("check", name=name, make=make)

    async def duplicate(self, name: str, to: str) -> None:
        """Copy a profile that no process has."""
        await self._ask("duplicate", COPY_SECONDS, name=name, to=to)

    async def delete(self, name: str) -> None:
        """Remove a profile that no process has."""
        await self._ask("delete", COPY_SECONDS, name=name)

    async def pack(self, name: str, passphrase: str, file: IO[bytes]) -> None:
        """Write a profile that no process has to `file`, encrypted."""
        await self._ask("pack", COPY_SECONDS, out=file, name=name, passphrase=passphrase)

    async def unpack(self, name: str, passphrase: str, file: IO[bytes]) -> None:
        """Make a profile of a file that `pack` wrote. Raises InvalidArgument (`reason`: passphrase, malformed) and TooLarge too."""
        await self._ask("unpack", COPY_SECONDS, given=file, name=name, passphrase=passphrase)

    async def cookies(self, database: IO[bytes], file: IO[bytes]) -> int:
        """Write the cookies of a browser's database to `file` as JSON, and return how many could not be read. Raises as `unpack` does."""
        return int((await self._ask("cookies", given=database, out=file))["left"])

    async def _ask(
        self, do: str, seconds: float = QUICK_SECONDS, *, given: IO[bytes] | None = None, out: IO[bytes] | None = None, **fields: object
    ) -> dict[str, Any]:
        self._installed = self._installed or await self._version()
        request = json.dumps({"do": do, "installed": self._installed, **self._always, **fields}).encode()
        if len(request) > MAX_REQUEST:
            raise TooLarge(f"a profile's request has more than {MAX_REQUEST} bytes")
        reply = await self._exchange(request, seconds, given, out)
        if problem := reply.get("problem"):
            reason = problem["reason"]
            raise _KINDS[problem["kind"]](problem["message"], hint=_HINTS.get(reason), **({"reason": reason} if reason else {}))
        done: dict[str, Any] = reply["done"]
        return done

    async def _version(self) -> str:
        told = await self._processes.run(
            [self._executable, "--version"], user="desktop", cwd="/", timeout=QUICK_SECONDS, max_output=MAX_VERSION
        )
        if (version := version_in(told.stdout)) is None:
            raise Unavailable("this Chromium does not say its version, by which profiles are judged", retry_after=1.0)
        return version

    async def _exchange(self, request: bytes, seconds: float, given: IO[bytes] | None, out: IO[bytes] | None) -> dict[str, Any]:
        captured = Capture(MAX_REPLY)
        theirs, ours = os.pipe()
        try:
            os.write(ours, request)  # within what a pipe holds
            os.close(ours)
            with PipeReader(captured.take) as replies:
                process = await self._processes.start(
                    [sys.executable, "-P", "-m", "sandbox_server.drivers.profiles.worker"],
                    user="desktop",
                    cwd="/",
                    env={"PYTHONPATH": str(Path(__file__).parents[3])},
                    stdin=given.fileno() if given else None,
                    stdout=out.fileno() if out else None,
                    stderr=2,
                    pipe=(theirs, replies.theirs),
                )
                replies.release()
                try:
                    async with asyncio.timeout(seconds):
                        await process.wait()
                except TimeoutError:
                    raise DeadlineExceeded(f"the profile was not ready within {seconds:g} seconds; nothing was changed") from None
                finally:
                    if process.exit is None:
                        await put_down(process)
                await replies.settle()
        finally:
            os.close(theirs)
        try:
            found: dict[str, Any] = json.loads(captured.bytes())
        except ValueError:
            raise Unavailable("what copies profiles ended without an answer; nothing was changed", retry_after=1.0) from None
        return found
