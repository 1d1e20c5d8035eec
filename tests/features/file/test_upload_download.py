import os
import shutil
from pathlib import Path

import pytest

from sandbox_server.core import Conflict, Content, FileError, TooLarge
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.drivers.files.descriptor_stream import PIECE
from sandbox_server.drivers.files.files import Files
from sandbox_server.features.file.upload_download import FileDownloadRequest, FileTransfer, FileUploadResult
from tests.features.forms import SentForm, SentPart

pytestmark = pytest.mark.anyio


@pytest.fixture
def transfer(files: Files, home: Path) -> FileTransfer:
    return FileTransfer(files, workspace=str(home), max_bytes=0)


async def send(transfer: FileTransfer, form: SentForm) -> FileUploadResult:
    result: FileUploadResult = await transfer.upload(form)
    return result


async def test_a_file_is_put_where_it_is_to_be(transfer: FileTransfer, home: Path) -> None:
    result = await send(transfer, SentForm(SentPart("x", b"ab", b"c"), path=f"{home}/new/f"))
    assert (result.file_path, result.file_size, result.success) == (f"{home}/new/f", 3, True)
    assert (home / "new/f").read_bytes() == b"abc"
    assert oct((home / "new/f").stat().st_mode) == "0o100644"


@pytest.mark.parametrize("path", ["", "{home}/", "{home}"])
async def test_a_directory_gets_the_file_under_its_own_name(transfer: FileTransfer, home: Path, path: str) -> None:
    result = await send(transfer, SentForm(SentPart("dir/../../name.txt", b"x"), path=path.format(home=home)))
    assert result.file_path == f"{home}/name.txt"


@pytest.mark.parametrize("name", ["", ".", "..", "/"])
async def test_a_file_without_a_usable_name_gets_one(transfer: FileTransfer, home: Path, name: str) -> None:
    assert (await send(transfer, SentForm(SentPart(name, b"x")))).file_path == f"{home}/upload"


async def test_a_path_that_comes_after_the_file_counts_even_on_another_file_system(transfer: FileTransfer) -> None:
    target = Path("/dev/shm/uploaded-file")
    try:
        result = await send(transfer, SentForm(SentPart("x", b"abc"), path=str(target), fields_last=True))
        assert (result.file_path, target.read_bytes()) == (str(target), b"abc")
    finally:
        target.unlink(missing_ok=True)


async def test_a_large_file_arrives_whole(transfer: FileTransfer, home: Path) -> None:
    chunks = [os.urandom(100_000) for _ in range(30)]
    await send(transfer, SentForm(SentPart("f", *chunks)))
    assert (home / "f").read_bytes() == b"".join(chunks)


async def test_an_upload_that_breaks_off_leaves_the_old_file(transfer: FileTransfer, home: Path) -> None:
    (home / "f").write_bytes(b"old")
    shutil.chown(home / "f", "gem", "gem")
    with pytest.raises(ConnectionError):
        await send(transfer, SentForm(SentPart("f", bytes(2 * PIECE), None)))
    assert (home / "f").read_bytes() == b"old"
    assert [path.name for path in home.iterdir()] == ["f"]


async def test_an_upload_over_the_limit_is_refused(files: Files, home: Path) -> None:
    transfer = FileTransfer(files, workspace=str(home), max_bytes=10)
    await send(transfer, SentForm(SentPart("fits", bytes(10))))
    with pytest.raises(TooLarge):
        await send(transfer, SentForm(SentPart("f", bytes(5), bytes(6))))
    assert [path.name for path in home.iterdir()] == ["fits"]


async def test_a_form_must_hold_one_file(transfer: FileTransfer, home: Path) -> None:
    with pytest.raises(InvalidFields) as error:
        await send(transfer, SentForm(SentPart("x", b"x", name="other")))
    assert error.value.problems == [{"loc": ("body", "file"), "msg": "Field required", "type": "missing"}]
    with pytest.raises(InvalidFields):
        await send(transfer, SentForm(SentPart("a", b"x"), SentPart("b", b"x")))
    assert list(home.iterdir()) == []


async def test_where_a_file_cannot_be_put_is_a_file_error(transfer: FileTransfer) -> None:
    with pytest.raises(FileError, match="Failed to upload file") as error:
        await send(transfer, SentForm(SentPart("x", b"x"), path="/root/x"))
    assert error.value.error_type == "permission_denied"


async def read(content: Content, start: int = 0, stop: int | None = None) -> bytes:
    return b"".join([chunk async for chunk in content.read(start, content.size if stop is None else stop)])


async def test_a_file_is_given_whole_and_in_part(transfer: FileTransfer, home: Path) -> None:
    data = os.urandom(PIECE + 100)
    (home / "f").write_bytes(data)
    content = await transfer.download(FileDownloadRequest(path=f"{home}/f"))
    assert (content.size, content.filename, content.etag[:1]) == (len(data), "f", '"')
    assert await read(content) == data
    assert await read(content, 10, 20) == data[10:20]
    content.close()


async def test_a_file_that_says_it_is_empty_is_given_with_its_content(transfer: FileTransfer, home: Path) -> None:
    content = await transfer.download(FileDownloadRequest(path="/proc/sys/kernel/ostype"))
    assert (content.size, await read(content)) == (6, b"Linux\n")
    (home / "empty").touch()
    content = await transfer.download(FileDownloadRequest(path=f"{home}/empty"))
    assert (content.size, await read(content)) == (0, b"")


async def test_a_file_that_changes_is_cut_off_when_asked_for(transfer: FileTransfer, home: Path) -> None:
    (home / "f").write_bytes(bytes(3 * PIECE))
    content = await transfer.download(FileDownloadRequest(path=f"{home}/f", change_policy="abort"))
    pieces = content.read(0, content.size)
    await anext(pieces)
    with open(home / "f", "ab") as file:
        file.write(b"x")
    with pytest.raises(Conflict, match="changed while"):
        await anext(pieces)
    content.close()
    content = await transfer.download(FileDownloadRequest(path=f"{home}/f", change_policy="ignore"))
    (home / "f").write_bytes(bytes(4 * PIECE))
    assert len(await read(content)) == 3 * PIECE + 1
    content.close()


async def test_a_file_that_was_replaced_before_the_first_byte_is_a_conflict(
    transfer: FileTransfer, files: Files, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "f").write_bytes(b"old")
    opened = await files.access("download").open(f"{home}/f")
    (home / "new").write_bytes(b"new")
    (home / "new").rename(home / "f")

    async def stale(*_: object) -> object:
        return opened

    monkeypatch.setattr("sandbox_server.drivers.files.operations.FileAccess.open", stale)
    with pytest.raises(Conflict, match="before its download began"):
        await transfer.download(FileDownloadRequest(path=f"{home}/f", change_policy="abort"))
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened.fd)


async def test_another_version_than_asked_for_is_a_conflict(transfer: FileTransfer, home: Path) -> None:
    (home / "f").write_bytes(b"x")
    with pytest.raises(Conflict, match="its etag is now"):
        await transfer.download(FileDownloadRequest(path=f"{home}/f", if_match='"other"'))


@pytest.mark.parametrize(("path", "status"), [("/nowhere", 404), ("/etc/shadow", 403), ("/tmp", 400), ("/dev/null", 400)])
async def test_what_cannot_be_downloaded_has_a_status(transfer: FileTransfer, path: str, status: int) -> None:
    with pytest.raises(FileError) as error:
        await transfer.download(FileDownloadRequest(path=path))
    assert error.value.http_status == status
