from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from sandbox_server.core.errors import NotFound, Unavailable
from sandbox_server.drivers.kernels import relayed as module
from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.kernels.nursery import Nursery
from sandbox_server.drivers.kernels.relayed import Relayed, RelayEnded
from sandbox_server.drivers.process import Process, Processes
from tests.drivers.kernels.conftest import MEMORY
from tests.drivers.kernels.waiting import until

pytestmark = pytest.mark.anyio

KILL_THE_RELAY = ["bash", "-c", "kill -KILL $(pgrep -f [k]ernels/relay)"]


@asynccontextmanager
async def relay_of(kernels: Kernels, processes: Processes, folder: str) -> AsyncIterator[Relayed]:
    python = await kernels.pythons.get("python3")
    async with (
        Nursery(processes, program=python.program, packages=python.packages, memory=MEMORY) as nursery,
        Relayed(nursery, folder) as relay,
    ):
        yield relay


async def relay_changed(relay: Relayed, first: int) -> bool:
    """Whether another relay has been started."""
    return await relay.current() != first


async def test_what_the_relay_cannot_do_is_unavailable_with_its_reason(kernels: Kernels, processes: Processes, sockets: object) -> None:
    async with relay_of(kernels, processes, str(sockets)) as relay:
        with anyio.fail_after(30), pytest.raises(Unavailable, match="KeyError"):
            await relay.ask("execute", kernel="none", code="1", room=1, count=1)
        with anyio.fail_after(30), pytest.raises(Unavailable, match="KeyError"):
            await relay.ask("no such thing")


async def test_a_relay_that_ended_fails_what_was_asked_and_is_started_again(
    kernels: Kernels, processes: Processes, sockets: object
) -> None:
    async with relay_of(kernels, processes, str(sockets)) as relay:
        with anyio.fail_after(30):
            first = await relay.current()
            async with anyio.create_task_group() as group:

                async def ask() -> None:
                    with pytest.raises(Unavailable):
                        await relay.ask("connect", kernel="none", file=str((await relay.ask("open", kernel="none"))["file"]))

                group.start_soon(ask)
                await processes.run(KILL_THE_RELAY, timeout=30, max_output=0)
                await until(lambda: relay_changed(relay, first))
            assert (await relay.ask("open", kernel="other"))["file"]


async def test_what_can_be_asked_twice_is_asked_again_of_the_next_relay(kernels: Kernels, processes: Processes, sockets: object) -> None:
    async with relay_of(kernels, processes, str(sockets)) as relay:
        with anyio.fail_after(60):
            first, answers = await relay.current(), list[object]()
            async with anyio.create_task_group() as group:

                async def prepare() -> None:
                    answers.append((await relay.prepare("open", kernel="one"))["file"])

                await processes.run(["bash", "-c", "kill -STOP $(pgrep -f [k]ernels/relay)"], timeout=30, max_output=0)
                group.start_soon(prepare)
                await anyio.wait_all_tasks_blocked()
                await processes.run(KILL_THE_RELAY, timeout=30, max_output=0)
            assert answers
            assert await relay.current() != first


async def test_a_relay_that_hangs_is_ended_and_another_started(
    kernels: Kernels, processes: Processes, sockets: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with relay_of(kernels, processes, str(sockets)) as relay:
        with anyio.fail_after(60):
            first = await relay.current()
            await processes.run(["bash", "-c", "kill -STOP $(pgrep -f [k]ernels/relay)"], timeout=30, max_output=0)
            with monkeypatch.context() as impatient:
                impatient.setattr(module, "ANSWER_SECONDS", 0.5)
                with pytest.raises(RelayEnded):
                    await relay.ask("open", kernel="one")
            assert (await relay.ask("open", kernel="one"))["file"]
            assert await relay.current() != first


async def test_who_waits_when_no_more_is_asked_is_told_and_no_relay_is_started_again(
    kernels: Kernels, processes: Processes, sockets: object
) -> None:
    async with relay_of(kernels, processes, str(sockets)) as relay, anyio.create_task_group() as group:
        file = (await relay.ask("open", kernel="none"))["file"]

        async def ask() -> None:
            with anyio.fail_after(30), pytest.raises(RelayEnded):
                await relay.ask("connect", kernel="none", file=file, pid=1)

        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        await relay.__aexit__(None, None, None)
        with pytest.raises(Unavailable, match="no kernels any more"):
            await relay.ask("open", kernel="none")


class Babbling(Nursery):
    """Starts what says no sentence that anybody can read, in place of a relay."""

    async def start(self, role: Sequence[str], instead: Sequence[str], *, forked: bool = True, **options: Any) -> Process:
        babble = "import os, sys; sys.stdin.readline(); os.write(0, b'[' * 1000000 + b'\\n'); sys.stdin.readline()"
        return await self._processes.start([self.program, "-c", babble], **options)


async def test_a_relay_whose_line_nests_too_deep_has_ended(processes: Processes, sockets: object) -> None:
    async with Relayed(Babbling(processes, program="python3", packages="/", memory=MEMORY), str(sockets)) as relay:
        with anyio.fail_after(60), pytest.raises(RelayEnded):
            await relay.ask("execute", kernel="one")


async def test_the_relay_is_among_the_last_that_end_for_want_of_memory(kernels: Kernels, processes: Processes, sockets: object) -> None:
    async with relay_of(kernels, processes, str(sockets)) as relay:
        with anyio.fail_after(30):
            await relay.current()
            scores = ["bash", "-c", "cat /proc/$(pgrep -n -f [k]ernels/relay)/oom_score_adj"]  # another test's may end just now
            assert (await processes.run(scores, timeout=30, max_output=100)).stdout == b"200\n"


async def test_a_program_that_is_not_there_is_named(processes: Processes, sockets: object) -> None:
    async with Relayed(Nursery(processes, program="/no/such/python", packages="/", memory=MEMORY), str(sockets)) as relay:
        with pytest.raises(NotFound, match="/no/such/python"):
            await relay.current()
