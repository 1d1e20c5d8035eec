import os
import socket
import sys
from typing import Any

import pytest

from sandbox_server.core import Unavailable
from sandbox_server.drivers.ports.holders import Holder, PortHolders
from sandbox_server.drivers.ports.listening_ports import listeners
from sandbox_server.drivers.ports.socket_holders import MAX_COMMAND
from sandbox_server.drivers.spawn.process import Completed, Exit, Processes

pytestmark = pytest.mark.anyio


async def test_the_holder_of_a_listening_socket_is_found(spawner: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = await PortHolders(Processes(spawner.socket), "root").find()
        [listener] = [each for each in listeners() if each.port == port]

    assert found[listener.inode].pid == os.getpid()
    assert os.path.basename(sys.executable) in found[listener.inode].command


class Says:
    """In place of processes: one that writes something, or cannot be started."""

    def __init__(self, written: bytes | None) -> None:
        self._written = written

    async def run(self, *_: object, **__: object) -> Completed:
        if self._written is None:
            raise Unavailable("no")
        return Completed(Exit(0, None), self._written, b"", truncated=False)


@pytest.mark.parametrize(
    "written", [None, b"", b"[]", b'{"1": 2}', b'{"x": [1, "a"]}', b'{"1": ["x", "a"]}', b"[" * 100_000, b'{"1": [Infinity, ""]}']
)
async def test_an_answer_that_cannot_be_used_finds_nothing(written: bytes | None) -> None:
    assert await PortHolders(Says(written), "agent").find() == {}  # type: ignore[arg-type]


async def test_an_answer_is_read() -> None:
    found = await PortHolders(Says(b'{"7": [12, "node server.js"]}'), "agent").find()  # type: ignore[arg-type]

    assert found == {7: Holder(12, "node server.js")}


async def test_a_command_line_is_shown_as_one_line_and_moves_nothing() -> None:
    says = Says(b'{"1": [7, "\\u001b[2Jls\\nroot\\u202e' + b"x" * 1000 + b'"]}')
    [holder] = (await PortHolders(says, "agent").find()).values()  # type: ignore[arg-type]

    assert holder.command.startswith(" [2Jls root x")
    assert len(holder.command) == MAX_COMMAND
