import os
import socket

import anyio
import pytest

from sandbox_server.drivers.ipc.json_lines import JsonLines

pytestmark = pytest.mark.anyio


async def test_objects_go_both_ways_as_lines() -> None:
    async with JsonLines() as lines:
        with socket.socket(fileno=socket.dup(lines.theirs)) as theirs:
            await lines.send({"a": "é\n"})
            theirs.sendall(b'{"b": 1}\n{"c": 2}\n')
            assert theirs.recv(100) == b'{"a": "\\u00e9\\n"}\n'
            assert [await lines.receive(), await lines.receive()] == [{"b": 1}, {"c": 2}]


@pytest.mark.parametrize("sent", [b"", b"[1]\n", b"nonsense\n", b"\xff\n", b'"' + b"x" * 300 + b'"\n'])
async def test_what_is_no_object_of_a_fair_size_ends_the_conversation(sent: bytes) -> None:
    async with JsonLines(limit=200) as lines:
        with socket.socket(fileno=socket.dup(lines.theirs)) as theirs:
            lines.release()
            theirs.sendall(sent)
            theirs.shutdown(socket.SHUT_WR)
            with anyio.fail_after(30):
                assert await lines.receive() is None


async def test_a_process_that_has_hung_up_is_an_error_to_send_to() -> None:
    async with JsonLines() as lines:
        lines.release()
        with anyio.fail_after(30):
            assert await lines.receive() is None
            with pytest.raises(ConnectionError):
                await keep_sending(lines)


async def keep_sending(lines: JsonLines) -> None:
    """Until it fails: the first line may still fit the socket."""
    while True:
        await lines.send({"to": "nobody"})


async def test_closing_twice_does_nothing() -> None:
    lines = JsonLines()
    with socket.socket(fileno=os.dup(lines.theirs)) as process:
        lines.close()
        lines.close()
        assert process.recv(1) == b""
