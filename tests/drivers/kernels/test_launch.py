"""How a kernel starts, for every Python that there is."""

from pathlib import Path

import anyio
import pytest

from sandbox_server.drivers.ipc.json_lines import JsonLine
from sandbox_server.drivers.kernels.kernel import OutputBounds
from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.spawn.child_setup import NICE
from tests.patience import eventually

pytestmark = pytest.mark.anyio

PATHS = "import sys, os; print(sys.version_info[:2], sys.path[0] == '', sys.path[-1], os.nice(0))"

HOLD_THE_NEXT_REPLY = """
import pathlib, select
kernel = get_ipython().kernel
back = kernel.shell_channel_thread.manager._main_to_shell_channel.to_stream
arrives, pass_on = kernel.shell_stream.socket.FD, back._recv_callback

def hold(frames):
    if b"held" in b"".join(bytes(frame) for frame in frames):
        pathlib.Path({held!r}).touch()
        select.select([arrives], [], [], 30)
    return pass_on(frames)

back._recv_callback = hold
"""
"""Makes the kernel send a reply that says "held" just when the next request has come."""
SAY_HELD = "get_ipython().payload_manager.write_payload({'source': 'held'})"


@pytest.mark.parametrize("name", ["python3.10", "python3.11", "python3.12", "python3.13"])
async def test_a_kernel_is_of_the_python_that_was_asked_for_with_its_packages_last(kernels: Kernels, name: str) -> None:
    said: list[JsonLine] = []
    version = name.removeprefix("python")
    with anyio.fail_after(180):  # longer than a kernel may take, so that this is said of it
        kernel = await kernels.take(name)
        await kernel.execute(PATHS, OutputBounds(10_000), said.append)
        await kernel.close()

    major, minor = version.split(".")
    assert "".join(line["text"] for line in said) == f"({major}, {minor}) True /opt/kernel/{version} {NICE}\n"


@pytest.mark.parametrize("name", ["python3.10", "python3"])
async def test_a_request_that_comes_while_the_reply_to_another_leaves_is_heard(kernels: Kernels, home: Path, name: str) -> None:
    held = home / "held"
    kernel = await kernels.take(name)
    with anyio.fail_after(60):
        assert (await kernel.execute(HOLD_THE_NEXT_REPLY.format(held=str(held)), OutputBounds(10_000), lambda _: None))["status"] == "ok"
        async with anyio.create_task_group() as group:
            group.start_soon(kernel.execute, SAY_HELD, OutputBounds(10_000), lambda _: None)
            await eventually(held.exists)
            assert (await kernel.execute("1", OutputBounds(10_000), lambda _: None))["status"] == "ok"
        await kernel.close()
