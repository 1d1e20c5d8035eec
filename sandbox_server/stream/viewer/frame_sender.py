"""The frames of one viewer: planned when it has room for them, encoded, and sent."""

import time
from contextlib import suppress

from sandbox_server.core.errors import Unavailable
from sandbox_server.drivers.x11.damage import Area
from sandbox_server.stream import wire
from sandbox_server.stream.capture.frame import CapturedFrame
from sandbox_server.stream.capture.x11 import ScreenCapture
from sandbox_server.stream.classify.video_regions import MAX_VIDEOS
from sandbox_server.stream.codecs.frame_encoder import FrameEncoder
from sandbox_server.stream.congestion.bitrate import BitrateController
from sandbox_server.stream.congestion.window import CongestionWindow
from sandbox_server.stream.plan.update_plan import UpdatePlan
from sandbox_server.stream.plan.update_planner import UpdatePlanner
from sandbox_server.stream.viewer.access import ViewerAccess
from sandbox_server.stream.viewer.handshake import Handshake
from sandbox_server.stream.viewer.socket import ViewerSocket


class FrameSender:
    """Sends frames as fast as the viewer acknowledges them, and nothing while it may not see the screen."""

    def __init__(
        self, socket: ViewerSocket, screen: ScreenCapture, encoder: FrameEncoder, access: ViewerAccess, handshake: Handshake
    ) -> None:
        self._socket = socket
        self._screen = screen
        self._encoder = encoder
        self._access = access
        self._handshake = handshake
        self._window = CongestionWindow()
        self._bitrate = BitrateController()
        self.planner = UpdatePlanner()
        """What the viewer has of the screen."""
        self.visible = True
        """Whether anybody sees the viewer's page."""
        self.decodes_video = False
        """Whether the viewer decodes H.264; one that does not may take a video by a track."""

    def drawn(self, areas: list[Area]) -> None:
        """Note damage, on the thread of the capture connection."""
        self.planner.drawn(areas)

    def acked(self, ack: wire.Ack) -> None:
        """Note that the viewer shows a frame."""
        now = time.monotonic()
        if self._window.acked(ack.frame, now, ack.milliseconds / 1000, ack.receiving / 1000):
            self.planner.acked(ack.frame)
            self._bitrate.learn(self._window, now)
            self._socket.pace(self._window)

    async def start_over(self) -> None:
        """Send everything anew: the viewer has nothing."""
        with suppress(Unavailable):
            await self._screen.look(lambda _: self.planner.restart())

    async def resume(self, planner: UpdatePlanner, frame: int) -> None:
        """Go on with what the viewer had in another connection, of which it has the frames up to this one."""

        def take_over(_: CapturedFrame) -> None:
            planner.resume(frame)
            self.planner = planner

        with suppress(Unavailable):
            await self._screen.look(take_over)

    @property
    def due_at(self) -> float | None:
        """When there is something to send although nothing is drawn; None if nothing may be sent."""
        return self.planner.due_at if self._may_send else None

    def has_news(self, now: float) -> bool:
        """Whether there may be something to send, and it may be sent."""
        due = self.planner.due_at
        return self._may_send and (self._screen.is_ahead or self.planner.is_behind or (due is not None and due <= now))

    @property
    def _may_send(self) -> bool:
        return self.visible and self._access.sees and self._screen.running and self._window.is_open

    async def send_next(self) -> None:
        """Send what is new, unless the screen is hidden by the time that it is planned. Raises Unavailable without a desktop."""
        self._choose_videos()
        room, pointer = self._window.room, self._screen.pointer
        closed = self._window.closed(time.monotonic())
        plan = await self._screen.look(lambda frame: self.planner.plan(frame, time.monotonic(), room, pointer, closed))
        if self._access.sees:
            await self._send(plan)
        else:
            await self.start_over()

    def _choose_videos(self) -> None:
        """Show a viewer that decodes no video one by a track, while there is one."""
        tracked = not self.decodes_video and self._socket.has_track
        self.planner.max_videos = MAX_VIDEOS if self.decodes_video else int(tracked)
        if tracked and self._socket.take_keyframe_request():
            self.planner.request_keyframes()

    async def _send(self, plan: UpdatePlan) -> None:
        if plan.size or not self._handshake.done:
            await self._handshake.announce_size(*(plan.size or self.planner.size))
        if not plan:
            return
        self.planner.sent(plan.frame)
        started, size = 0.0, 0
        async for message in self._encoder.encode(plan, self._bitrate.bits, tracked=not self.decodes_video):
            started = started or time.monotonic()
            size += len(message)
            await self._socket.send(message)
        self._window.sent(plan.frame, size, started, time.monotonic())
