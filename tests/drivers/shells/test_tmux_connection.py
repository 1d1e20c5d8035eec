"""A control client whose tmux does not answer; the rest is seen through `tmux`."""

import os
import resource
import signal
from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.shells import tmux_connection
from sandbox_server.drivers.shells.tmux import Pane, Tmux
from sandbox_server.drivers.shells.tmux_connection import TmuxConnection
from sandbox_server.drivers.spawn.process import Processes
from tests.drivers.shells.ear import Ear
from tests.drivers.shells.test_tmux import server_pid, sh

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

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
    abandoned: list[TmuxConnection] = []

    async def abandon(connection: TmuxConnection) -> None:
        abandoned.append(connection)

    monkeypatch.setattr(TmuxConnection, "abandon", abandon)
    for _ in range(10):
        async with Tmux(processes, str(terminals)) as tmux:
            await tmux.open(sh("seq 2000; exec sleep 600"), Ear())
    assert abandoned == []


async def test_who_ends_before_anything_was_answered_is_followed_by_another(tmux: Tmux, ear: Ear, monkeypatch: pytest.MonkeyPatch) -> None:
    connect, made = tmux._connect, list[TmuxConnection]()

    async def connected() -> TmuxConnection:
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


WORST = {
    "never answers": "exec sleep 600",
    "says nothing that makes sense": r"""while read -r line; do printf '%%begin 1 1 1\nnonsense \377 \n%%end 1 1 1\n'; done""",
    "answers with nothing": r"""while read -r line; do printf '%%begin 1 1 1\n%%end 1 1 1\n'; done""",
    "says a line without an end": "exec tr '\\0' x </dev/zero",
    "answers without an end": r"""printf '%%begin 1 1 1\n'; exec yes""",
    "ends what never began": r"""printf '%%end 1 1 1\n'; exec sleep 600""",
    "speaks of terminals that are none": r"""printf '%%output \377 x\n%%output x\n'; exec sleep 600""",
}


@pytest.mark.parametrize("script", WORST)
async def test_what_is_put_in_the_place_of_tmux_is_not_waited_for_and_fills_no_memory(
    spawner: "SpawnerDaemon", home: Path, ear: Ear, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tmux_connection, "ANSWER_SECONDS", 2.0)
    monkeypatch.setattr(tmux_connection, "CLOSE_SECONDS", 1.0)
    (home / "tmux").write_text(f"#!/bin/sh\n{WORST[script]}\n")
    (home / "tmux").chmod(0o755)
    spawner.environment |= {"PATH": f"{home}:{spawner.environment['PATH']}"}
    spawner.stop()
    spawner.start()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with Tmux(Processes(spawner.socket), str(home)) as tmux:
        with anyio.fail_after(30), pytest.raises(Unavailable):
            await tmux.open(sh("true"), ear)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 512 << 10
