"""Injected input reaches programs as it was made, and nothing stays pressed."""

from collections.abc import AsyncIterator

import pytest

from sandbox_server.drivers.x11.connection import X11Connection
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.stream.input.injector import MAX_NOTCHES, InputInjector
from sandbox_server.stream.wire import Clip, Copied, Fit, Key, PointerInput, TextInput, Wheel
from tests.drivers.x11.conftest import Program, XServer
from tests.patience import until

pytestmark = pytest.mark.anyio

SHIFT = 0xFFE1


@pytest.fixture
async def injector(desktop: Desktop, xserver: XServer, program: Program) -> AsyncIterator[InputInjector]:
    async with X11Connection(xserver.name) as connection:
        yield InputInjector(desktop, connection)


async def tap(injector: InputInjector, *keysyms: int) -> None:
    for keysym in keysyms:
        await injector.inject(Key(keysym, down=True))
        await injector.inject(Key(keysym, down=False))


async def test_keys_type_what_they_mean_with_and_without_shift(injector: InputInjector, program: Program) -> None:
    await tap(injector, *map(ord, "aB1!"))
    await injector.inject(Key(SHIFT, down=True))
    await tap(injector, *map(ord, "Cd?"))
    await injector.inject(Key(SHIFT, down=False))
    await tap(injector, 0x1000000 | ord("ł"), ord("ü"))
    until(lambda: len(program.text) == 9)
    assert program.text == "aB1!Cd?łü"


async def test_buttons_and_moves_arrive_where_they_are_made(injector: InputInjector, program: Program) -> None:
    for buttons in (0, 1, 5, 4, 0):
        await injector.inject(PointerInput(120, 80, buttons))
    until(lambda: len(program.kinds()) == 4)
    pressed = [event for event in program.events if event[0] != "move"]
    assert pressed == [("press", 1, 120, 80), ("press", 3, 120, 80), ("release", 1, 120, 80), ("release", 3, 120, 80)]


async def test_the_wheel_turns_by_notches_and_keeps_what_is_less(injector: InputInjector, program: Program) -> None:
    await injector.inject(PointerInput(100, 100, 0))
    for pixels in (60, 60, -120):
        await injector.inject(Wheel(0, pixels))
    until(lambda: len(program.kinds()) == 4)
    assert [event[1] for event in program.events if event[0] == "press"] == [5, 4]
    await injector.inject(Wheel(32767, 0))
    until(lambda: len(program.kinds()) == 4 + 2 * MAX_NOTCHES)


async def test_who_lets_go_releases_what_was_held_and_no_more(injector: InputInjector, program: Program) -> None:
    await injector.inject(Key(ord("a"), down=True))
    await injector.inject(PointerInput(50, 50, 1))
    await injector.release_all()
    await injector.release_all()
    until(lambda: len(program.kinds()) >= 4)
    assert sorted(program.kinds()) == ["down", "press", "release", "up"]


async def test_a_key_that_is_held_is_not_pressed_again_and_one_that_is_not_is_not_released(
    injector: InputInjector, program: Program
) -> None:
    await injector.inject(Key(ord("b"), down=False))
    await tap(injector, ord("x"))
    until(lambda: program.kinds() == ["down", "up"])


async def test_text_of_an_input_method_is_typed(injector: InputInjector, program: Program) -> None:
    await injector.inject(TextInput("日本"))
    until(lambda: program.text == "日本")


@pytest.mark.parametrize(("window", "size"), [((801, 603), (800, 602)), ((1, 1), (320, 240)), ((65535, 65535), (3840, 2160))])
async def test_the_screen_gets_the_size_of_a_window(
    injector: InputInjector, desktop: Desktop, window: tuple[int, int], size: tuple[int, int]
) -> None:
    await injector.inject(Fit(*window))
    assert await desktop.screen.size() == size


async def test_what_is_copied_is_on_the_clipboard(injector: InputInjector, desktop: Desktop) -> None:
    await injector.inject(Copied("from afar"))
    assert await desktop.clipboard.read() == "from afar"
    rich = {"text/plain": b"bold", "text/html": b"<b>bold</b>"}
    await injector.inject(Clip(rich))
    assert (await injector.read_clipboard(), await desktop.clipboard.read()) == (rich, "bold")
