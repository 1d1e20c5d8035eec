"""Events one at a time, as tests compare them."""

from sandbox_server.egress.flow_events import FlowEvent, FlowEventFollower


class HeardEvents:
    """What a follower hears."""

    def __init__(self, follower: FlowEventFollower) -> None:
        self._follower = follower
        self._heard: list[FlowEvent] = []

    async def get(self) -> FlowEvent:
        """The next event."""
        while not self._heard:
            self._heard = await self._follower.next()
            self._follower.delivered(self._follower.taken)
        return self._heard.pop(0)

    def empty(self) -> bool:
        """Whether nothing more has happened."""
        self._heard += self._follower.take()
        return not self._heard
