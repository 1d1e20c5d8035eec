from pathlib import Path

import anyio
import pytest

from sandbox_server.core.errors import InvalidArgument, Unavailable
from sandbox_server.drivers.ipc.json_lines import JsonLine
from sandbox_server.drivers.kernels import kernels as module
from sandbox_server.drivers.kernels.kernel import OutputBounds
from sandbox_server.drivers.kernels.kernels import Kernels, Pythons
from sandbox_server.drivers.spawn.child_setup import NICE
from sandbox_server.drivers.spawn.process import Processes
from tests.drivers.kernels.conftest import MEMORY
from tests.patience import eventually

pytestmark = pytest.mark.anyio


async def test_the_pythons_are_those_that_have_the_packages_of_a_kernel(processes: Processes) -> None:
    found = await Pythons(processes).all()

    assert list(found) == ["python3", "python3.10", "python3.11", "python3.12", "python3.13"]
    assert found["python3"] == found["python3.13"]
    assert {Path(python.program).is_file() for python in found.values()} == {True}


async def test_where_there_is_none_nothing_is_listed(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACKAGES", "/no/such/place")

    assert await Pythons(processes).all() == {}


async def test_where_the_look_for_them_fails_nothing_is_believed(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FIND", "kill -SEGV $$")

    with pytest.raises(Unavailable, match="cannot be listed"):
        await Pythons(processes).all()


async def test_an_unknown_kernel_is_refused_with_the_names_that_there_are(kernels: Kernels) -> None:
    with pytest.raises(InvalidArgument, match=r"python2\.7") as refusal:
        await kernels.take("python2.7")
    assert "python3.12" in (refusal.value.hint or "")


async def test_disabled_there_are_none(processes: Processes, sockets: Path) -> None:
    async with Kernels(processes, folder=str(sockets), default="python3", memory=MEMORY, warm=True, enabled=False) as kernels:
        with pytest.raises(Unavailable, match="disabled"):
            await kernels.take("python3")


async def test_a_kernel_that_is_kept_ready_is_taken_and_another_takes_its_place(processes: Processes, sockets: Path) -> None:
    async with Kernels(processes, folder=str(sockets), default="python3", memory=MEMORY, warm=True) as kernels:
        with anyio.fail_after(60):
            first = await kernels.take("python3.13")
            await eventually(lambda: len(_connections(sockets)) == 3)  # the taken one's, and two that wait
            second = await kernels.take("python3")
            told: list[JsonLine] = []
            await second.execute("import os; print(os.nice(0))", OutputBounds(1000), told.append)
            await first.close()
            await second.close()
    assert [line["text"] for line in told] == [f"{NICE}\n"]


async def test_a_kernel_that_was_kept_ready_and_that_nobody_took_ends_with_the_rest(processes: Processes, sockets: Path) -> None:
    async with Kernels(processes, folder=str(sockets), default="python3", memory=MEMORY, warm=True) as kernels:
        assert kernels.warm
        await eventually(lambda: kernels.warm and kernels.warm.ready)
    assert list(sockets.iterdir()) == []


def _connections(sockets: Path) -> list[Path]:
    return list(sockets.glob("*/kernel.json"))


async def test_a_kernel_may_not_have_more_memory_than_it_is_given(kernels: Kernels) -> None:
    kernel = await kernels.take("python3")
    with anyio.fail_after(30):
        reply = await kernel.execute(f"x = bytearray({MEMORY})", OutputBounds(100_000), lambda _: None)
    assert reply["ename"] == "MemoryError"
    await kernel.close()


async def test_a_kernel_that_cannot_start_says_why(processes: Processes, sockets: Path) -> None:
    async with Kernels(processes, folder=str(sockets), default="python3", memory=30 << 20, warm=False) as kernels:
        with anyio.fail_after(30), pytest.raises(Unavailable, match=r"python3\.13 ended at its start: "):
            await kernels.take("python3")


async def test_a_closed_kernel_leaves_no_files(kernels: Kernels, sockets: Path) -> None:
    kernel = await kernels.take("python3")
    assert len(_connections(sockets)) == 1
    await kernel.close()
    assert list(sockets.iterdir()) == []
