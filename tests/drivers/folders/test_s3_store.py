"""Against a real server of S3, and where none answers."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.drivers.folders.s3_store import S3Access, S3Store
from sandbox_server.drivers.folders.version import DamagedError, StoreAwayError
from tests.s3_server import BUCKET, free_port, s3_server

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with s3_server(free_port()) as served:
        yield served


def store(address: str, bucket: str = BUCKET) -> S3Store:
    return S3Store(S3Access(address, "us-east-1", "KEY", "secret-value"), bucket, "some/prefix")


async def test_an_object_is_made_once_and_never_replaced(address: str) -> None:
    bucket = store(address)
    assert await bucket.first("versions/") == []
    assert await bucket.create("versions/2.json", b"first")
    assert not await bucket.create("versions/2.json", b"second")
    assert await bucket.create("versions/1.json", b"x")
    assert await bucket.read("versions/2.json", 5) == b"first"
    assert await bucket.read("versions/3.json", 5) is None
    assert await bucket.first("versions/") == ["versions/1.json", "versions/2.json"]


async def test_a_file_goes_in_and_comes_back_within_its_limit(address: str, tmp_path: Path) -> None:
    content = b"x" * (3 << 20)
    (tmp_path / "source").write_bytes(content)
    await store(address).upload("blobs/a", str(tmp_path / "source"), hashlib.sha256(content).hexdigest())
    await store(address).download("blobs/a", str(tmp_path / "target"), len(content))
    assert (tmp_path / "target").read_bytes() == content
    for key, limit in (("blobs/a", 10), ("blobs/b", 10)):
        with pytest.raises(DamagedError):
            await store(address).download(key, str(tmp_path / f"other-{key[-1]}"), limit)


async def test_a_server_that_is_away_and_a_bucket_that_is_missing_are_told_without_credentials(address: str) -> None:
    for bucket in (store(f"http://127.0.0.1:{free_port()}"), store(address, "missing")):
        with pytest.raises(StoreAwayError) as raised:
            await bucket.first("versions/")
        assert "secret-value" not in str(raised.value)
    assert "secret-value" not in repr(S3Access(address, "r", "KEY", "secret-value"))
