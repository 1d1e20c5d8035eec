"""What is typed is what a program gets."""

import string
from functools import partial

import pytest
from Xlib import X
from Xlib import display as xlib
from Xlib.ext import xtest

from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.keysyms import of_key
from tests.drivers.x11.conftest import Program, XServer
from tests.patience import until

pytestmark = pytest.mark.anyio


def keysym(name: str) -> int:
    found = of_key(name)
    assert found
    return found


def ends(program: Program, text: str) -> bool:
    return program.text.endswith(text)


@pytest.mark.parametrize(
    "text",
    [
        string.ascii_letters + string.digits + string.punctuation,
        "café Ünï ß",
        "世界 こんにちは 안녕",
        "🙂🚀",
        "שלום مرحبا",
        "two\nlines\tand a tab",
    ],
)
async def test_what_is_typed_is_what_appears(desktop: Desktop, program: Program, text: str) -> None:
    await desktop.keyboard.type(text)
    until(lambda: program.text == text)


async def test_more_characters_than_there_are_spare_keys_are_typed(desktop: Desktop, program: Program) -> None:
    text = "".join(chr(code) for code in range(0x4E00, 0x4E00 + 60))
    await desktop.keyboard.type(text)
    until(lambda: program.text == text)


async def test_spare_keys_are_found_again_by_the_next_server(xserver: XServer, program: Program) -> None:
    for text in ("甲乙丙丁戊己庚辛壬癸", "子丑寅卯辰巳午未申酉", "一二三四五六七八九十"):
        async with Desktop(xserver.name) as desktop:
            await desktop.keyboard.type(text)
            until(partial(ends, program, text))


async def test_a_hotkey_is_pressed_in_order_and_released_in_reverse(desktop: Desktop, program: Program) -> None:
    await desktop.keyboard.tap([keysym("ctrl"), keysym("a")])
    until(lambda: len(program.events) == 4)
    control, a = keysym("ctrl"), ord("a")
    assert [event[:2] for event in program.events] == [("down", control), ("down", a), ("up", a), ("up", control)]


async def test_a_held_key_stays_down_until_it_is_released(desktop: Desktop, program: Program) -> None:
    await desktop.keyboard.press(keysym("shift"))
    await desktop.keyboard.tap([ord("a")])
    until(lambda: program.text == "A")
    assert desktop.holds
    await desktop.keyboard.release_all()
    await desktop.keyboard.tap([ord("a")])
    until(lambda: program.text == "Aa")
    assert not desktop.holds


async def test_caps_lock_does_not_change_what_is_typed(desktop: Desktop, program: Program) -> None:
    await desktop.keyboard.tap([keysym("capslock")])
    await desktop.keyboard.type("Abc")
    until(lambda: program.text == "Abc")
    states = [event[2] for event in program.events if event[0] == "down" and event[1] in (ord("A"), ord("b"))]
    assert len(states) == 2


async def test_what_a_dead_server_held_down_is_released_by_the_next(xserver: XServer, program: Program) -> None:
    dead = xlib.Display(xserver.name)
    xtest.fake_input(dead, X.MotionNotify, x=20, y=20)
    xtest.fake_input(dead, X.KeyPress, dead.keysym_to_keycode(keysym("shift")))
    xtest.fake_input(dead, X.ButtonPress, 1)
    dead.sync()
    dead.close()
    until(lambda: program.kinds() == ["down", "press"])
    async with Desktop(xserver.name) as desktop:
        await desktop.pointer.position()
        until(lambda: program.kinds() == ["down", "press", "release", "up"])


async def test_what_others_make_of_spare_keys_is_known_before_the_next_text(desktop: Desktop, program: Program, xserver: XServer) -> None:
    other = xlib.Display(xserver.name)
    await desktop.keyboard.type("\u4e16")
    until(lambda: program.text == "\u4e16")
    rows = other.get_keyboard_mapping(9, 240)
    [code] = [code for code, row in enumerate(rows, 9) if 0x1004E16 in row]
    other.change_keyboard_mapping(code, [[0x1005B57] * 2])
    other.sync()
    await desktop.keyboard.type("\u4e16\u5b57")
    until(lambda: program.text == "\u4e16\u4e16\u5b57")
    other.close()
