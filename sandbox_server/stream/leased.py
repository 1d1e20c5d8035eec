"""A viewer's hands as far as they may act: while it has control."""

from sandbox_server.drivers.hand import Hand
from sandbox_server.stream.hands import Hands, Input
from sandbox_server.stream.wire import Key, Point, Text, Wheel


class LeasedHands:
    """Passes on what counts; what only passes by takes no control."""

    def __init__(self, hands: Hands, hand: Hand) -> None:
        self._hands = hands
        self._hand = hand

    async def do(self, what: Input) -> None:
        """Do what the viewer did, if it counts. Raises Unavailable while there is no desktop."""
        counts = await self._hand.act() if self._hand.drives or means_to_act(what) else False
        if counts:
            await self._hands.do(what)

    async def let_go(self) -> None:
        """Release everything that this viewer holds."""
        await self._hands.let_go()


def means_to_act(what: Input) -> bool:
    """Whether a key, a button or the wheel goes down, or text is typed, rather than a pointer passing by or something let go."""
    match what:
        case Point(buttons=buttons):
            return buttons != 0
        case Key(down=down):
            return bool(down)
        case Wheel() | Text():
            return True
        case _:
            return False
