"""The files of sandboxes, kept."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tandem_fleet import snapshots
from tandem_fleet.errors import ConflictError, NotFoundError, SandboxFailedError
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Desired
from tandem_fleet.signing_key import SigningKey
from tandem_fleet.store.database import Database

from tests.fleet.answering import Answering, Call
from tests.fleet.engines import MemoryBackend
from tests.fleet.keeping import ARCHIVE, CREATE, EXPORT, keeps
from tests.fleet.test_fleet import SECONDS, ready, told

pytestmark = pytest.mark.anyio


@pytest.fixture
def gateway(answers: Answering) -> str:
    """Sandboxes that give and take checkpoints."""
    return keeps(answers)


@pytest.fixture
def make_fleet(engine: MemoryBackend, tmp_path: Path) -> Callable[[], Fleet]:
    """A fleet with a folder."""

    def make() -> Fleet:
        database = Database(f"sqlite+aiosqlite:///{tmp_path}/fleet.db")
        return Fleet(database, engine, SigningKey.kept(tmp_path / "key.pem"), "image", snapshots=tmp_path / "snapshots")

    return make


@pytest.fixture
async def fleet(make_fleet: Callable[[], Fleet]) -> AsyncIterator[Fleet]:
    """One that works."""
    async with make_fleet() as opened:
        yield opened


def kept(tmp_path: Path) -> list[str]:
    """What is in the folder."""
    return sorted(file.name for file in (tmp_path / "snapshots").iterdir())


async def test_a_sandboxs_files_are_kept_and_removed(fleet: Fleet, tmp_path: Path) -> None:
    await ready(fleet)
    made = await fleet.copies.snapshot("default", "work", "before")
    done = await fleet.snapshots.settle(made.id, SECONDS)
    assert (done.label, done.bytes, done.digest) == ("before", len(ARCHIVE), hashlib.sha256(ARCHIVE).hexdigest())
    assert kept(tmp_path) == [f"{made.id}.tar.gz"]
    assert (tmp_path / "snapshots" / f"{made.id}.tar.gz").stat().st_mode & 0o777 == 0o600
    assert [one.id for _, one in await fleet.snapshots.page("default", 0, 10)] == [made.id]
    await fleet.snapshots.remove("default", made.id)
    assert kept(tmp_path) == []
    with pytest.raises(NotFoundError):
        await fleet.snapshots.get("default", made.id)


async def test_a_tenants_snapshots_are_seen_by_no_other(fleet: Fleet) -> None:
    await ready(fleet)
    made = await fleet.copies.snapshot("default", "work", "")
    await fleet.snapshots.settle(made.id, SECONDS)
    assert await fleet.snapshots.page("other", 0, 10) == []
    for refused in (fleet.snapshots.get("other", made.id), fleet.snapshots.remove("other", made.id)):
        with pytest.raises(NotFoundError):
            await refused
    with pytest.raises(NotFoundError):
        await fleet.copies.restore("other", made.id)
    with pytest.raises(NotFoundError):
        await fleet.copies.snapshot("other", "work", "")


@pytest.mark.parametrize(
    ("path", "answer", "said"),
    [
        (CREATE, (429, {"message": "the disk is full"}), "the disk is full"),
        (CREATE, (200, {"data": {"checkpoint": {"id": "../../x"}}, "success": True}), "named no checkpoint"),
        (CREATE, (200, []), "named no checkpoint"),
        (EXPORT, (404, {"message": "gone"}), "gone"),
        (EXPORT, (204, b""), "204"),
    ],
)
async def test_what_a_sandbox_does_not_give_is_said(
    fleet: Fleet, answers: Answering, tmp_path: Path, path: str, answer: Any, said: str
) -> None:
    await ready(fleet)
    answers.answers[path] = answer
    made = await fleet.copies.snapshot("default", "work", "")
    with pytest.raises(SandboxFailedError, match=said):
        await fleet.snapshots.settle(made.id, SECONDS)
    assert kept(tmp_path) == []


async def test_one_that_is_too_large_is_not_kept(fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "LARGEST", 100)
    await ready(fleet)
    made = await fleet.copies.snapshot("default", "work", "")
    with pytest.raises(SandboxFailedError, match="over 100 bytes"):
        await fleet.snapshots.settle(made.id, SECONDS)
    assert kept(tmp_path) == []


async def test_one_that_sleeps_gives_none(fleet: Fleet) -> None:
    await ready(fleet)
    await told(fleet, "work", Desired.PAUSED)
    with pytest.raises(ConflictError, match="only one that is ready"):
        await fleet.copies.snapshot("default", "work", "")


async def test_a_service_that_is_killed_meanwhile_leaves_no_part_and_says_so(
    make_fleet: Callable[[], Fleet], answers: Answering, tmp_path: Path
) -> None:
    begun = asyncio.Event()
    end = asyncio.Event()

    async def slow(_: Call) -> tuple[int, Any]:
        begun.set()
        await end.wait()
        return 200, b""

    answers.answers[EXPORT] = slow
    async with make_fleet() as first:
        await ready(first)
        made = await first.copies.snapshot("default", "work", "")
        async with asyncio.timeout(SECONDS):
            await begun.wait()
        with pytest.raises(ConflictError, match="being made"):
            await first.snapshots.remove("default", made.id)
    end.set()
    (tmp_path / "snapshots" / "left.tar.part").write_bytes(b"x")
    async with make_fleet() as second:
        with pytest.raises(SandboxFailedError, match="the service ended"):
            await second.snapshots.settle(made.id, SECONDS)
        assert kept(tmp_path) == []
