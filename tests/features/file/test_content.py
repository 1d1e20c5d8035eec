import base64
import os
import shutil
from pathlib import Path

import pytest

from sandbox_server.core import Conflict, FileError, InvalidArgument
from sandbox_server.drivers.files.files import Files
from sandbox_server.features.file.content import FileContent, FileReadRequest, FileReplaceRequest, FileWriteRequest

pytestmark = pytest.mark.anyio


@pytest.fixture
def content(files: Files) -> FileContent:
    return FileContent(files)


def put(home: Path, data: bytes) -> str:
    path = home / "f"
    path.write_bytes(data)
    shutil.chown(path, "gem", "gem")
    return str(path)


async def test_a_file_is_read_with_what_is_needed_to_write_it_safely(content: FileContent, home: Path) -> None:
    result = await content.read(FileReadRequest(file=put(home, b"a\r\nb")))
    assert (result.content, result.line_count, result.size, result.encoding) == ("a\r\nb", 2, 4, "utf-8")
    await content.write(FileWriteRequest(file=result.file, content="c", if_match=result.etag))
    with pytest.raises(Conflict):
        await content.write(FileWriteRequest(file=result.file, content="d", if_match=result.etag))


@pytest.mark.parametrize("codec", ["utf-8", "utf-16"])
async def test_lines_are_those_of_the_text_whatever_its_encoding(content: FileContent, home: Path, codec: str) -> None:
    path = put(home, "eins\nzwei\ndréi\n".encode(codec))
    result = await content.read(FileReadRequest(file=path, start_line=1, end_line=2))
    assert (result.content, result.line_count) == ("zwei\n", 1)
    assert (await content.read(FileReadRequest(file=path, start_line=2))).content == "dréi\n"


async def test_what_is_no_text_is_read_raw_or_as_base64(content: FileContent, home: Path) -> None:
    path = put(home, b"caf\xe9\n\xff")
    with pytest.raises(FileError):
        await content.read(FileReadRequest(file=path))
    assert (await content.read(FileReadRequest(file=path, encoding="raw"))).content == "café\nÿ"
    encoded = await content.read(FileReadRequest(file=path, encoding="base64"))
    assert base64.b64decode(encoded.content) == b"caf\xe9\n\xff"
    part = await content.read(FileReadRequest(file=path, encoding="base64", start_line=1))
    assert base64.b64decode(part.content) == b"\xff"


async def test_newlines_go_around_text_and_not_around_base64(content: FileContent, home: Path) -> None:
    path = f"{home}/f"
    result = await content.write(FileWriteRequest(file=path, content="x", leading_newline=True, trailing_newline=True))
    assert ((home / "f").read_bytes(), result.bytes_written) == (b"\nx\n", 3)
    await content.write(FileWriteRequest(file=path, content="eA==", encoding="base64", leading_newline=True, append=True))
    assert (home / "f").read_bytes() == b"\nx\nx"


@pytest.mark.parametrize(
    ("data", "old", "new", "count", "after"),
    [
        (b"a\r\na\r\n", "a", "b", 2, b"b\r\nb\r\n"),
        (b"caf\xe9 a", "a", "b", 2, b"cbf\xe9 b"),
        ("grün".encode("utf-16"), "ü", "u", 1, "grun".encode("utf-16")),
        (b"\xef\xbb\xbfx", "x", "y", 1, b"\xef\xbb\xbfy"),
        (b"no newline", "newline", "end", 1, b"no end"),
    ],
)
async def test_a_replacement_changes_what_it_is_told_and_no_other_byte(
    content: FileContent, home: Path, data: bytes, old: str, new: str, count: int, after: bytes
) -> None:
    reply = await content.replace(FileReplaceRequest(file=put(home, data), old_str=old, new_str=new))
    assert (reply.data.replaced_count, (home / "f").read_bytes()) == (count, after)


async def test_a_text_that_does_not_occur_leaves_the_file_untouched_and_says_so(content: FileContent, home: Path) -> None:
    path = put(home, b"abc")
    before = os.stat(path).st_mtime_ns, os.stat(path).st_ino
    reply = await content.replace(FileReplaceRequest(file=path, old_str="x", new_str="y"))
    assert reply.data.replaced_count == 0
    assert "does not occur" in (reply.hint or "")
    assert (os.stat(path).st_mtime_ns, os.stat(path).st_ino) == before


async def test_there_must_be_something_to_replace(content: FileContent, home: Path) -> None:
    with pytest.raises(InvalidArgument):
        await content.replace(FileReplaceRequest(file=put(home, b"abc"), old_str="", new_str="y"))


async def test_a_replacement_in_a_file_that_changed_is_a_conflict(content: FileContent, home: Path) -> None:
    path = put(home, b"abc")
    old = await content.read(FileReadRequest(file=path))
    await content.write(FileWriteRequest(file=path, content="abcd"))
    with pytest.raises(Conflict):
        await content.replace(FileReplaceRequest(file=path, old_str="a", new_str="b", if_match=old.etag))
