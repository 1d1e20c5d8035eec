import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.drivers.folders.places import FolderLimits
from sandbox_server.drivers.folders.tar_store import TarStore
from sandbox_server.drivers.folders.version import DamagedError, FileRecord, StoreAwayError, Version, blob_key, decode, version_key
from tests.archive_server import TOKEN, Archive, archive_server

pytestmark = pytest.mark.anyio
LIMITS = FolderLimits(max_files=10, max_bytes=1 << 20)


@pytest.fixture
def archive() -> Iterator[Archive]:
    with archive_server() as served:
        yield served


def store(archive: Archive, place: Path, token: str = TOKEN) -> TarStore:
    return TarStore(archive.address, token, str(place), LIMITS)


async def made(store: TarStore, tmp_path: Path, number: int, **files: bytes) -> bool:
    """Whether a version of these files became the newest."""
    records = {}
    for name, content in files.items():
        (tmp_path / "source").write_bytes(content)
        records[name] = FileRecord(len(content), hashlib.sha256(content).hexdigest())
        await store.upload(blob_key(records[name].digest), str(tmp_path / "source"), records[name].digest)
    return await store.create(version_key(number), Version(number, records, "lineage").encode())


async def newest(store: TarStore) -> Version:
    [key] = await store.first("versions/")
    content = await store.read(key, 1 << 20)
    assert content
    return decode(content, 1 if key == version_key(1) else 2, max_files=10, max_bytes=1 << 20)


async def test_what_one_computer_makes_another_has(archive: Archive, tmp_path: Path) -> None:
    one, two = store(archive, tmp_path / "one"), store(archive, tmp_path / "two")
    assert await one.first("versions/") == []
    assert await made(one, tmp_path, 1, a=b"first", b=b"second")
    found = await newest(two)
    assert found.number == 1
    await two.download(blob_key(found.files["a"].digest), str(tmp_path / "a"), 5)
    assert (tmp_path / "a").read_bytes() == b"first"


async def test_of_two_that_make_a_version_at_once_one_is_told_to_begin_anew_and_loses_nothing(archive: Archive, tmp_path: Path) -> None:
    one, two = store(archive, tmp_path / "one"), store(archive, tmp_path / "two")
    for each in (one, two):
        assert await each.first("versions/") == []
    assert await made(one, tmp_path, 1, a=b"first")
    assert not await made(two, tmp_path, 1, b=b"second")
    found = await newest(two)
    both = Version(2, {**found.files, "b": FileRecord(6, hashlib.sha256(b"second").hexdigest())}, "lineage")
    assert await two.create(version_key(2), both.encode())
    assert set((await newest(one)).files) == {"a", "b"}


async def test_an_archive_that_did_not_change_is_not_sent_again(archive: Archive, tmp_path: Path) -> None:
    one = store(archive, tmp_path / "one")
    await one.first("versions/")
    assert await made(one, tmp_path, 1, a=b"first")
    archive.asked.clear()
    for _ in range(2):
        assert (await newest(one)).number == 1
    assert archive.asked == ["GET", "GET"]
    assert sorted(path.name for path in (tmp_path / "one" / "contents").iterdir()) == [hashlib.sha256(b"first").hexdigest()]


async def test_a_server_that_passes_over_conditions_or_tells_no_tag_is_refused_before_it_loses_something(
    archive: Archive, tmp_path: Path
) -> None:
    one = store(archive, tmp_path / "one")
    await one.first("versions/")
    assert await made(one, tmp_path, 1, a=b"first")
    kept, archive.obeys = archive.content, False
    two = store(archive, tmp_path / "two")
    await two.first("versions/")
    with pytest.raises(StoreAwayError, match="If-Match"):
        await made(two, tmp_path, 2, b=b"second")
    assert archive.content == kept
    archive.tells = False
    with pytest.raises(StoreAwayError, match="ETag"):
        await store(archive, tmp_path / "three").first("versions/")


async def test_a_server_that_refuses_or_has_no_archive_is_told_without_the_token(archive: Archive, tmp_path: Path) -> None:
    with pytest.raises(StoreAwayError, match="401") as raised:
        await store(archive, tmp_path / "one", "wrong-token").first("versions/")
    assert "wrong-token" not in str(raised.value)
    assert "wrong-token" not in repr(store(archive, tmp_path, "wrong-token"))
    one = store(archive, tmp_path / "two")
    await one.first("versions/")
    archive.answers = 507
    with pytest.raises(StoreAwayError, match="507"):
        await made(one, tmp_path, 1, a=b"first")
    archive.answers, archive.content = 0, b"no archive"
    with pytest.raises(DamagedError):
        await one.first("versions/")


async def test_what_is_asked_of_it_by_another_name_or_beyond_its_limit_is_refused(archive: Archive, tmp_path: Path) -> None:
    one = store(archive, tmp_path / "one")
    await one.first("versions/")
    assert await made(one, tmp_path, 1, a=b"first")
    assert await one.read(version_key(2), 100) is None
    digest = hashlib.sha256(b"first").hexdigest()
    for key, limit in ((blob_key("../../x"), 10), (blob_key("0" * 64), 10), (blob_key(digest), 4)):
        with pytest.raises(DamagedError):
            await one.download(key, str(tmp_path / "out"), limit)
    with pytest.raises(DamagedError):
        await one.read(version_key(1), 3)
