"""Windows by name, and a click on one."""

from functools import partial

import pytest

from sandbox_server.core import Conflict, Reply
from sandbox_server.drivers.browser.screen_elements import Point, PointerAction, Shown
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.input_turns import InputTurns
from sandbox_server.features.browser.screen_elements import ElementClickRequest, ElementList, ScreenElements
from tests.drivers.x11.conftest import Program, XServer
from tests.patience import eventually, until

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("window_manager")]


ABOUT = {"tag": "button", "role": None, "type": "submit", "name": "Send", "value": None, "disabled": False, "in_viewport": True}


class FakePage:
    """A page with one button, which may be covered, or with a reason why there is none."""

    def __init__(self, failure: Conflict | None = None, *, covered: bool = False) -> None:
        self.failure = failure
        self.covered = covered

    async def list(self) -> list[Shown]:
        if self.failure:
            raise self.failure
        return [Shown("e0000000a.0", ABOUT, 30, 40, 20, 10)]

    async def click(self, ref: str, *, button: str, times: int, point: PointerAction, press: PointerAction) -> Point | None:
        await point((40, 45))
        if self.covered:
            return None
        await press((40, 45))
        return 40, 45


def was_released(program: Program, x: int, y: int) -> bool:
    return program.events[-1:] == [("release", 3, x, y)]


def refs(found: Reply[ElementList]) -> dict[str, str]:
    return {window.program: window.ref for window in found.data.windows}


async def test_windows_are_listed_with_the_pointer_and_the_focus(desktop: Desktop, xserver: XServer) -> None:
    elements = ScreenElements(desktop, InputTurns(desktop), FakePage())  # type: ignore[arg-type] # it has what is used
    first, second = Program(xserver.name, kind="First"), Program(xserver.name, kind="Second")
    await desktop.pointer.move(11, 12)
    found = await eventually(elements.read_elements, lambda found: len(found.data.windows) == 2 and found.data.focus)
    assert (found.data.width, found.data.height, found.data.pointer.x, found.data.pointer.y) == (3840, 2160, 11, 12)
    assert found.data.focus in refs(found).values()
    assert refs(await elements.read_elements()) == refs(found)
    for program in (first, second):
        program.close()


async def test_a_window_that_is_covered_comes_to_the_front_and_is_clicked(desktop: Desktop, xserver: XServer) -> None:
    elements = ScreenElements(desktop, InputTurns(desktop), FakePage())  # type: ignore[arg-type] # it has what is used
    programs = {kind: Program(xserver.name, kind=kind) for kind in ("First", "Second")}
    for program in programs.values():
        program.start()
    found = await eventually(elements.read_elements, lambda found: len(found.data.windows) == 2)
    for kind in ("First", "Second", "First"):
        done = await elements.click_element(ElementClickRequest(ref=refs(found)[kind], button="right"))
        assert (done.ref, done.by) == (refs(found)[kind], "pointer")
        until(partial(was_released, programs[kind], done.x, done.y))
    for program in programs.values():
        program.close()


async def test_a_window_that_was_closed_is_a_conflict(desktop: Desktop, program: Program) -> None:
    elements = ScreenElements(desktop, InputTurns(desktop), FakePage())  # type: ignore[arg-type] # it has what is used
    found = await eventually(elements.read_elements, lambda found: found.data.windows)
    program.close()
    await eventually(elements.read_elements, lambda found: not found.data.windows)
    with pytest.raises(Conflict, match="is gone"):
        await elements.click_element(ElementClickRequest(ref=found.data.windows[0].ref))


async def test_the_elements_of_a_browser_are_listed_with_its_window(desktop: Desktop, xserver: XServer) -> None:
    browser = Program(xserver.name, kind="Chromium-browser")
    elements = ScreenElements(desktop, InputTurns(desktop), FakePage())  # type: ignore[arg-type] # it has what is used
    found = await eventually(elements.read_elements, lambda found: found.data.elements)
    [button] = found.data.elements
    assert (button.ref, button.name, button.window) == ("e0000000a.0", "Send", refs(found)["Chromium-browser"])
    assert (button.x, button.y, button.width, button.height) == (30, 40, 20, 10)
    browser.close()


async def test_a_page_that_tells_nothing_leaves_the_windows_and_a_hint(desktop: Desktop, xserver: XServer) -> None:
    browser = Program(xserver.name, kind="Chromium-browser")
    elements = ScreenElements(desktop, InputTurns(desktop), FakePage(Conflict("it hangs")))  # type: ignore[arg-type] # it has what is used
    found = await eventually(elements.read_elements, lambda found: found.data.windows)
    assert (found.data.elements, found.hint) == ([], "The page's elements are not listed: it hangs")
    browser.close()


async def test_an_element_is_clicked_by_the_pointer_once_its_window_is_in_front(desktop: Desktop, xserver: XServer) -> None:
    programs = [Program(xserver.name, kind=kind) for kind in ("Chromium-browser", "Other")]
    for program in programs:
        program.start()
    elements = ScreenElements(desktop, InputTurns(desktop), FakePage())  # type: ignore[arg-type] # it has what is used
    await eventually(elements.read_elements, lambda found: len(found.data.windows) == 2)
    await eventually(desktop.windows.all, lambda found: found[0].program == "Other")  # the window manager raises what it lists
    done = await elements.click_element(ElementClickRequest(ref="e0000000a.0"))
    assert (done.by, done.x, done.y) == ("pointer", 40, 45)
    assert (await desktop.windows.all())[0].program == "Chromium-browser"
    for program in programs:
        program.close()


async def test_an_element_that_is_covered_is_clicked_by_the_browser(desktop: Desktop) -> None:
    elements = ScreenElements(desktop, InputTurns(desktop), FakePage(covered=True))  # type: ignore[arg-type] # it has what is used
    done = await elements.click_element(ElementClickRequest(ref="e0000000a.0"))
    assert (done.by, done.x, done.y) == ("cdp", None, None)
