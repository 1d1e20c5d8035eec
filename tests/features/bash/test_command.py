import asyncio
import os
import resource
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from sandbox_server.core import NotFound, ResourceExhausted
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.features.bash.command import BashCommand, OutputLimit
from sandbox_server.features.bash.output import read_text

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

pytestmark = pytest.mark.anyio


@pytest.fixture
async def command(tmp_path: Path) -> BashCommand:
    return BashCommand("text", (100, 200), OutputLimit(1 << 20, str(tmp_path)))


async def test_a_command_that_cannot_start_is_over_and_holds_nothing(command: BashCommand, spawner: "SpawnerDaemon") -> None:
    waiting = asyncio.create_task(command.kill(15))
    with pytest.raises(NotFound):
        await command.start(Processes(spawner.socket), ["no-such-program"], "/", {})
    with anyio.fail_after(30):
        await waiting
    assert (command.status, command.stdin.closed, command.stdout.reader.closed) == ("killed", True, True)


async def test_a_command_has_ended_only_when_all_it_wrote_is_there(command: BashCommand, spawner: "SpawnerDaemon") -> None:
    await command.start(Processes(spawner.socket), ["head", "-c", "500000", "/dev/zero"], "/", {})
    assert (command.status, command.exit_code, await command.wait(0)) == ("running", None, False)
    with anyio.fail_after(30):
        await command.watch(None)
    assert (command.status, command.exit_code, await command.wait(0)) == ("completed", 0, True)
    assert (command.stdout.end, command.stderr.end) == (500_100, 200)
    command.close()


async def test_output_that_somebody_reads_stays_until_he_is_done(command: BashCommand) -> None:
    command.stdout.spool.append(b"still here")
    with command.held():
        command.drop()
        assert (await read_text(command.stdout.spool, 0, ended=True)).text == "still here"
    assert command.kept == 0
    command.close()


async def test_whoever_asks_for_the_next_change_hears_of_it(command: BashCommand) -> None:
    change = command.change()
    command.notify()
    assert change.done()
    assert not command.change().done()
    command.close()


async def test_a_command_that_gets_no_descriptor_leaves_none_behind(tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = len(before) + 4  # enough for two pipes, not for three
    resource.setrlimit(resource.RLIMIT_NOFILE, (room, limits[1]))
    try:
        with pytest.raises(ResourceExhausted):
            BashCommand("text", (0, 0), OutputLimit(1 << 20, str(tmp_path)))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert os.listdir("/proc/self/fd") == before
