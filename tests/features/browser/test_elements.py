"""Windows by name, and a click on one."""

from functools import partial

import pytest

from sandbox_server.core import Conflict
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.turns import Turns
from sandbox_server.features.browser.elements import ClickRequest, Elements, ScreenElements
from tests.conftest import until
from tests.drivers.x11.conftest import Program, XServer, eventually

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("window_manager")]


def was_released(program: Program, x: int, y: int) -> bool:
    return program.events[-1:] == [("release", 3, x, y)]


def refs(found: Elements) -> dict[str, str]:
    return {window.program: window.ref for window in found.windows}


async def test_windows_are_listed_with_the_pointer_and_the_focus(desktop: Desktop, xserver: XServer) -> None:
    elements = ScreenElements(desktop, Turns(desktop))
    first, second = Program(xserver.name, kind="First"), Program(xserver.name, kind="Second")
    await desktop.pointer.move(11, 12)
    found = await eventually(elements.read_elements, lambda found: len(found.windows) == 2 and found.focus)
    assert (found.width, found.height, found.pointer.x, found.pointer.y) == (3840, 2160, 11, 12)
    assert found.focus in refs(found).values()
    assert refs(await elements.read_elements()) == refs(found)
    for program in (first, second):
        program.close()


async def test_a_window_that_is_covered_comes_to_the_front_and_is_clicked(desktop: Desktop, xserver: XServer) -> None:
    elements = ScreenElements(desktop, Turns(desktop))
    programs = {kind: Program(xserver.name, kind=kind) for kind in ("First", "Second")}
    for program in programs.values():
        program.start()
    found = await eventually(elements.read_elements, lambda found: len(found.windows) == 2)
    for kind in ("First", "Second", "First"):
        done = await elements.click_element(ClickRequest(ref=refs(found)[kind], button="right"))
        assert (done.ref, done.by) == (refs(found)[kind], "pointer")
        until(partial(was_released, programs[kind], done.x, done.y))
    for program in programs.values():
        program.close()


async def test_a_window_that_was_closed_is_a_conflict(desktop: Desktop, program: Program) -> None:
    elements = ScreenElements(desktop, Turns(desktop))
    found = await eventually(elements.read_elements, lambda found: found.windows)
    program.close()
    await eventually(elements.read_elements, lambda found: not found.windows)
    with pytest.raises(Conflict, match="is gone"):
        await elements.click_element(ClickRequest(ref=found.windows[0].ref))
