"""The pointer does what a hand would do with it."""

import pytest

from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.pointer import CLICK_PAUSE, DRAG_STEPS
from tests.drivers.x11.conftest import Program
from tests.patience import until

pytestmark = pytest.mark.anyio


def pressed(program: Program) -> list[tuple[object, ...]]:
    """The buttons' events, without the pointer's moves."""
    return [event for event in program.events if event[0] in ("press", "release")]


async def test_the_pointer_moves_to_the_given_point(desktop: Desktop) -> None:
    await desktop.pointer.move(120, 80)
    assert await desktop.pointer.position() == (120, 80)


@pytest.mark.parametrize(("button", "number"), [("left", 1), ("middle", 2), ("right", 3)])
async def test_a_click_presses_and_releases_a_button_where_it_is(desktop: Desktop, program: Program, button: str, number: int) -> None:
    await desktop.pointer.move(33, 44)
    await desktop.pointer.click(button, 2)  # type: ignore[arg-type] # parametrized
    until(lambda: len(pressed(program)) == 4)
    assert pressed(program) == [("press", number, 33, 44), ("release", number, 33, 44)] * 2


@pytest.mark.parametrize("times", [2, 3])
async def test_the_presses_of_several_clicks_differ_in_time(desktop: Desktop, program: Program, times: int) -> None:
    await desktop.pointer.move(40, 40)
    for _ in range(10):
        program.pressed_at.clear()
        await desktop.pointer.click("left", times)
        until(lambda: len(program.pressed_at) == times)
        gaps = [later - earlier for earlier, later in zip(program.pressed_at, program.pressed_at[1:], strict=False)]
        assert min(gaps) >= CLICK_PAUSE - 1


async def test_a_drag_moves_in_steps_with_the_button_down(desktop: Desktop, program: Program) -> None:
    await desktop.pointer.move(10, 10)
    await desktop.pointer.drag(130, 70)
    until(lambda: program.events[-1:] == [("release", 1, 130, 70)])
    began = program.events.index(("press", 1, 10, 10))
    assert [event[0] for event in program.events[began + 1 : -1]] == ["move"] * DRAG_STEPS
    assert not desktop.holds


async def test_a_drag_leaves_a_button_down_that_was_down_before(desktop: Desktop, program: Program) -> None:
    await desktop.pointer.press("left")
    await desktop.pointer.drag(50, 50)
    assert desktop.holds
    await desktop.release_all()
    until(lambda: program.events[-1:] == [("release", 1, 50, 50)])


@pytest.mark.parametrize(("dx", "dy", "button", "notches"), [(0, 100, 5, 2), (0, -1, 4, 1), (160, 0, 7, 4), (-53, 0, 6, 1)])
async def test_scrolling_turns_the_wheel(desktop: Desktop, program: Program, dx: int, dy: int, button: int, notches: int) -> None:
    await desktop.pointer.move(5, 5)
    await desktop.pointer.scroll(dx, dy)
    until(lambda: len(pressed(program)) == 2 * notches)
    assert {event[1] for event in pressed(program)} == {button}
