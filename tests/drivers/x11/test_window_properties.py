"""Properties as a hostile program writes them, on a real X server."""

import pytest
from Xlib import X, Xatom
from Xlib import display as xlib

from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.window_properties import MAX_BYTES, MAX_NUMBERS, last_numbers, numbers, text
from sandbox_server.drivers.x11.windows import MAX_TITLE, _program
from tests.drivers.x11.conftest import XServer

pytestmark = pytest.mark.anyio

PIECE = 250_000


@pytest.fixture
def window(xserver: XServer):  # type: ignore[no-untyped-def] # Xlib has no types
    display = xlib.Display(xserver.name)
    yield display.screen().root.create_window(0, 0, 9, 9, 0, X.CopyFromParent)
    display.close()


def grow(window, name: int, kind: int, size: int) -> None:  # type: ignore[no-untyped-def]
    """Give a window a property of about so many bytes, by pieces as large as a request may be."""
    window.change_property(name, kind, 8, b"")
    for _ in range(size // PIECE + 1):
        window.change_property(name, kind, 8, b"\xff\xfe" * (PIECE // 2), mode=X.PropModeAppend)
    window.get_geometry()  # when it is answered, all before it was done


def test_of_a_large_property_a_part_is_read(window) -> None:  # type: ignore[no-untyped-def]
    grow(window, Xatom.WM_NAME, Xatom.STRING, 16 << 20)
    assert len(text(window, Xatom.WM_NAME)) == MAX_BYTES
    window.change_property(Xatom.WM_COMMAND, Xatom.CARDINAL, 32, list(range(60_000)))
    assert numbers(window, Xatom.WM_COMMAND) == list(range(MAX_NUMBERS))
    assert last_numbers(window, Xatom.WM_COMMAND, 3) == [59_997, 59_998, 59_999]


@pytest.mark.parametrize(("form", "value"), [(8, b"abc"), (16, [1, 2]), (32, [1, 2]), (8, b"")])
def test_what_is_of_another_form_is_nothing(window, form: int, value: object) -> None:  # type: ignore[no-untyped-def]
    window.change_property(Xatom.WM_COMMAND, Xatom.STRING, form, value)
    assert numbers(window, Xatom.WM_COMMAND) == ([1, 2] if form == 32 else [])
    assert last_numbers(window, Xatom.WM_COMMAND, 5) == ([1, 2] if form == 32 else [])
    assert text(window, Xatom.WM_COMMAND) == (value if form == 8 else b"")


async def test_a_window_with_the_worst_of_all_properties_is_described(desktop: Desktop, window) -> None:  # type: ignore[no-untyped-def]
    atom = window.display.get_atom
    grow(window, atom("_NET_WM_NAME"), atom("UTF8_STRING"), 16 << 20)
    grow(window, Xatom.WM_CLASS, Xatom.STRING, 1 << 20)
    for name in ("_NET_WM_STATE", "_NET_WM_WINDOW_TYPE"):
        window.change_property(atom(name), Xatom.ATOM, 32, [0xFFFFFFFF] * 60_000)
    window.change_property(atom("_NET_WM_PID"), Xatom.STRING, 8, b"pid")
    window.get_geometry()  # when it is answered, all before it was done

    found = await desktop.windows.read(window.id)

    assert len(found.title) == MAX_TITLE
    assert (found.program, found.pid, found.dialog, found.hidden) == ("", None, False, False)


def test_a_class_has_two_names_and_each_may_be_long(window) -> None:  # type: ignore[no-untyped-def]
    window.change_property(Xatom.WM_CLASS, Xatom.STRING, 8, b"a\0" + b"\xff" * 2000 + b"\0")
    assert _program(window) == "\xff" * MAX_TITLE
