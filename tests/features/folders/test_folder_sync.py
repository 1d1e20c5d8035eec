import asyncio

import pytest

from sandbox_server.core import Conflict, DeadlineExceeded, Unavailable
from sandbox_server.drivers.folders.synchronisation import Synchronised
from sandbox_server.drivers.folders.version import DamagedError, StoreAwayError
from sandbox_server.features.folders.folder_sync import FolderSync
from sandbox_server.settings import FolderSettings
from tests.patience import eventually

pytestmark = pytest.mark.anyio


class Fake:
    """A synchronisation that fails as told."""

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.removals: list[bool] = []
        self.kept = 0
        self.waiting = False

    async def run(self, *, removals: bool) -> Synchronised:
        self.removals.append(removals)
        if self.failure:
            raise self.failure
        return Synchronised(1)

    async def keep(self, *, removals: bool) -> bool:
        self.removals.append(removals)
        self.kept += 1
        return True


def made(fake: Fake) -> FolderSync:
    return FolderSync(FolderSettings("notes", "/notes", "directory"), fake, timeout=5, now=lambda: 7.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("failure", "kind"), [(StoreAwayError("x"), Unavailable), (DamagedError("x"), Conflict), (TimeoutError(), DeadlineExceeded)]
)
async def test_each_failure_is_told_and_listed(failure: Exception, kind: type[Exception]) -> None:
    fake = Fake()
    fake.failure = failure
    folder = made(fake)
    with pytest.raises(kind):
        await folder.synchronise()
    assert (folder.last.state, folder.last.at) == ("failed", None)
    assert folder.last.error


async def test_removals_count_once_it_was_synchronised() -> None:
    fake = Fake()
    folder = made(fake)
    await folder.synchronise()
    await folder.synchronise()
    assert fake.removals == [False, True]
    assert (folder.last.state, folder.last.at) == ("synchronised", 7.0)


async def test_the_end_keeps_before_it_asks_the_store() -> None:
    fake = Fake()
    folder = made(fake)
    await folder.synchronise()
    fake.failure = StoreAwayError("away")
    await folder.end()
    assert (fake.kept, fake.removals) == (1, [False, True, True])


async def test_an_end_before_the_store_ever_answered_keeps_files_and_no_removals() -> None:
    fake = Fake()
    fake.failure = StoreAwayError("away")
    await made(fake).end()
    assert (fake.kept, fake.removals) == (1, [False, False])


async def test_what_changes_while_it_synchronises_is_synchronised_after_that(monkeypatch: pytest.MonkeyPatch) -> None:
    fake, begun, let_go = Fake(), asyncio.Event(), asyncio.Event()
    run = fake.run

    async def held(*, removals: bool) -> Synchronised:
        begun.set()
        await let_go.wait()
        return await run(removals=removals)

    monkeypatch.setattr(fake, "run", held)
    async with made(fake) as folder:
        await begun.wait()
        folder.begin()
        let_go.set()
        await eventually(lambda: len(fake.removals) == 2)
