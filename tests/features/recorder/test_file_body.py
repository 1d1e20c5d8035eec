"""A file as the body of an answer."""

import os
from pathlib import Path

import pytest

from sandbox_server.features.recorder import file_body
from sandbox_server.features.recorder.file_body import FileBody

pytestmark = pytest.mark.anyio


async def test_it_is_read_piece_by_piece_as_far_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_body, "PIECE", 4)
    (tmp_path / "file").write_bytes(b"0123456789")
    file = FileBody(os.open(tmp_path / "file", os.O_RDONLY))
    assert [piece async for piece in file.read(1, 8)] == [b"1234", b"567"]
    assert [piece async for piece in file.read(8, 100)] == [b"89"]
    file.close()
