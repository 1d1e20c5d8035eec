"""Starting from a fork: when it is due, what becomes of it, and what stops the boot."""

import hashlib
import io
import json
import os
import secrets
import shutil
import signal
import tarfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.boot import restore as module
from sandbox_server.boot.restore import MARK, NotRestoredError, Restore, restore
from sandbox_server.drivers.box.isolation import Isolation
from sandbox_server.drivers.forks import fork_archive
from sandbox_server.drivers.forks.fork_state import KeptShell, KeptState, KeptTab
from sandbox_server.drivers.shells.session_store import ShellStore
from sandbox_server.settings import BoxSettings, Paths, Settings, load
from tests.boxes import VOLUME

BOX = Isolation("box", "", storage="container")
STATE = KeptState((KeptShell("main", "/home/gem", "declare -x A=1\n", "shown"),), (KeptTab("https://a.example/", y=7.0),))


class Made:
    """A fork in a file, and the settings of a sandbox that starts from it."""

    def __init__(self, folder: Path, store: Path) -> None:
        self.run, self.store, self.archive = folder, store, folder / "fork.tar"
        self.digest = ""

    def write(self, checkpoint: bytes, state: bytes = STATE.dumps().encode(), profile: str | None = None) -> None:
        files = {"state.json": io.BytesIO(state), "checkpoint.tar.gz": io.BytesIO(checkpoint)}
        files |= {"profile.sealed": io.BytesIO(b"sealed")} if profile else {}
        with self.archive.open("wb") as out:
            self.digest = fork_archive.write(out, "1", "0123abcd", 1.0, profile, files).sha256

    def settings(self, **more: str) -> Settings:
        given = load({"SANDBOX_RESTORE": f"{self.archive}#sha256={self.digest}", **more})
        return replace(given, paths=Paths(run=str(self.run), spool=str(self.run)), box=BoxSettings(directory=str(self.store)))

    def restore(self, isolation: Isolation = BOX, **more: str) -> None:
        restore(self.settings(**more), isolation)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    tmp_path.chmod(0o755)
    store = VOLUME / f"store-{secrets.token_hex(4)}"
    store.mkdir()
    yield Made(tmp_path, store)
    shutil.rmtree(store)


@pytest.fixture(scope="module")
def checkpoint() -> bytes:
    """An archive of one layer, with one file."""
    out = io.BytesIO()
    record = {"id": "00000001", "parent": None, "label": "x", "who": "x", "why": "asked", "created": 1.0}
    entries: list[tuple[str, bytes | None]] = [
        ("tandem-checkpoint.json", json.dumps({"format": 1, "checkpoints": [record]}).encode()),
        *((f"layers/00000001{path}", None) for path in ("", "/home", "/home/gem")),
        ("layers/00000001/home/gem/kept", b"mine\n"),
    ]
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name, content in entries:
            member = tarfile.TarInfo(name)
            member.type, member.size = (tarfile.REGTYPE, len(content)) if content else (tarfile.DIRTYPE, 0)
            member.mode = 0o644 if content else 0o755
            archive.addfile(member, io.BytesIO(content or b""))
    return out.getvalue()


def test_nothing_is_done_where_nothing_is_asked_for(tmp_path: Path) -> None:
    restore(replace(load({}), box=BoxSettings(directory=f"{tmp_path}/none")), Isolation("none", "no flags"))
    assert list(tmp_path.iterdir()) == []


def test_files_shells_and_tabs_are_there_and_it_is_done_once(made: Made, checkpoint: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    made.write(checkpoint)
    made.restore()
    assert json.loads((made.store / MARK).read_text()) == {"sha256": made.digest, "done": True}
    [layer] = (made.store / "l").iterdir()
    assert (layer / "home/gem/kept").read_text() == "mine\n"
    [shell] = ShellStore(f"{made.run}/shells.json").read().sessions
    assert (shell.id, shell.directory, shell.variables, shell.screen) == ("main", "/home/gem", "declare -x A=1\n", "shown")
    settings = made.settings()
    assert json.loads(Path(settings.paths.tabs).read_text()) == ["https://a.example/"]
    assert KeptState.loads(Path(settings.paths.restored_tabs).read_text()).tabs == STATE.tabs
    assert "was restored in" in capfd.readouterr().err
    made.archive.unlink()
    restore(settings, BOX)
    assert "was restored here before" in capfd.readouterr().err


def test_one_that_was_cut_short_begins_anew(made: Made, checkpoint: bytes) -> None:
    made.write(b"no archive")
    with pytest.raises(NotRestoredError):
        made.restore()
    assert json.loads((made.store / MARK).read_text())["done"] is False
    made.write(checkpoint)
    made.restore()
    assert len(list((made.store / "l").iterdir())) == 1


def test_a_box_that_is_there_already_is_not_lost(made: Made, checkpoint: bytes) -> None:
    made.write(checkpoint)
    made.restore()
    made.write(checkpoint, KeptState().dumps().encode())
    with pytest.raises(NotRestoredError, match="another box already"):
        made.restore()
    (made.store / MARK).unlink()
    (made.store / "up").mkdir()
    with pytest.raises(NotRestoredError, match="another box already"):
        made.restore()


def test_a_volume_that_is_damaged_is_told(made: Made) -> None:
    made.write(b"")
    for content in ("{", "[]", "{}"):
        (made.store / "state.json").write_text(content)
        with pytest.raises(NotRestoredError, match="the volume cannot be used"):
            made.restore()


def test_it_needs_a_box_that_is_on_a_disk(made: Made) -> None:
    made.write(b"")
    with pytest.raises(NotRestoredError, match="there is no box here to restore into: no flags"):
        made.restore(Isolation("users", "no flags"))
    with pytest.raises(NotRestoredError, match="the box would be in memory"):
        made.restore(Isolation("box", "", storage="memory"))
    assert list(made.store.iterdir()) == []


@pytest.mark.parametrize(
    ("state", "profile", "reason"),
    [
        (b"[]", None, "the state has no list"),
        (b" " * (3 << 20), None, "the state has more than"),
        (STATE.dumps().encode(), "mail", "SANDBOX_RESTORE_PASSPHRASE must be set"),
    ],
)
def test_a_state_that_lies_and_a_profile_without_a_passphrase_leave_no_box(
    made: Made, state: bytes, profile: str | None, reason: str
) -> None:
    made.write(b"", state, profile)
    with pytest.raises(NotRestoredError, match=reason):
        made.restore()
    assert not (made.store / "l").exists()
    assert not (made.run / "shells.json").exists()


def test_another_digest_leaves_no_box(made: Made) -> None:
    made.write(b"")
    made.digest = hashlib.sha256(b"").hexdigest()
    with pytest.raises(NotRestoredError, match="its SHA-256 is"):
        made.restore()
    assert not (made.store / "l").exists()


def test_what_is_read_of_the_archive_is_read_without_root(made: Made) -> None:
    made.write(b"")
    settings = made.settings()
    told = Restore(settings, made.digest)._in_child(lambda: _uids(Restore(settings, made.digest), settings), "it")
    assert told == [settings.users.control_uid] * 3


def _uids(one: Restore, settings: Settings) -> list[int]:
    one._become(settings.users.control_uid, settings.users.control_uid)
    return list(os.getresuid())


def test_a_step_that_hangs_ends_or_dies_is_told(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GRACE_SECONDS", -0.8)
    one = Restore(made_for(made), "0" * 64)
    with pytest.raises(NotRestoredError, match="it took over 1 s"):
        one._in_child(lambda: time.sleep(60), "it")
    with pytest.raises(NotRestoredError, match="it ended without a result"):
        one._in_child(lambda: os.kill(os.getpid(), signal.SIGKILL), "it")
    with pytest.raises(NotRestoredError, match="No space left"):
        one._in_child(_full, "it")


def made_for(made: Made) -> Settings:
    made.digest = "0" * 64
    return made.settings(SANDBOX_RESTORE_SECONDS="1")


def _full() -> None:
    raise OSError("No space left")
