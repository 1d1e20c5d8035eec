import asyncio
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox_server.drivers.stats import liveness
from sandbox_server.drivers.stats.liveness import Liveness

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

pytestmark = pytest.mark.anyio


async def test_a_spawner_that_serves_is_ready(spawner: "SpawnerDaemon") -> None:
    assert await Liveness({"spawner": spawner.socket}).states() == {"spawner": "ready"}


async def test_a_daemon_that_hangs_up_or_is_not_there_is_not_ready(tmp_path: Path) -> None:
    path = str(tmp_path / "sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen()
        asking = asyncio.create_task(Liveness({"a": path, "b": str(tmp_path / "none")}).states())
        listener.setblocking(False)
        connected, _ = await asyncio.get_running_loop().sock_accept(listener)
        connected.close()
        assert await asking == {"a": "not answering", "b": "not started"}


async def test_however_many_ask_it_is_one_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness, "PING_SECONDS", 0.1)
    path = str(tmp_path / "sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen()
        listener.setblocking(False)
        found = Liveness({"a": path})
        states = await asyncio.gather(*(found.states() for _ in range(100)))
        assert {state["a"] for state in states} == {"it did not answer within 0.1 s"}
        listener.accept()[0].close()
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert os.path.exists(path)
