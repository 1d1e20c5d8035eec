"""One turn at a time, and nothing stays pressed after it."""

import asyncio

import pytest

from sandbox_server.drivers.x11 import input_turns as driver
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.input_turns import InputTurns
from sandbox_server.drivers.x11.keysyms import of_key
from tests.drivers.x11.conftest import Program
from tests.patience import eventually, until

pytestmark = pytest.mark.anyio

CONTROL = of_key("ctrl") or 0


async def test_turns_do_not_overlap(desktop: Desktop) -> None:
    turns, order = InputTurns(desktop), list[str]()

    async def act(name: str) -> None:
        async with turns.take(hold=False):
            order.append(f"{name} begins")
            await asyncio.sleep(0)
            order.append(f"{name} ends")

    await asyncio.gather(act("one"), act("two"))
    assert order == ["one begins", "one ends", "two begins", "two ends"]


async def test_what_a_turn_leaves_pressed_is_released_at_its_end(desktop: Desktop, program: Program) -> None:
    async with InputTurns(desktop).take(hold=False):
        await desktop.keyboard.press(CONTROL)
    until(lambda: program.kinds() == ["down", "up"])


async def test_what_a_turn_may_hold_is_released_when_nobody_does(
    desktop: Desktop, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "HOLD_SECONDS", 0.05)
    async with InputTurns(desktop) as turns:
        async with turns.take(hold=True):
            await desktop.keyboard.press(CONTROL)
        await eventually(lambda: not desktop.holds)
    until(lambda: program.kinds() == ["down", "up"])


async def test_a_later_turn_still_has_what_the_last_one_held(desktop: Desktop) -> None:
    async with InputTurns(desktop) as turns:
        async with turns.take(hold=True):
            await desktop.keyboard.press(CONTROL)
        async with turns.take(hold=False):
            assert desktop.holds
        assert not desktop.holds


async def test_a_turn_that_is_interrupted_leaves_nothing_to_be_released_later(
    desktop: Desktop, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    released: list[None] = []
    release_all = desktop.release_all

    async def counted() -> None:
        released.append(None)
        await release_all()

    monkeypatch.setattr(desktop, "release_all", counted)
    async with InputTurns(desktop) as turns:
        async with turns.take(hold=True):
            await desktop.keyboard.press(CONTROL)
        await turns.interrupt()
        await turns.interrupt()
        assert not desktop.holds
    assert len(released) == 1
    until(lambda: program.kinds() == ["down", "up"])
