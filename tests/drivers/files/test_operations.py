import errno
import os
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import pytest

from sandbox_server.core.errors import Conflict, FileError, PermissionDenied
from sandbox_server.drivers.files.message_frames import MAX_PAYLOAD, WorkerFrame
from sandbox_server.drivers.files.operations import FileAccess, User

pytestmark = pytest.mark.anyio


class Answering:
    """A pool whose workers answer one thing, or fail in one way."""

    home = "/home/agent"
    threads: Executor = ThreadPoolExecutor(1)

    def __init__(self, answer: dict[str, Any] | Exception) -> None:
        self.answer = answer
        self.asked: dict[str, Any] = {}
        self.descriptors: list[int] = []

    async def call(self, user: User, request: WorkerFrame, timeout: float) -> WorkerFrame:
        self.asked = request.header
        if isinstance(self.answer, Exception):
            raise self.answer
        return WorkerFrame(self.answer, fds=list(self.descriptors))


def access(answer: dict[str, Any] | Exception) -> tuple[FileAccess, Answering]:
    pool = Answering(answer)
    return FileAccess(pool, "delete", "agent", 3), pool


async def test_a_tilde_is_the_home_of_the_agent_and_nothing_else() -> None:
    home, pool = access({"deleted": True})
    for given, asked in (("~", "/home/agent"), ("~/f", "/home/agent/f"), ("/~", "/~")):
        await home.delete(given)
        assert pool.asked["path"] == asked
    for given in ("~user/f", "f", "", "./f"):
        with pytest.raises(FileError, match="must be absolute") as error:
            await home.delete(given)
        assert error.value.error_type == "invalid_path"


@pytest.mark.parametrize(
    ("answer", "kind", "number", "words"),
    [
        ({"errno": errno.ENOENT, "path": "/x"}, "not_found", errno.ENOENT, r"Failed to delete file: \[Errno 2\] .*: '/x'"),
        ({"refused": "decode_error", "message": "no", "path": "/x"}, "decode_error", None, "Failed to delete file: no"),
        (TimeoutError(), "io_error", errno.ETIMEDOUT, "did not end within 3 s and was stopped; some of it may be done"),
        (ConnectionError("gone"), "io_error", errno.EIO, "gone; it may be done in part"),
        (PermissionDenied("not root"), "permission_denied", None, "sudo is not allowed here"),
    ],
)
async def test_what_goes_wrong_is_a_file_error(answer: dict[str, Any] | Exception, kind: str, number: int | None, words: str) -> None:
    with pytest.raises(FileError, match=words) as error:
        await access(answer)[0].delete("/x")
    assert (error.value.error_type, error.value.errno, error.value.operation) == (kind, number, "delete")


async def test_another_version_is_a_conflict() -> None:
    with pytest.raises(Conflict, match="changed"):
        await access({"refused": "conflict", "message": "it changed", "path": "/x"})[0].delete("/x")


@pytest.mark.parametrize(("number", "hint"), [(errno.EFBIG, "start_line"), (errno.ENOSPC, "The disk is full"), (errno.EIO, None)])
async def test_a_hint_says_what_to_do_where_there_is_something(number: int, hint: str | None) -> None:
    with pytest.raises(FileError) as error:
        await access({"errno": number, "path": "/x"})[0].delete("/x")
    if hint is None:
        assert error.value.hint is None
    else:
        assert hint in (error.value.hint or "")


async def test_too_much_to_write_at_once_is_refused_before_it_is_sent() -> None:
    class Endless(bytes):
        def __len__(self) -> int:
            return MAX_PAYLOAD + 1

    writer, pool = access({})
    with pytest.raises(FileError) as error:
        await writer.write("/x", Endless())
    assert (error.value.errno, pool.asked) == (errno.EFBIG, {})


async def test_an_answer_that_says_nothing_is_a_failure_of_the_operation() -> None:
    broken, _ = access({})
    for asked in (broken.delete("/f"), broken.stat("/f"), broken.copy("/f", "/g"), broken.read("/f"), broken.archive(["/f"], "/a", "tar")):
        with pytest.raises(FileError, match="answer is none"):
            await asked


@pytest.mark.parametrize("count", [0, 1, 2])
async def test_a_descriptor_that_may_hang_is_not_read(count: int) -> None:
    """Such as a pipe's, which nobody writes to."""
    broken, pool = access({})
    pipes = [end for _ in range(count) for end in os.pipe()][:count]
    pool.descriptors = list(pipes)
    for asked in (broken.open, broken.stage):
        pool.descriptors = [os.dup(end) for end in pipes]
        with pytest.raises(FileError, match="answer is none"):
            await asked("/f")
        for each in pool.descriptors:
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(each)
