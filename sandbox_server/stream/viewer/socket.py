"""The connection of one viewer, as the parts of the viewer use it."""

from typing import Protocol

from sandbox_server.stream.congestion.window import CongestionWindow


class ViewerSocket(Protocol):
    """Carries messages to and from one viewer."""

    async def send(self, message: bytes) -> None:
        """Send a message, once there is room for it and nothing more urgent waits."""

    async def receive(self) -> bytes | None:
        """The viewer's next message; None when it has gone."""

    def pace(self, window: CongestionWindow) -> None:
        """Pace what is sent by what is known of the link."""

    def negotiate(self, text: str) -> None:
        """Take the viewer's signal about a data channel. Raises MalformedMessage."""

    @property
    def has_track(self) -> bool:
        """Whether a video may go by an RTP track now."""

    def take_keyframe_request(self) -> bool:
        """Whether the viewer has asked for a keyframe of the track since the last call."""

    def report_sound_loss(self, share: int) -> None:
        """Note that the viewer missed this share of the sound, in 255ths."""
