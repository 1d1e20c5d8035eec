from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.drivers.folders.http_calls import answer_of, pieces_of, save
from sandbox_server.drivers.folders.version import DamagedError, StoreAwayError
from tests.archive_server import TOKEN, Archive, archive_server
from tests.s3_server import free_port

pytestmark = pytest.mark.anyio
KNOWN = {"authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def archive() -> Iterator[Archive]:
    with archive_server() as served:
        yield served


async def test_a_file_goes_there_and_comes_back_within_its_limit(archive: Archive, tmp_path: Path) -> None:
    content = b"x" * (3 << 20)
    (tmp_path / "source").write_bytes(content)
    with open(tmp_path / "source", "rb") as file:
        async with answer_of("PUT", archive.address, {**KNOWN, "content-length": str(len(content))}, pieces_of(file)) as answer:
            assert answer.status_code == 204
    async with answer_of("GET", archive.address, KNOWN) as answer:
        await save(answer, str(tmp_path / "target"), len(content), "it")
    assert (tmp_path / "target").read_bytes() == content
    async with answer_of("GET", archive.address, KNOWN) as answer:
        with pytest.raises(DamagedError, match="it has more than 10 bytes"):
            await save(answer, str(tmp_path / "other"), 10, "it")


async def test_a_server_that_is_away_and_an_address_that_is_none_are_a_store_that_is_away() -> None:
    for address in (f"http://127.0.0.1:{free_port()}/x", "http://[x/"):
        with pytest.raises(StoreAwayError):
            async with answer_of("GET", address, {}):
                pass
