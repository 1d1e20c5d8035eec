"""Documents are written for their owner alone, and read back."""

from pathlib import Path

import pytest

from sandbox_server.core.errors import FileError, InvalidArgument
from sandbox_server.drivers.files.files import Files
from sandbox_server.features.browser.agent_files import SECRET_MODE, load_json, save_json

pytestmark = pytest.mark.anyio


async def test_a_document_comes_back_as_it_was(files: Files, home: Path) -> None:
    status = await save_json(files, "~/a/b.json", {"ü": [1]})
    made = home / "a/b.json"
    assert (status.size, made.stat().st_mode & 0o777) == (made.stat().st_size, SECRET_MODE)
    assert await load_json(files, "~/a/b.json") == {"ü": [1]}


async def test_what_is_no_document_is_refused(files: Files, home: Path) -> None:
    (home / "bad").write_bytes(b"\xff")
    with pytest.raises(InvalidArgument, match="not valid JSON"):
        await load_json(files, "~/bad")
    with pytest.raises(FileError):
        await load_json(files, "~/none")
