"""The worker, asked through a real spawner as the desktop's user."""

import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core.errors import Conflict, DeadlineExceeded, InvalidArgument, NotFound, TooLarge, Unavailable
from sandbox_server.drivers.profiles import store as module
from sandbox_server.drivers.profiles.store import ProfileStore
from sandbox_server.drivers.spawn.process import Processes
from tests.drivers.profiles.made import VERSION, make_profile

pytestmark = pytest.mark.anyio
PASSPHRASE = "a long passphrase"


class Kept:
    """A store below a folder of the desktop's user."""

    def __init__(self, folder: Path, spawner: Any) -> None:
        self.folder = folder
        self.program = folder / "chromium"
        self.say(f"echo Chromium {VERSION}")
        self.root, self.default = folder / "root", make_profile(folder / "default")
        self.root.mkdir()
        for place in (self.root, self.default, *self.default.rglob("*")):
            shutil.chown(place, "desktop", "desktop") if not place.is_symlink() else None
        self.store = ProfileStore(Processes(spawner.socket), str(self.root), str(self.default), str(self.program), 1 << 30)

    def say(self, command: str) -> None:
        """Have Chromium's program run a command."""
        self.program.write_text(f"#!/bin/sh\n{command}\n")
        self.program.chmod(0o755)


@pytest.fixture
def kept(spawner_type: Any) -> Iterator[Kept]:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        daemon = spawner_type(Path(folder))
        daemon.start("--desktop", "desktop")
        yield Kept(Path(folder), daemon)
        daemon.stop()


async def test_a_profile_is_copied_listed_and_removed(kept: Kept) -> None:
    await kept.store.duplicate("default", "mail")
    default, mail = await kept.store.list()
    assert (default.name, default.chromium, default.held, mail.name, mail.problem) == ("default", VERSION, False, "mail", None)
    assert (kept.root / "mail/chromium/Local State").owner() == "desktop"
    with pytest.raises(Conflict) as caught:
        await kept.store.create("mail")
    assert caught.value.details["reason"] == "exists"
    await kept.store.delete("mail")
    with pytest.raises(NotFound, match="no profile 'mail'"):
        await kept.store.check("mail")


async def test_files_go_and_come_by_descriptor(kept: Kept) -> None:
    with tempfile.TemporaryFile() as packed:
        await kept.store.pack("default", PASSPHRASE, packed)
        await kept.store.unpack("back", PASSPHRASE, packed)
        with pytest.raises(InvalidArgument) as caught:
            await kept.store.unpack("other", "another passphrase", packed)
        assert caught.value.details["reason"] == "passphrase"
    assert [each.name for each in await kept.store.list()] == ["default", "back"]
    with tempfile.TemporaryFile() as database, tempfile.TemporaryFile() as found:
        database.write(b"SQLite format 3\0 and no more")
        database.flush()  # and stays at its end
        with pytest.raises(InvalidArgument) as caught:
            await kept.store.cookies(database, found)
        assert caught.value.details["reason"] == "malformed"


async def test_what_takes_too_long_is_ended_and_leaves_no_profile(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    await kept.store.list()
    monkeypatch.setattr(module, "COPY_SECONDS", 0.0)
    with pytest.raises(DeadlineExceeded):
        await kept.store._ask("duplicate", 0.0, name="default", to="mail")
    assert [each.name for each in await kept.store.list()] == ["default"]


async def test_what_cannot_be_asked_is_refused(kept: Kept) -> None:
    with pytest.raises(TooLarge):
        await kept.store.unpack("a", "x" * 20_000, io.BytesIO())
    kept.say("echo nothing")
    silent = ProfileStore(kept.store._processes, str(kept.root), str(kept.default), str(kept.program), 1 << 30)
    with pytest.raises(Unavailable, match="does not say its version"):
        await silent.list()
