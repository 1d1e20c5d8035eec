from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_server.core import TooLarge
from sandbox_server.features.box.archives import CheckpointArchives, CheckpointImportRequest
from sandbox_server.features.box.checkpoints import CheckpointRef
from tests.features.box.conftest import CALL, FakeBox

pytestmark = pytest.mark.anyio


class Sent:
    """A request's body."""

    def __init__(self, *parts: bytes) -> None:
        self._parts = parts

    async def chunks(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part


@pytest.fixture
def archives(daemon: FakeBox, tmp_path: Path) -> CheckpointArchives:
    made = {"id": "a", "parent": None, "label": "", "who": "x", "why": "imported", "created": 1.0}
    daemon.answers |= {"export": {"layers": 1}, "import": {"checkpoint": made}}
    return CheckpointArchives(daemon, quota=8, spool=str(tmp_path))


async def test_an_archive_goes_out_in_ranges_from_a_file_without_a_name(
    archives: CheckpointArchives, daemon: FakeBox, tmp_path: Path
) -> None:
    daemon.written = b"0123456789"
    content = await archives.export_checkpoint(CheckpointRef(checkpoint_id="a"))
    assert (content.size, list(tmp_path.iterdir())) == (10, [])
    assert b"".join([chunk async for chunk in content.read(2, 5)]) == b"234"
    content.close()


async def test_an_archive_comes_in_whole(archives: CheckpointArchives, daemon: FakeBox) -> None:
    await archives.import_checkpoint(CheckpointImportRequest(label="mine"), Sent(b"abc", b"def"), CALL)
    assert daemon.written == b"abcdef"
    assert daemon.asked[0][1] == {"label": "mine", "who": "someone"}


async def test_an_archive_over_the_quota_is_refused_while_it_comes(archives: CheckpointArchives, daemon: FakeBox) -> None:
    with pytest.raises(TooLarge):
        await archives.import_checkpoint(CheckpointImportRequest(), Sent(b"12345", b"6789"), CALL)
    assert daemon.asked == []
