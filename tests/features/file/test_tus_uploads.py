import asyncio
import base64
import os
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_server.core import Call, Caller, Conflict, InvalidArgument, NotFound, Reply, ResourceExhausted, TooLarge
from sandbox_server.drivers.files.files import Files
from sandbox_server.features.file import tus_uploads as module
from sandbox_server.features.file.tus_uploads import PIECE, FileUploads, UploadRef, read_metadata

pytestmark = pytest.mark.anyio

DATA = os.urandom(2 * PIECE + 7)


class SentBody:
    """A raw body in chunks; None in place of a chunk is a client that goes away."""

    def __init__(self, *content: bytes | None) -> None:
        self._content = content

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in self._content:
            if chunk is None:
                raise InvalidArgument("the body is incomplete: the client closed the connection")
            yield chunk


def call(**headers: str | int) -> Call:
    given = {name.replace("_", "-"): str(value) for name, value in headers.items()}
    return Call(Caller("test"), "1", base_url="http://box", headers={"tus-resumable": "1.0.0"} | given)


def metadata(**values: str) -> str:
    return ",".join(f"{key} {base64.b64encode(value.encode()).decode()}" for key, value in values.items())


@pytest.fixture
def uploads(files: Files, home: Path) -> FileUploads:
    return FileUploads(files, workspace=f"{home}/work", max_bytes=0)


async def begin(uploads: FileUploads, path: Path, length: int = len(DATA)) -> UploadRef:
    reply: Reply[None] = await uploads.create(SentBody(), call(upload_length=length, upload_metadata=metadata(path=str(path))))
    assert reply.status == 201
    return UploadRef(upload_id=reply.headers["Location"].rpartition("/")[2])


async def send(uploads: FileUploads, upload: UploadRef, offset: int, *content: bytes | None) -> Reply[None]:
    headers = call(upload_offset=offset, content_type="application/offset+octet-stream")
    reply: Reply[None] = await uploads.patch(upload, SentBody(*content), headers)
    return reply


async def offset(uploads: FileUploads, upload: UploadRef) -> int:
    reply: Reply[None] = await uploads.offset(upload, call())
    return int(reply.headers["Upload-Offset"])


def visible(home: Path) -> list[str]:
    return sorted(path.name for path in home.iterdir() if not path.name.startswith("."))


async def test_a_file_appears_when_its_last_byte_has_come(uploads: FileUploads, home: Path) -> None:
    upload = await begin(uploads, home / "f")
    assert (await send(uploads, upload, 0, DATA[:100])).headers["Upload-Offset"] == "100"
    assert visible(home) == []
    reply = await send(uploads, upload, 100, DATA[100:])
    assert (reply.status, reply.headers["Upload-Offset"]) == (204, str(len(DATA)))
    assert (home / "f").read_bytes() == DATA
    assert oct((home / "f").stat().st_mode) == "0o100644"
    assert await offset(uploads, upload) == len(DATA)
    assert [path.name for path in home.iterdir() if "~" in path.name] == []


async def test_an_upload_goes_on_where_it_broke_off(uploads: FileUploads, home: Path) -> None:
    upload = await begin(uploads, home / "f")
    with pytest.raises(InvalidArgument):
        await send(uploads, upload, 0, DATA[: PIECE + 3], None)
    assert await offset(uploads, upload) == PIECE + 3
    await send(uploads, upload, PIECE + 3, DATA[PIECE + 3 :])
    assert (home / "f").read_bytes() == DATA


async def test_an_upload_goes_on_after_the_server_was_gone(uploads: FileUploads, files: Files, home: Path) -> None:
    upload = await begin(uploads, home / "f")
    await send(uploads, upload, 0, DATA[:100])
    another = FileUploads(files, workspace=str(home), max_bytes=0)
    await send(another, upload, await offset(another, upload), DATA[100:])
    assert (home / "f").read_bytes() == DATA


async def test_the_first_part_may_come_with_the_creation(uploads: FileUploads, home: Path) -> None:
    headers = call(upload_length=3, upload_metadata=metadata(path=f"{home}/f"), content_type="application/offset+octet-stream")
    reply = await uploads.create(SentBody(b"abc"), headers)
    assert reply.headers["Upload-Offset"] == "3"
    assert (home / "f").read_bytes() == b"abc"


async def test_an_empty_file_is_there_at_once(uploads: FileUploads, home: Path) -> None:
    await begin(uploads, home / "f", 0)
    assert (home / "f").read_bytes() == b""


async def test_a_file_that_is_there_is_replaced_and_keeps_its_mode(uploads: FileUploads, home: Path) -> None:
    (home / "f").write_bytes(b"old")
    (home / "f").chmod(0o755)
    shutil.chown(home / "f", "gem", "gem")
    upload = await begin(uploads, home / "f", 3)
    await send(uploads, upload, 0, b"new")
    assert ((home / "f").read_bytes(), oct((home / "f").stat().st_mode)) == (b"new", "0o100755")


@pytest.mark.parametrize(
    ("given", "place"),
    [({"filename": "a/b.txt"}, "work/b.txt"), ({"path": "{home}/d/", "filename": "x"}, "d/x"), ({"path": "~/y"}, "y")],
)
async def test_the_path_comes_from_the_metadata(uploads: FileUploads, home: Path, given: dict[str, str], place: str) -> None:
    values = {key: value.format(home=home) for key, value in given.items()}
    await uploads.create(SentBody(), call(upload_length=0, upload_metadata=metadata(**values)))
    assert (home / place).exists()


async def test_a_part_for_another_offset_is_a_conflict(uploads: FileUploads, home: Path) -> None:
    upload = await begin(uploads, home / "f")
    with pytest.raises(Conflict, match="is at 0, not at 5"):
        await send(uploads, upload, 5, b"x")


async def test_more_than_was_announced_is_refused(uploads: FileUploads, home: Path) -> None:
    upload = await begin(uploads, home / "f", 3)
    with pytest.raises(TooLarge):
        await send(uploads, upload, 0, b"four")
    assert await offset(uploads, upload) == 0


async def test_two_requests_on_one_upload_do_not_mix(uploads: FileUploads, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOCK_SECONDS", 0.05)
    upload = await begin(uploads, home / "f", 2)
    arrived, go_on = asyncio.Event(), asyncio.Event()

    class SlowBody:
        async def chunks(self) -> AsyncIterator[bytes]:
            arrived.set()
            await go_on.wait()
            yield b"ab"

    slow = asyncio.create_task(uploads.patch(upload, SlowBody(), call(upload_offset=0, content_type=module.CONTENT_TYPE)))
    await arrived.wait()
    with pytest.raises(Conflict, match="another request"):
        await send(uploads, upload, 0, b"xy")
    go_on.set()
    await slow
    assert (home / "f").read_bytes() == b"ab"


async def test_an_upload_can_be_given_up(uploads: FileUploads, home: Path) -> None:
    upload = await begin(uploads, home / "f")
    await send(uploads, upload, 0, b"x")
    assert (await uploads.terminate(upload, call())).status == 204
    with pytest.raises(NotFound):
        await offset(uploads, upload)
    assert [path.name for path in home.iterdir() if "~" in path.name] == []


async def test_an_upload_nobody_went_on_with_is_forgotten(uploads: FileUploads, home: Path) -> None:
    old = await begin(uploads, home / "old")
    (record,) = (home / ".local/state/tandem/uploads").iterdir()
    ago = time.time() - module.LIFETIME - 10
    os.utime(record, (ago, ago))
    await begin(uploads, home / "new")
    with pytest.raises(NotFound):
        await offset(uploads, old)
    assert len([path for path in home.iterdir() if "~" in path.name]) == 1


async def test_there_is_a_limit_of_unfinished_uploads(uploads: FileUploads, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_UPLOADS", 1)
    await begin(uploads, home / "f")
    with pytest.raises(ResourceExhausted):
        await begin(uploads, home / "g")


async def test_a_record_that_is_not_ours_is_no_upload(uploads: FileUploads, home: Path) -> None:
    upload = await begin(uploads, home / "f")
    (home / f".local/state/tandem/uploads/{upload.upload_id}.json").write_text('{"path": 1}')
    with pytest.raises(NotFound):
        await offset(uploads, upload)


async def test_another_version_of_the_protocol_is_refused(uploads: FileUploads, home: Path) -> None:
    reply = await uploads.create(SentBody(), call(tus_resumable="0.2.2"))
    assert (reply.status, reply.headers["Tus-Version"]) == (412, "1.0.0")


async def test_a_part_of_another_type_is_refused(uploads: FileUploads, home: Path) -> None:
    upload = await begin(uploads, home / "f")
    assert (await uploads.patch(upload, SentBody(b"x"), call(upload_offset=0, content_type="text/plain"))).status == 415


@pytest.mark.parametrize("length", ["", "-1", "many", "1" * 30, "²"])
async def test_the_length_must_be_a_number(uploads: FileUploads, home: Path, length: str) -> None:
    with pytest.raises(InvalidArgument, match="Upload-Length"):
        await uploads.create(SentBody(), call(upload_length=length, upload_metadata=metadata(path=f"{home}/f")))


async def test_an_upload_over_the_limit_is_not_begun(files: Files, home: Path) -> None:
    small = FileUploads(files, workspace=str(home), max_bytes=10)
    with pytest.raises(TooLarge):
        await begin(small, home / "f", 11)
    assert (await small.describe()).headers["Tus-Max-Size"] == "10"


def test_metadata_is_pairs_with_values_in_base64() -> None:
    assert read_metadata("path L2Y=, empty ,filename eA==") == {"path": "/f", "empty": "", "filename": "x"}
    with pytest.raises(InvalidArgument, match="'path'"):
        read_metadata("path ***")


@pytest.mark.parametrize("given", ["", "other eA=="])
async def test_the_path_must_be_given(uploads: FileUploads, given: str) -> None:
    with pytest.raises(InvalidArgument, match="must hold path"):
        await uploads.create(SentBody(), call(upload_length=1, upload_metadata=given))
