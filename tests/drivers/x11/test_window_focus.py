"""A click focuses its window, and hits where it is made, however late the window manager is."""

import signal
import subprocess
import time
from collections.abc import Iterator

import pytest
from Xlib import X, Xatom
from Xlib import display as xlib

from sandbox_server.drivers.x11 import window_focus
from sandbox_server.drivers.x11.connection import X11Connection
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.stream.input.injector import InputInjector
from sandbox_server.stream.wire import PointerInput
from tests.drivers.x11.conftest import Program, XServer
from tests.patience import eventually, until

pytestmark = pytest.mark.anyio

PLACE = (200, 150)
SIZE = (300, 200)
IN_IT = (350, 250)
BESIDE_IT = (20, 20)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The window manager has the time that it takes on a busy machine."""
    monkeypatch.setattr(window_focus, "WAIT_SECONDS", 30.0)


@pytest.fixture
def display(xserver: XServer, desktop_manager: object) -> Iterator[xlib.Display]:
    opened = xlib.Display(xserver.name)
    yield opened
    opened.close()


@pytest.fixture
async def background(xserver: XServer, display: object, desktop: Desktop) -> Program:
    """A program whose window fills the screen."""
    program = Program(xserver.name)
    await eventually(desktop.windows.all, lambda found: [window.width for window in found] == [3840])
    program.start()
    return program


def shown(display: xlib.Display, *, managed: bool = True) -> int:
    """A small window in front, which the window manager leaves without the focus, or does not manage."""
    screen = display.screen()
    window = screen.root.create_window(*PLACE, *SIZE, 0, screen.root_depth, override_redirect=not managed)
    kind, dialog, set_by_user = (display.intern_atom(f"_NET_WM_{name}") for name in ("WINDOW_TYPE", "WINDOW_TYPE_UTILITY", "USER_TIME"))
    window.change_property(kind, Xatom.ATOM, 32, [dialog])
    window.change_property(set_by_user, Xatom.CARDINAL, 32, [0])
    window.set_wm_normal_hints(flags=1, x=PLACE[0], y=PLACE[1])
    window.map()
    display.sync()
    until(lambda: window.get_attributes().map_state == X.IsViewable)
    return int(window.id)


async def focused(desktop: Desktop) -> int:
    return next((window.xid for window in await desktop.windows.all() if window.focused), 0)


async def test_a_click_focuses_the_window_that_it_hits(desktop: Desktop, background: Program, display: xlib.Display) -> None:
    small = shown(display)
    for point, xid in ((BESIDE_IT, background.window.id), (IN_IT, small), (BESIDE_IT, background.window.id)):
        await desktop.pointer.move(*point)
        await desktop.pointer.click("left", 1)
        assert await focused(desktop) == xid, "before the click is answered"


async def test_a_press_of_a_viewer_focuses_the_window_that_it_hits(
    desktop: Desktop, background: Program, display: xlib.Display, xserver: XServer
) -> None:
    small = shown(display)
    async with X11Connection(xserver.name) as connection:
        injector = InputInjector(desktop, connection)
        for point, xid in ((BESIDE_IT, background.window.id), (IN_IT, small)):
            await injector.inject(PointerInput(*point, 1))
            await injector.inject(PointerInput(*point, 0))
            assert await focused(desktop) == xid


async def test_a_menu_and_the_wheel_leave_the_focus_where_it_is(desktop: Desktop, background: Program, display: xlib.Display) -> None:
    await desktop.windows.focus_at(*BESIDE_IT)
    shown(display, managed=False)
    await desktop.pointer.move(*IN_IT)
    await desktop.pointer.click("left", 1)
    assert await focused(desktop) == background.window.id
    small = shown(display)
    await desktop.windows.focus_at(*BESIDE_IT)
    await desktop.pointer.scroll(0, 100)
    assert await focused(desktop) == background.window.id != small


async def test_clicks_hit_where_they_are_made_while_the_window_manager_is_late(
    desktop: Desktop, background: Program, desktop_manager: subprocess.Popen[bytes]
) -> None:
    await desktop.windows.focus_at(*BESIDE_IT)
    desktop_manager.send_signal(signal.SIGSTOP)
    points = [(100 * number, 50 * number) for number in range(1, 9)]
    for point in points:
        await desktop.pointer.move(*point)
        await desktop.pointer.click("left", 2)
    desktop_manager.send_signal(signal.SIGCONT)
    until(lambda: len([event for event in background.events if event[0] == "release"]) == 2 * len(points))
    made = [(kind, 1, *point) for point in points for kind in ("press", "release") * 2]
    assert [event for event in background.events if event[0] in ("press", "release")] == made


async def test_a_window_manager_that_does_not_answer_holds_a_click_up_for_a_moment_only(
    desktop: Desktop, background: Program, display: xlib.Display, desktop_manager: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window_focus, "WAIT_SECONDS", 0.3)
    shown(display)
    await desktop.windows.focus_at(*BESIDE_IT)
    desktop_manager.send_signal(signal.SIGSTOP)
    before = time.monotonic()
    await desktop.pointer.move(*IN_IT)
    await desktop.pointer.click("left", 1)
    assert 0.3 <= time.monotonic() - before < 5
    desktop_manager.send_signal(signal.SIGCONT)
