"""Snapshots of sandboxes: the files of one at one moment, kept in a folder, to make others of.

They are the image's own checkpoints, taken out and in by the sandbox's API: what an engine can do is not asked for.
"""

import asyncio
import hashlib
import logging
import os
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import httpx2

from tandem_fleet.errors import ConflictError, EngineError, FleetError, NotFoundError, SandboxFailedError
from tandem_fleet.printable import printable
from tandem_fleet.sandbox_client import SandboxClient, bounded, read_answer
from tandem_fleet.sandboxes import Sandbox, State, new_id
from tandem_fleet.store.preparations import PreparationStore
from tandem_fleet.store.snapshots import Snapshot, SnapshotState, SnapshotStore, made_now

LARGEST = 32 << 30
"""Bytes of one snapshot."""
AT_ONCE = 4
"""Snapshots that are made at the same time."""
KEPT_FREE = 2 << 30
"""Bytes of the disk that they leave, together with those that are made at the same time."""
SWEEP_SECONDS = 600.0
MOST = 1000
"""Snapshots of one tenant."""
LONG_SECONDS = 1800.0
"""How long a sandbox may take to make, give or take one."""
READY_SECONDS = 120.0
CHUNK = 1 << 20
POLL_SECONDS = 1.0
_log = logging.getLogger(__name__)


class Snapshots:
    """The snapshots of all tenants. Without a folder there are none."""

    def __init__(self, store: SnapshotStore, preparations: PreparationStore, client: SandboxClient, folder: Path | None) -> None:
        self._store = store
        self._preparations = preparations
        self._client = client
        self._folder = folder
        self._making: set[asyncio.Task[None]] = set()
        self._places = asyncio.Semaphore(AT_ONCE)

    async def make(self, sandbox: Sandbox, label: str, *, temporary: bool = False) -> Snapshot:
        """Begin to make one. Raises `ConflictError` where the sandbox is not ready."""
        if self._folder is None:
            raise ConflictError("this fleet has no folder for snapshots")
        if sandbox.state != State.READY:
            raise ConflictError(f"{sandbox.name} is {sandbox.state}: only one that is ready gives a snapshot")
        made = made_now(new_id(), sandbox.tenant, printable(label, 200), sandbox.id, sandbox.spec, temporary=temporary)
        await self._store.add(made, most=MOST)
        task = asyncio.create_task(self._make(sandbox, made, self._file(made.id)))
        self._making.add(task)
        task.add_done_callback(self._making.discard)
        return made

    async def settle(self, snapshot: str, seconds: float) -> Snapshot:
        """Wait until one is made. Raises `SandboxFailedError` where it could not be, TimeoutError after `seconds`."""
        deadline = time.monotonic() + seconds
        with self._store.database.watching(snapshot) as news:
            while (now := await self._store.get(snapshot)).state != SnapshotState.READY:
                if now.state == SnapshotState.FAILED:
                    raise SandboxFailedError(f"the snapshot {snapshot} failed: {now.reason}")
                if (left := deadline - time.monotonic()) <= 0:
                    raise TimeoutError(f"the snapshot {snapshot} is not made after {seconds:g} s")
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left, POLL_SECONDS)):
                        await news.wait()
                news.clear()
        return now

    async def get(self, tenant: str, snapshot: str) -> Snapshot:
        """One of a tenant. Raises `NotFoundError`."""
        return await self._store.get(snapshot, tenant)

    async def named(self, tenant: str, name: str) -> Snapshot | None:
        """A tenant's snapshot that is made, by its id, else the newest by its label."""
        return await self._store.named(tenant, name)

    async def page(self, tenant: str, after: int, limit: int) -> list[tuple[int, Snapshot]]:
        """A tenant's snapshots, the oldest first, each with the number behind which the next page begins."""
        return await self._store.page(tenant, after, limit, temporary=False)

    async def remove(self, tenant: str, snapshot: str) -> None:
        """Remove one with its file. Raises `NotFoundError`, `ConflictError` while it is made or sandboxes are made of it."""
        found = await self._store.get(snapshot, tenant)
        if found.state == SnapshotState.MAKING:
            raise ConflictError(f"the snapshot {snapshot} is being made")
        if snapshot in await self._preparations.snapshots():
            raise ConflictError(f"sandboxes are being made of the snapshot {snapshot}")
        await self._drop(snapshot)

    async def recover(self) -> None:
        """Say of those that a killed service was making that they failed, and remove what it left."""
        if self._folder is None:
            return
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for _, left in await self._store.page(None, 0, 100_000, state=SnapshotState.MAKING):
            await self._store.change(left.id, state=SnapshotState.FAILED, reason="the service ended while it was made")
            self._file(left.id).unlink(missing_ok=True)
        known = await self._store.ids()
        for file in (*self._folder.glob("*.part"), *self._folder.glob("*.tar.gz")):
            if file.suffix == ".part" or file.name.removesuffix(".tar.gz") not in known:
                file.unlink(missing_ok=True)
        await self.sweep()

    async def sweep(self) -> None:
        """Remove those that were made for other sandboxes alone, when these have them."""
        wanted = await self._preparations.snapshots()
        for _, one in await self._store.page(None, 0, 10_000, temporary=True):
            if one.id not in wanted and one.state != SnapshotState.MAKING:
                await self._drop(one.id)

    async def run(self) -> None:
        """Sweep again and again: sandboxes that it was made for may be deleted before they have it."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            await self.sweep()

    async def close(self) -> None:
        """Stop what is being made."""
        for task in self._making:
            task.cancel()
        await asyncio.gather(*self._making, return_exceptions=True)

    async def put(self, sandbox: Sandbox, snapshot: str) -> None:
        """Give a sandbox that answers the files of a snapshot, and wait until it is ready with them. Raises `SandboxFailedError`."""
        try:
            await self.settle(snapshot, LONG_SECONDS)
        except (NotFoundError, TimeoutError) as error:
            raise SandboxFailedError(str(error)) from error
        checkpoint = await self._import(sandbox, self._file(snapshot))
        body = {"keep": False}
        await self._client.call(sandbox, "shell", "POST", f"/v1/checkpoints/{checkpoint}/restore", body, seconds=LONG_SECONDS)
        await self._client.wait_until_ready(sandbox, READY_SECONDS)

    def _file(self, snapshot: str) -> Path:
        return (self._folder or Path("/nonexistent")) / f"{snapshot}.tar.gz"

    async def _drop(self, snapshot: str) -> None:
        """The row goes first: a file without one is nobody's."""
        await self._store.remove(snapshot)
        self._file(snapshot).unlink(missing_ok=True)

    async def _make(self, sandbox: Sandbox, snapshot: Snapshot, file: Path) -> None:
        part = file.with_suffix(".part")
        try:
            async with self._places:
                size, digest = await self._take(sandbox, snapshot, part)
            part.replace(file)
            await self._store.change(snapshot.id, state=SnapshotState.READY, bytes=size, digest=digest)
        except (FleetError, OSError) as error:
            _log.warning("cannot make a snapshot of %s: %s", sandbox.name, error)
            await self._store.change(snapshot.id, state=SnapshotState.FAILED, reason=str(error))
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)

    async def _take(self, sandbox: Sandbox, snapshot: Snapshot, part: Path) -> tuple[int, str]:
        """Have a sandbox make a checkpoint and give it out; its bytes and SHA-256."""
        label = {"label": f"snapshot {snapshot.id}"}
        made = await self._client.call(sandbox, "shell", "POST", "/v1/checkpoints", label, seconds=LONG_SECONDS)
        return await self._export(sandbox, _id_of(made), part)

    async def _export(self, sandbox: Sandbox, checkpoint: str, part: Path) -> tuple[int, str]:
        """Write a checkpoint's archive as it comes; its bytes and SHA-256."""
        size, digest, limit = 0, hashlib.sha256(), LARGEST
        what = f"GET /v1/checkpoints/{checkpoint}/archive"
        try:
            async with self._client.stream(sandbox, "files", "GET", f"/v1/checkpoints/{checkpoint}/archive", LONG_SECONDS) as response:
                if response.status_code != 200:
                    read_answer(sandbox, what, response.status_code, await bounded(response))
                    raise SandboxFailedError(f"{sandbox.name} answered {what} with {response.status_code}")
                with await asyncio.to_thread(_begin, part) as out:
                    limit = min(limit, (shutil.disk_usage(part.parent).free - KEPT_FREE) // AT_ONCE)
                    async for chunk in response.aiter_bytes(CHUNK):
                        size += len(chunk)
                        if size > limit:
                            raise SandboxFailedError(f"the snapshot is over {max(0, limit)} bytes, which is what there is room for")
                        digest.update(chunk)
                        await asyncio.to_thread(out.write, chunk)
                    await asyncio.to_thread(os.fsync, out.fileno())
        except (httpx2.HTTPError, TimeoutError) as error:
            raise SandboxFailedError(f"{sandbox.name} did not answer {what}: {error or type(error).__name__}") from error
        return size, digest.hexdigest()

    async def _import(self, sandbox: Sandbox, file: Path) -> str:
        """Give a sandbox the archive; the checkpoint's id there."""
        what = "POST /v1/checkpoints/import"
        try:
            size = (await asyncio.to_thread(os.stat, file)).st_size
            length = {"Content-Length": str(size), "Content-Type": "application/gzip"}
            async with self._client.stream(
                sandbox, "files", "POST", "/v1/checkpoints/import", LONG_SECONDS, content=_read(file), headers=length
            ) as response:
                answer = read_answer(sandbox, what, response.status_code, await bounded(response))
        except OSError as error:
            raise EngineError(f"the snapshot's file cannot be read: {error}") from error
        except (httpx2.HTTPError, TimeoutError) as error:
            raise SandboxFailedError(f"{sandbox.name} did not answer {what}: {error or type(error).__name__}") from error
        return _id_of({"checkpoint": answer})


def _id_of(made: object) -> str:
    """A checkpoint's id, as a sandbox says it: a part of a path."""
    checkpoint = made.get("checkpoint") if isinstance(made, dict) else None
    number = checkpoint.get("id") if isinstance(checkpoint, dict) else None
    if not isinstance(number, str) or not (number.isascii() and number.isalnum()) or len(number) > 64:
        raise SandboxFailedError("the sandbox named no checkpoint")
    return number


def _begin(part: Path) -> BinaryIO:
    """A new file that only this user reads."""
    return open(part, "xb", opener=lambda name, flags: os.open(name, flags, 0o600))


async def _read(file: Path) -> AsyncIterator[bytes]:
    with await asyncio.to_thread(file.open, "rb") as opened:
        while chunk := await asyncio.to_thread(opened.read, CHUNK):
            yield chunk
