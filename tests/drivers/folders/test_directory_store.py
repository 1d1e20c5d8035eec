from pathlib import Path

import pytest

from sandbox_server.drivers.folders.directory_store import DirectoryStore
from sandbox_server.drivers.folders.version import DamagedError, StoreAwayError

pytestmark = pytest.mark.anyio


async def test_an_object_is_made_once_and_never_replaced(tmp_path: Path) -> None:
    store = DirectoryStore(str(tmp_path / "store"))
    assert await store.first("versions/") == []
    assert await store.create("versions/2", b"first")
    assert not await store.create("versions/2", b"second")
    assert await store.create("versions/1", b"x")
    assert await store.read("versions/2", 5) == b"first"
    assert await store.first("versions/") == ["versions/1", "versions/2"]
    with pytest.raises(DamagedError):
        await store.read("versions/2", 4)


async def test_a_file_goes_in_and_comes_back_within_its_limit(tmp_path: Path) -> None:
    store, source, target = DirectoryStore(str(tmp_path / "store")), tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"content")
    await store.upload("blobs/a", str(source), "")
    await store.download("blobs/a", str(target), 7)
    assert target.read_bytes() == b"content"
    for key, limit in (("blobs/a", 6), ("blobs/b", 7)):
        with pytest.raises(DamagedError):
            await store.download(key, str(target), limit)


async def test_a_directory_that_cannot_be_used_is_away(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file")
    with pytest.raises(StoreAwayError):
        await DirectoryStore(str(tmp_path / "store")).create("versions/1", b"x")
