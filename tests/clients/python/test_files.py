from pathlib import Path

import httpx
import pytest
from tandem import wire
from tandem._sync.connection import Connection
from tandem._sync.files import Files
from tandem.api import Api
from tandem.errors import NotFound

from tests.clients.python.conftest import Server

WRITTEN = {"file_path": "/a/b", "file_size": 1, "success": True, "etag": None}


@pytest.fixture
def files(server: Server) -> Files:
    return Files(Api(Connection(wire.Place("http://box", ""), 0, httpx.Client(transport=httpx.MockTransport(server.take)))))


def test_bytes_go_up_and_come_down_unchanged(files: Files, server: Server, tmp_path: Path) -> None:
    data = bytes(range(256))
    tmp_path.joinpath("local").write_bytes(data)
    server.then(200, WRITTEN)
    files.upload(tmp_path / "local", "/a/b")
    assert data in server.asked[0].content
    assert b'filename="b"' in server.asked[0].content
    server.answers.append(httpx.Response(200, content=data))
    files.download("/a/b", tmp_path / "back")
    assert tmp_path.joinpath("back").read_bytes() == data


def test_a_text_is_utf_8(files: Files, server: Server) -> None:
    server.then(200, WRITTEN)
    files.write("~/ä", "grün")
    assert "grün".encode() in server.asked[0].content
    server.answers.append(httpx.Response(200, content="grün".encode()))
    assert files.read_text("~/ä") == "grün"


def test_a_directory_is_listed_and_what_is_missing_is_not_found(files: Files, server: Server) -> None:
    entry = {"name": "b", "path": "/a/b", "is_directory": False, "is_symlink": False, "size": 1}
    server.then(200, {"path": "/a", "files": [entry], "total_count": 1, "directory_count": 0, "file_count": 1, "truncated": False})
    assert [(found.name, found.size) for found in files.entries("/a")] == [("b", 1)]
    server.then(404, None, message="no such file")
    with pytest.raises(NotFound):
        files.read("/none")
