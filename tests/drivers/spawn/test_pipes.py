import asyncio
import os
import struct
from contextlib import suppress

import anyio
import pytest

from sandbox_server.core.errors import ResourceExhausted, TooLarge
from sandbox_server.drivers.spawn import pipes
from sandbox_server.drivers.spawn.pipes import Capture, PipeReader, PipeWriter
from tests.patience import eventually, until

pytestmark = pytest.mark.anyio


async def test_a_reader_hands_over_what_was_written_until_the_end() -> None:
    capture = Capture(100)
    with PipeReader(capture.take) as reader:
        os.write(reader.theirs, b"one")
        await reader.settle()
        os.write(reader.theirs, b" two")
        await reader.settle()
        reader.release()
        await asyncio.to_thread(until, lambda: reader.closed)
    assert (capture.bytes(), capture.truncated) == (b"one two", False)


async def test_a_reader_waits_while_its_sink_is_busy_and_loses_nothing() -> None:
    loop = asyncio.get_running_loop()
    taken, busy = list[bytes](), list[asyncio.Future[None]]()

    def slow(chunk: bytes) -> asyncio.Future[None]:
        assert all(future.done() for future in busy), "a chunk came while the one before was not taken"
        taken.append(chunk)
        busy.append(loop.create_future())
        loop.call_later(0.01, busy[-1].set_result, None)
        return busy[-1]

    with PipeReader(slow) as reader:
        for text in (b"a", b"b", b"c"):
            os.write(reader.theirs, text)
            await reader.settle()
    assert b"".join(taken) == b"abc"


async def test_settling_does_not_wait_for_one_who_keeps_the_pipe_open() -> None:
    capture = Capture(100)
    with PipeReader(capture.take) as reader, anyio.fail_after(30):
        await reader.settle()
        os.write(reader.theirs, b"x")
        await reader.settle()
        assert capture.bytes() == b"x"


async def test_settling_does_not_wait_for_what_somebody_else_has_read(monkeypatch: pytest.MonkeyPatch) -> None:
    capture = Capture(100)
    with PipeReader(capture.take) as reader, anyio.fail_after(30):
        os.write(reader.theirs, b"left")
        monkeypatch.setattr("fcntl.ioctl", lambda *_: struct.pack("i", 8))  # as if four bytes were read just after the question
        await reader.settle()
    assert capture.bytes() == b"left"


async def test_settling_ends_where_the_reader_is_closed_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    busy: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    monkeypatch.setattr(pipes, "CHUNK", 1)
    with PipeReader(lambda _: busy) as reader, anyio.fail_after(30):
        os.write(reader.theirs, b"two")
        async with anyio.create_task_group() as group:
            group.start_soon(reader.settle)
            await anyio.wait_all_tasks_blocked()
            reader.close()
            busy.set_result(None)


async def test_a_capture_keeps_the_beginning_and_says_that_there_was_more() -> None:
    capture = Capture(4)
    capture.take(b"abc")
    assert not capture.truncated
    capture.take(b"def")
    assert (capture.bytes(), capture.truncated) == (b"abcd", True)


async def test_a_writer_feeds_more_than_a_pipe_holds_and_then_ends() -> None:
    data = os.urandom(1 << 20)
    with PipeWriter(len(data)) as writer:
        writer.feed(data)
        writer.end()
        received = await asyncio.to_thread(_read_to_end, os.dup(writer.theirs), len(data))
        assert received == data
        await asyncio.to_thread(until, lambda: writer.closed)


def _read_to_end(fd: int, size: int) -> bytes:
    with open(fd, "rb") as stream:
        return stream.read(size)


async def test_a_writer_takes_all_or_nothing_while_nobody_reads() -> None:
    with PipeWriter(200_000) as writer:
        writer.feed(b"a" * 200_000)
        with pytest.raises(ResourceExhausted):
            writer.feed(b"b" * 150_000)
        with pytest.raises(TooLarge):
            writer.feed(b"c" * 200_001)
        received = await asyncio.to_thread(_read_to_end, os.dup(writer.theirs), 200_000)
        assert received == b"a" * 200_000

        def has_room() -> bool:
            with suppress(ResourceExhausted):
                writer.feed(b"d" * 150_000)
                return True
            return False

        await eventually(has_room)


async def test_a_writer_says_that_nobody_reads_any_more() -> None:
    with PipeWriter(100) as writer:
        writer.release()
        writer.feed(b"lost")
        with pytest.raises(BrokenPipeError):
            writer.feed(b"more")


async def test_nothing_can_be_written_after_the_end() -> None:
    with PipeWriter(100) as writer:
        writer.end()
        with pytest.raises(BrokenPipeError):
            writer.feed(b"late")
