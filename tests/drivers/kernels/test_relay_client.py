import resource
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from sandbox_server.core.errors import NotFound, Unavailable
from sandbox_server.drivers.kernels import relay_client as module
from sandbox_server.drivers.kernels.kernel_zygote import KernelZygote
from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.kernels.relay_client import MAX_LINE, RelayClient, RelayEnded
from sandbox_server.drivers.spawn.process import Process, Processes
from tests.drivers.kernels.conftest import MEMORY
from tests.patience import eventually

pytestmark = pytest.mark.anyio

KILL_THE_RELAY = ["bash", "-c", "kill -KILL $(pgrep -f [k]ernels/relay)"]


@asynccontextmanager
async def relay_of(kernels: Kernels, processes: Processes, folder: str) -> AsyncIterator[RelayClient]:
    python = await kernels.pythons.get("python3")
    async with (
        KernelZygote(processes, program=python.program, packages=python.packages, memory=MEMORY) as zygote,
        RelayClient(zygote, folder) as relay,
    ):
        yield relay


async def relay_changed(relay: RelayClient, first: int) -> bool:
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
                await eventually(lambda: relay_changed(relay, first))
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


class Hostile(KernelZygote):
    """Starts what root in the box may have put in a relay's place."""

    program_text = ""

    async def start(self, role: Sequence[str], instead: Sequence[str], *, forked: bool = True, **options: Any) -> Process:
        return await self._processes.start([self.program, "-c", f"import os, sys; sys.stdin.readline(); {self.program_text}"], **options)


WHOLE = "whole = lambda text: [os.write(0, text[at:at + 65536]) for at in range(0, len(text), 65536)]"
HOSTILE = {
    "a line that nests too deep": "os.write(0, b'[' * 1000000 + b'\\n'); sys.stdin.readline()",
    "a line without an end": "exec('while True: os.write(0, b\\'x\\' * 65536)')",
    "lines to nobody without an end": "exec('while True: os.write(0, b\\'{}\\\\n\\' * 20000)')",
    "outputs without an end": 'exec(\'while True: os.write(0, b"""{"id": 2, "event": "output", "output": {"text": "x"}}\\\\n""" * 1000)\')',
    "a number of a million digits": "os.write(0, b'{\"id\": ' + b'1' * 1000000 + b'}\\n'); sys.stdin.readline()",
    "no JSON": "os.write(0, bytes(range(256)) + b'\\n'); sys.stdin.readline()",
}


@pytest.mark.parametrize("said", HOSTILE)
async def test_a_relay_that_says_what_no_relay_says_has_ended_and_memory_stays_bounded(
    processes: Processes, sockets: object, said: str
) -> None:
    zygote = Hostile(processes, program="python3", packages="/", memory=MEMORY)
    zygote.program_text = HOSTILE[said]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with RelayClient(zygote, str(sockets)) as relay:
        with anyio.fail_after(60), pytest.raises(RelayEnded):
            await relay.ask("execute", room=100_000, count=100)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4 * MAX_LINE / 1024


async def test_a_relay_that_never_answers_is_ended(processes: Processes, sockets: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.5)
    zygote = Hostile(processes, program="python3", packages="/", memory=MEMORY)
    zygote.program_text = "sys.stdin.readline()"
    async with RelayClient(zygote, str(sockets)) as relay:
        with anyio.fail_after(60), pytest.raises(RelayEnded):
            await relay.ask("open", kernel="one")


async def test_the_relay_is_among_the_last_that_end_for_want_of_memory(kernels: Kernels, processes: Processes, sockets: object) -> None:
    async with relay_of(kernels, processes, str(sockets)) as relay:
        with anyio.fail_after(30):
            await relay.current()
            scores = ["bash", "-c", "cat /proc/$(pgrep -n -f [k]ernels/relay)/oom_score_adj"]  # another test's may end just now
            assert (await processes.run(scores, timeout=30, max_output=100)).stdout == b"200\n"


async def test_a_program_that_is_not_there_is_named(processes: Processes, sockets: object) -> None:
    async with RelayClient(KernelZygote(processes, program="/no/such/python", packages="/", memory=MEMORY), str(sockets)) as relay:
        with pytest.raises(NotFound, match="/no/such/python"):
            await relay.current()
