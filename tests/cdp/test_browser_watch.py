"""The end of a browser. Its first answer and its pulse are in tests/cdp/test_browser_supervisor.py, on a real one."""

import asyncio
import signal

import pytest

from sandbox_server.cdp.browser_watch import bury

pytestmark = pytest.mark.anyio


class Dying:
    """A process that ends after so many seconds, or once it is killed."""

    def __init__(self, seconds: float) -> None:
        self._ended = asyncio.Event()
        asyncio.get_running_loop().call_later(seconds, self._ended.set)
        self.killed: list[int] = []

    async def wait(self) -> None:
        await self._ended.wait()

    async def kill(self, number: int) -> None:
        self.killed.append(number)
        self._ended.set()


@pytest.mark.parametrize(("seconds", "killed"), [(0.01, []), (1000.0, [signal.SIGKILL])])
async def test_one_that_does_not_quit_in_time_is_killed(seconds: float, killed: list[int]) -> None:
    process = Dying(seconds)
    await bury(process, 0.3)  # type: ignore[arg-type]
    assert process.killed == killed
