"""Forks: a checkpoint with what it keeps beside files as one archive, from which another sandbox starts (`SANDBOX_RESTORE`)."""

import asyncio
import errno
import os
import secrets
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import IO, Annotated, Literal, Self

from pydantic import Field, SecretStr

from sandbox_server.core import Call, Content, InvalidArgument, Model, NotFound, PermissionDenied, ResourceExhausted, Tasks, operation
from sandbox_server.core.control import Reach
from sandbox_server.core.tasks import in_thread
from sandbox_server.drivers.box.client import LONG_SECONDS, BoxClient
from sandbox_server.drivers.forks import fork_archive
from sandbox_server.features.box.checkpoint_state import CheckpointStates, seen_by
from sandbox_server.features.box.checkpoints import CheckpointRef

CHUNK = 1 << 20
MAX_FORKS = 4
KEPT_SECONDS = 3600.0
"""Seconds for which an archive can be downloaded."""
MIN_PASSPHRASE, MAX_PASSPHRASE = 12, 1024

type PackProfile = Callable[[Call, str | None, str, IO[bytes]], Awaitable[str]]
"""Writes a profile, by its name or the one in use, to a file, encrypted with a passphrase, and returns its name."""


class ForkRequest(CheckpointRef):
    """Which checkpoint, and whether a profile of the browser goes with it."""

    profile: bool = False
    """Whether cookies and storage of a profile are in it, encrypted. Needs the scope `admin`."""
    profile_name: Annotated[str, Field(max_length=63)] | None = None
    """Which profile; without it, the one in use."""
    passphrase: Annotated[SecretStr, Field(min_length=MIN_PASSPHRASE, max_length=MAX_PASSPHRASE)] | None = None
    """What the profile is encrypted with: the other sandbox's `SANDBOX_RESTORE_PASSPHRASE`."""

    @property
    def acts(self) -> Sequence[Reach]:
        """What it acts on: a profile in use is copied while its browser is stopped, which a person may hold."""
        return ("cdp",) if self.profile else ()


class ForkArchivePart(Model):
    """A part of the archive."""

    name: Literal["state.json", "checkpoint.tar.gz", "profile.sealed"]
    bytes: int
    sha256: str
    """Hexadecimal digits."""


class Fork(Model):
    """An archive that another sandbox can start from."""

    id: str
    """`GET /v1/forks/{fork_id}` downloads it."""
    checkpoint: str
    bytes: int
    sha256: str
    """Of the whole archive, in hexadecimal digits."""
    parts: list[ForkArchivePart]
    profile: str | None
    """Name of its profile; null without one."""
    expires_at: float
    """Until when it can be downloaded, in seconds since the epoch."""
    restore: str
    """`SANDBOX_RESTORE` of another sandbox that reaches this one at the address of this call, with a token in
    `SANDBOX_RESTORE_AUTHORIZATION`."""


class ForkRef(Model):
    """Which archive."""

    fork_id: str
    """Its id."""


@dataclass(frozen=True, slots=True)
class _Kept:
    fork: Fork
    file: IO[bytes]
    profiled: bool


class Forks:
    """Makes archives and gives them out; an asynchronous context manager. Their files have no name in `spool`, and end with the server."""

    tag = "checkpoints"

    def __init__(
        self, box: BoxClient, states: CheckpointStates, pack_profile: PackProfile, *, version: str, spool: str, quota: int
    ) -> None:
        self._box = box
        self._states = states
        self._pack_profile = pack_profile
        self._version = version
        self._spool = spool
        self._quota = quota
        self._kept: dict[str, _Kept] = {}
        self._making = asyncio.Lock()
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()
        for each in list(self._kept):
            self._forget(each)

    @operation("POST /v1/checkpoints/{checkpoint_id}/fork", scope="shell")
    async def fork_checkpoint(self, request: ForkRequest, call: Call) -> Fork:
        """Make an archive of a checkpoint from which another sandbox starts: files, shells, tabs, and a profile where it is asked for.

        No key, token, secret or identity of this sandbox is in it. What the agent wrote into files is. With a profile, the browser is
        restarted with its tabs. Raises 429 where four archives are kept, or all of them would pass the quota of checkpoints.
        """
        _check(request, call)
        async with self._making:
            if len(self._kept) >= MAX_FORKS:
                raise ResourceExhausted(f"{MAX_FORKS} archives are kept", hint="Delete one with DELETE /v1/forks/{fork_id}.")
            file = tempfile.TemporaryFile(dir=self._spool)  # noqa: SIM115 # it is kept, and closed when it is forgotten
            try:
                fork = await self._make(request, call, file)
                self._check_room(fork.bytes)
            except BaseException as error:
                file.close()
                if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                    raise ResourceExhausted("the disk has no room for the archive") from None
                raise
            self._kept[fork.id] = _Kept(fork, file, request.profile)
        self._tasks.start(self._expire(fork.id), name=f"end of fork {fork.id}")
        return fork

    async def _make(self, request: ForkRequest, call: Call, out: IO[bytes]) -> Fork:
        state = seen_by(call.caller, await self._states.read(request.checkpoint_id))
        with (
            tempfile.TemporaryFile(dir=self._spool) as checkpoint,
            tempfile.TemporaryFile(dir=self._spool) as told,
            tempfile.TemporaryFile(dir=self._spool) as profile,
        ):
            await self._box.ask("export", timeout=LONG_SECONDS, checkpoint=request.checkpoint_id, fds=[checkpoint.fileno()])
            told.write(replace(state, programs=()).dumps().encode())
            files: dict[str, IO[bytes]] = {fork_archive.STATE: told, fork_archive.CHECKPOINT: checkpoint}
            name = None
            if request.profile and request.passphrase:
                name = await self._pack_profile(call, request.profile_name, request.passphrase.get_secret_value(), profile)
                files[fork_archive.PROFILE] = profile
            written = await in_thread(fork_archive.write, out, self._version, request.checkpoint_id, time.time(), name, files)
        fork_id = secrets.token_hex(16)
        return Fork(
            id=fork_id,
            checkpoint=request.checkpoint_id,
            bytes=out.tell(),
            sha256=written.sha256,
            parts=[ForkArchivePart.model_validate(part, from_attributes=True) for part in written.manifest.parts],
            profile=name,
            expires_at=time.time() + KEPT_SECONDS,
            restore=f"{call.base_url}/v1/forks/{fork_id}#sha256={written.sha256}",
        )

    def _check_room(self, size: int) -> None:
        taken = sum(each.fork.bytes for each in self._kept.values())
        if taken + size > self._quota:
            raise ResourceExhausted(f"archives would take {taken + size} of {self._quota} bytes", hint="Delete one first.")

    @operation("GET /v1/forks/{fork_id}", scope="shell", media_type="application/octet-stream")
    async def download_fork(self, request: ForkRef, call: Call) -> Content:
        """Download an archive; ranges are supported, so that a download can go on where it was cut."""
        kept = self._kept.get(request.fork_id)
        if kept is None:
            raise NotFound("there is no such archive, or its time is over")
        if kept.profiled and not call.caller.may("admin"):
            raise PermissionDenied("an archive with a profile needs the scope admin")
        file = os.fdopen(os.dup(kept.file.fileno()), "rb")
        return Content(
            size=kept.fork.bytes,
            media_type="application/octet-stream",
            read=partial(_read, file),
            close=file.close,
            etag=f'"{kept.fork.sha256}"',
            filename=f"fork-{kept.fork.checkpoint}.tar",
        )

    @operation("DELETE /v1/forks/{fork_id}", scope="shell")
    async def delete_fork(self, request: ForkRef) -> None:
        """Delete an archive before its time is over; a download that goes on is not cut."""
        if request.fork_id not in self._kept:
            raise NotFound("there is no such archive, or its time is over")
        self._forget(request.fork_id)

    async def _expire(self, fork_id: str) -> None:
        await asyncio.sleep(KEPT_SECONDS)
        self._forget(fork_id)

    def _forget(self, fork_id: str) -> None:
        if kept := self._kept.pop(fork_id, None):
            kept.file.close()


def _check(request: ForkRequest, call: Call) -> None:
    if not request.profile:
        if request.profile_name is not None or request.passphrase is not None:
            raise InvalidArgument("profile_name and passphrase go with profile=true", field="profile")
        return
    if not call.caller.may("admin"):
        raise PermissionDenied("a fork with a profile needs the scope admin")
    if request.passphrase is None:
        raise InvalidArgument(f"a fork with a profile needs a passphrase of at least {MIN_PASSPHRASE} characters", field="passphrase")


async def _read(file: IO[bytes], start: int, stop: int) -> AsyncIterator[bytes]:
    while start < stop:
        chunk = os.pread(file.fileno(), min(CHUNK, stop - start), start)
        if not chunk:
            return
        yield chunk
        start += len(chunk)
