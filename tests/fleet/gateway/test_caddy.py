"""Caddy as a child of this process."""

import asyncio
import functools
import os
import signal
import socket
import sys
import textwrap
from pathlib import Path

import pytest
from tandem_fleet.gateway.caddy import Caddy, CaddyFailedError

from tests.waiting import eventually

pytestmark = pytest.mark.anyio
NOTHING = {"admin": {"disabled": True}}


def is_there(pid: int) -> bool:
    """Whether a process runs; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except FileNotFoundError:
        return False


def pid(caddy: Caddy) -> int:
    """The number of its process."""
    assert caddy.process is not None
    return caddy.process.pid


def is_another(caddy: Caddy, before: int) -> bool:
    """Whether it was started again."""
    return pid(caddy) != before


async def test_it_ends_with_the_block(program: str, tmp_path: Path) -> None:
    async with Caddy(program, NOTHING, tmp_path, ()).running() as caddy:
        assert is_there(pid(caddy))
    assert not is_there(pid(caddy))


async def test_it_says_why_it_does_not_start(program: str, tmp_path: Path) -> None:
    with pytest.raises(CaddyFailedError, match="unknown module: nothing"):
        async with Caddy(program, NOTHING | {"apps": {"nothing": {}}}, tmp_path, ()).running():
            pass
    with pytest.raises(CaddyFailedError, match="it said nothing"):
        async with Caddy("/bin/false", NOTHING, tmp_path, ()).running():
            pass


async def test_one_that_was_killed_is_started_again(program: str, tmp_path: Path) -> None:
    async with Caddy(program, NOTHING, tmp_path, ()).running() as caddy:
        for _ in range(2):
            before = pid(caddy)
            os.kill(before, signal.SIGKILL)
            await eventually(functools.partial(is_another, caddy, before))


async def test_it_ends_when_the_service_is_killed(program: str, tmp_path: Path) -> None:
    """No process is left over that would hold the port."""
    script = f"""
        import asyncio
        from pathlib import Path
        from tandem_fleet.gateway.caddy import Caddy
        async def main():
            async with Caddy({program!r}, {NOTHING!r}, Path({str(tmp_path)!r}), ()).running() as caddy:
                print(caddy.process.pid, flush=True)
                await asyncio.sleep(600)
        asyncio.run(main())
    """
    path = os.pathsep.join(sys.path)
    service = await asyncio.create_subprocess_exec(
        sys.executable, "-c", textwrap.dedent(script), stdout=asyncio.subprocess.PIPE, env=os.environ | {"PYTHONPATH": path}
    )
    assert service.stdout is not None
    async with asyncio.timeout(60):
        child = int(await service.stdout.readline())
    assert is_there(child)
    service.send_signal(signal.SIGKILL)
    await service.wait()
    await eventually(lambda: not is_there(child))


async def test_a_listener_that_is_passed_on_is_served(program: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        routes = [{"handle": [{"handler": "static_response", "body": "here"}]}]
        server = {"listen": [f"fd/{listener.fileno()}"], "routes": routes, "automatic_https": {"disable": True}}
        config = NOTHING | {"apps": {"http": {"servers": {"one": server}}}}
        async with Caddy(program, config, tmp_path, (listener.fileno(),)).running():
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(b"GET / HTTP/1.0\r\n\r\n")
            async with asyncio.timeout(30):
                assert (await reader.read()).endswith(b"here")
            writer.close()
            await writer.wait_closed()
