"""A control client whose tmux does not answer; the rest is seen through `tmux`."""

import os
import signal
from collections.abc import Awaitable
from pathlib import Path

import anyio
import pytest

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.process import Processes
from sandbox_server.drivers.shells import tmux_connection
from sandbox_server.drivers.shells.tmux import Pane, Tmux
from sandbox_server.drivers.shells.tmux_connection import Connection
from tests.drivers.shells.ear import Ear
from tests.drivers.shells.test_tmux import server_pid, sh

pytestmark = pytest.mark.anyio


def ask(pane: Pane, what: str) -> Awaitable[object]:
    if what == "keys":
        return pane.type(b"x")
    return pane.capture() if what == "picture" else pane.resize(80, 24)


@pytest.mark.parametrize("asked", ["picture", "command", "keys"])
async def test_a_server_that_hangs_is_told_and_not_waited_for(tmux: Tmux, ear: Ear, asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pane = await tmux.open(sh("exec sleep 600"), ear)
    pid = await server_pid(tmux)
    monkeypatch.setattr(tmux_connection, "ANSWER_SECONDS", 0.1)
    os.kill(pid, signal.SIGSTOP)
    try:
        with anyio.fail_after(30), pytest.raises(Unavailable, match="did not answer"):
            await ask(pane, asked)
    finally:
        os.kill(pid, signal.SIGCONT)


async def test_a_client_that_still_has_something_to_tell_ends_by_itself(
    processes: Processes, terminals: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    abandoned: list[Connection] = []

    async def abandon(connection: Connection) -> None:
        abandoned.append(connection)

    monkeypatch.setattr(Connection, "abandon", abandon)
    for _ in range(10):
        async with Tmux(processes, str(terminals)) as tmux:
            await tmux.open(sh("seq 2000; exec sleep 600"), Ear())
    assert abandoned == []


async def test_who_ends_before_anything_was_answered_is_followed_by_another(tmux: Tmux, ear: Ear, monkeypatch: pytest.MonkeyPatch) -> None:
    connect, made = tmux._connect, list[Connection]()

    async def connected() -> Connection:
        made.append(await connect())
        if len(made) == 1:  # as one that found a server which is just ending
            await made[0]._process.kill(signal.SIGKILL)
            await made[0]._process.wait()
        return made[-1]

    monkeypatch.setattr(tmux, "_connect", connected)
    with anyio.fail_after(60):
        await tmux.open(sh("echo on; exec sleep 600"), ear)
        await ear.hears(b"on")
    assert made[1:] == [tmux._connection]
