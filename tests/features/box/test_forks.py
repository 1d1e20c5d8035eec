"""Archives of a checkpoint: who may make and download them, and for how long there are any."""

import errno
import hashlib
import io
import os
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO, Any

import pytest
from pydantic import SecretStr

from sandbox_server.core import Call, Caller, Content, InvalidArgument, NotFound, PermissionDenied, ResourceExhausted
from sandbox_server.drivers.forks.fork_state import KeptProgram, KeptShell, KeptState, KeptTab
from sandbox_server.features.box import forks as module
from sandbox_server.features.box.checkpoint_state import CheckpointStates
from sandbox_server.features.box.forks import MAX_FORKS, Fork, ForkRef, ForkRequest, Forks
from tests.features.box.conftest import FakeBox

pytestmark = pytest.mark.anyio
STATE = KeptState((KeptShell("main", "/"),), (KeptTab("https://a.example/"),), (KeptProgram(("sleep",), "/", 1000),))
PASSPHRASE = SecretStr("a long passphrase")


def call(*scopes: str) -> Call:
    return Call(Caller("x", frozenset(scopes) or Caller("x").scopes), "r")


class Made:
    """The operations, and what was packed."""

    def __init__(self, daemon: FakeBox, spool: Path, quota: int = 1 << 20) -> None:
        daemon.answers |= {"state": {"state": STATE.dumps()}, "export": {"layers": 1}}
        daemon.written = b"files"
        self.packed: list[tuple[str | None, str]] = []
        self.failure: OSError | None = None
        self.forks = Forks(daemon, CheckpointStates(daemon, str), self._pack, version="1", spool=str(spool), quota=quota)

    async def _pack(self, _: Call, name: str | None, passphrase: str, file: IO[bytes]) -> str:
        if self.failure:
            raise self.failure
        self.packed.append((name, passphrase))
        file.write(b"sealed")
        return name or "default"

    async def fork(self, by: Call | None = None, **fields: Any) -> Fork:
        made: Fork = await self.forks.fork_checkpoint(ForkRequest(checkpoint_id="a", **fields), by or call())
        return made


@pytest.fixture
async def made(daemon: FakeBox, tmp_path: Path) -> AsyncIterator[Made]:
    made = Made(daemon, tmp_path)
    async with made.forks:
        yield made


async def whole(content: Content) -> bytes:
    found = b"".join([chunk async for chunk in content.read(0, content.size)])
    content.close()
    return found


async def test_an_archive_holds_files_and_state_and_is_downloaded_in_ranges(made: Made, tmp_path: Path) -> None:
    fork = await made.fork()
    content = await made.forks.download_fork(ForkRef(fork_id=fork.id), call())
    assert b"".join([chunk async for chunk in content.read(3, 9)]) == (await whole(content))[3:9]
    content = await made.forks.download_fork(ForkRef(fork_id=fork.id), call())
    archive = await whole(content)
    assert (hashlib.sha256(archive).hexdigest(), len(archive), content.etag) == (fork.sha256, fork.bytes, f'"{fork.sha256}"')
    with tarfile.open(fileobj=io.BytesIO(archive)) as told:
        state = KeptState.loads(told.extractfile("state.json").read())  # type: ignore[union-attr] # it is a file
    assert (state.shells, state.tabs, state.programs) == (STATE.shells, STATE.tabs, ())
    assert fork.restore.endswith(f"/v1/forks/{fork.id}#sha256={fork.sha256}")
    assert list(tmp_path.iterdir()) == []


async def test_a_token_of_the_shell_alone_gets_no_tabs(made: Made) -> None:
    fork = await made.fork(call("shell"))
    archive = await whole(await made.forks.download_fork(ForkRef(fork_id=fork.id), call("shell")))
    assert b"a.example" not in archive


async def test_a_profile_needs_the_scope_admin_and_a_passphrase_and_so_does_its_download(made: Made) -> None:
    with pytest.raises(PermissionDenied):
        await made.fork(call("shell"), profile=True, passphrase=PASSPHRASE)
    with pytest.raises(InvalidArgument, match="passphrase"):
        await made.fork(profile=True)
    for fields in ({"passphrase": PASSPHRASE}, {"profile_name": "mail"}):
        with pytest.raises(InvalidArgument, match="go with profile"):
            await made.fork(**fields)
    assert made.packed == []
    fork = await made.fork(profile=True, profile_name="mail", passphrase=PASSPHRASE)
    assert (fork.profile, made.packed) == ("mail", [("mail", "a long passphrase")])
    with pytest.raises(PermissionDenied):
        await made.forks.download_fork(ForkRef(fork_id=fork.id), call("shell"))
    assert b"sealed" in await whole(await made.forks.download_fork(ForkRef(fork_id=fork.id), call("shell", "admin")))


def test_a_copy_of_a_profile_stops_the_browser_which_a_person_may_hold() -> None:
    assert ForkRequest(checkpoint_id="a", profile=True).acts == ("cdp",)
    assert ForkRequest(checkpoint_id="a").acts == ()


async def test_four_are_kept_and_each_until_it_is_deleted(made: Made) -> None:
    kept = [await made.fork() for _ in range(MAX_FORKS)]
    with pytest.raises(ResourceExhausted, match="4 archives"):
        await made.fork()
    content = await made.forks.download_fork(ForkRef(fork_id=kept[0].id), call())
    await made.forks.delete_fork(ForkRef(fork_id=kept[0].id))
    assert len(await whole(content)) == kept[0].bytes, "a download that goes on is not cut"
    await made.fork()
    for ask in (made.forks.delete_fork(ForkRef(fork_id=kept[0].id)), made.forks.download_fork(ForkRef(fork_id=kept[0].id), call())):
        with pytest.raises(NotFound):
            await ask


async def test_its_time_ends(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_SECONDS", 0.0)
    fork = await made.fork()
    await made.forks._expire(fork.id)
    with pytest.raises(NotFound):
        await made.forks.download_fork(ForkRef(fork_id=fork.id), call())


async def test_all_of_them_keep_to_the_quota(daemon: FakeBox, tmp_path: Path) -> None:
    made = Made(daemon, tmp_path, quota=30_000)
    async with made.forks:
        fork = await made.fork()
        assert fork.bytes < 15_000
        daemon.written = os.urandom(30_000)
        with pytest.raises(ResourceExhausted, match="of 30000 bytes"):
            await made.fork()
        assert list(made.forks._kept) == [fork.id]


async def test_a_full_disk_is_said(made: Made) -> None:
    made.failure = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(ResourceExhausted, match="no room"):
        await made.fork(profile=True, passphrase=PASSPHRASE)
    assert made.forks._kept == {}


async def test_a_checkpoint_that_there_is_not_is_not_forked(made: Made, daemon: FakeBox) -> None:
    daemon.refusals["state"] = NotFound("no checkpoint 'a'")
    with pytest.raises(NotFound):
        await made.fork()
