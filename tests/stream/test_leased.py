"""What of a viewer's input goes on to the desktop."""

import pytest

from sandbox_server.stream.leased import LeasedHands, means_to_act
from sandbox_server.stream.wire import Copied, Key, Point, Text, Wheel

pytestmark = pytest.mark.anyio

PASSING, PRESSED = Point(1, 2, 0), Point(1, 2, 1)


class Desk:
    """What was done, and a lease that the first act takes where it is free."""

    def __init__(self, *, drives: bool, free: bool) -> None:
        self.done: list[object] = []
        self.drives = drives
        self.free = free
        self.asked = 0

    async def do(self, what: object) -> None:
        self.done.append(what)

    async def let_go(self) -> None:
        self.done.append("let go")

    async def act(self) -> bool:
        self.asked += 1
        self.drives = self.drives or self.free
        return self.drives


def leased(desk: Desk) -> LeasedHands:
    return LeasedHands(desk, desk)  # type: ignore[arg-type] # it is both


@pytest.mark.parametrize(
    ("what", "acts"),
    [
        (PASSING, False),
        (PRESSED, True),
        (Key(0x61, True), True),
        (Key(0x61, False), False),
        (Wheel(0, 1), True),
        (Text("x"), True),
        (Copied("x"), False),
    ],
)
def test_what_goes_down_or_is_typed_means_to_act(what: object, acts: bool) -> None:
    assert means_to_act(what) == acts  # type: ignore[arg-type] # one of them


async def test_what_passes_by_takes_nothing_and_the_first_press_does() -> None:
    desk = Desk(drives=False, free=True)
    hands = leased(desk)
    await hands.do(PASSING)
    await hands.do(Copied("x"))
    assert (desk.done, desk.asked) == ([], 0)
    await hands.do(PRESSED)
    await hands.do(PASSING)
    assert desk.done == [PRESSED, PASSING]


async def test_without_control_nothing_goes_on() -> None:
    desk = Desk(drives=False, free=False)
    await leased(desk).do(PRESSED)
    assert desk.done == []
    await leased(desk).let_go()
    assert desk.done == ["let go"]
