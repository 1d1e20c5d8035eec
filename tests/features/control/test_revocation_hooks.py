"""What has to keep to a new holding."""

import asyncio
from typing import Any

import pytest

from sandbox_server.core import Unavailable
from sandbox_server.core.control import Holding
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.input_turns import InputTurns
from sandbox_server.features.control.revocation_hooks import ReleaseKeys, TellBrowser
from tests.drivers.x11.conftest import Program, desktop, program, xserver
from tests.patience import until

__all__ = ["desktop", "program", "xserver"]

pytestmark = pytest.mark.anyio

TAKEN = Holding(2, "human", "ann", frozenset({"gui", "cdp"}))


class Owner:
    """A process that hears nothing for a while."""

    def __init__(self, deaf_for: int = 0) -> None:
        self.heard: list[dict[str, Any]] = []
        self.told = asyncio.Event()
        self._deaf_for = deaf_for

    async def open_fresh(self, person: str, url: str) -> None:
        raise AssertionError("nobody asked for a window")

    async def close_fresh(self) -> None:
        raise AssertionError("nobody has a window")

    async def control(self, holding: dict[str, Any]) -> None:
        if self._deaf_for:
            self._deaf_for -= 1
            raise Unavailable("it restarts")
        self.heard.append(holding)
        self.told.set()


async def test_the_browsers_process_is_told() -> None:
    owner = Owner()
    async with TellBrowser(owner) as fence:
        await fence(TAKEN)
    assert owner.heard == [TAKEN.dumps()]


async def test_one_that_does_not_hear_is_told_the_latest_until_it_does() -> None:
    owner = Owner(deaf_for=3)
    async with TellBrowser(owner) as fence:
        for holding in (TAKEN, Holding(3)):
            with pytest.raises(Unavailable):
                await fence(holding)
        async with asyncio.timeout(30):
            await owner.told.wait()
        assert owner.heard == [Holding(3).dumps()]


async def test_what_the_agent_holds_down_is_released_once(desktop: Desktop, program: Program) -> None:
    async with InputTurns(desktop) as turns:
        async with turns.take(hold=True):
            await desktop.keyboard.press(0x61)
        fence = ReleaseKeys(turns)
        await fence(Holding(2, "human", "ann", frozenset({"shell"})))
        assert desktop.holds, "nobody took the screen"
        await fence(TAKEN)
        await fence(TAKEN)
        assert not desktop.holds
    until(lambda: program.kinds() == ["down", "up"])
