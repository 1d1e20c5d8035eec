"""The active video streams of one viewer: an encoder, an overlay and a quality step for each video region."""

from dataclasses import dataclass

from sandbox_server.stream.capture.frame import CapturedFrame
from sandbox_server.stream.classify.overlay import OverlayDetector
from sandbox_server.stream.codecs.h264 import H264Encoder
from sandbox_server.stream.congestion.quality_ladder import QualityLadder
from sandbox_server.stream.geometry import Area

FIRST_RATE = 8_000_000
"""Bits a second of a video before it is known what the link takes."""
OVERLAY_BUDGET = 2 * 256 * 256
"""Pixels by which an overlay may grow with each picture: all of them are sent exactly."""

type NextPicture = tuple[int, H264Encoder]
"""The number of a video region, and its encoder, which has captured the next picture."""


@dataclass(slots=True)
class _ActiveVideo:
    encoder: H264Encoder
    overlay: OverlayDetector
    ladder: QualityLadder
    due: float = 0.0
    """When its next picture may be captured."""
    waits: bool = False
    """Whether the screen was drawn on there before that."""


class ActiveVideos:
    """Video streams by the number of their region."""

    def __init__(self) -> None:
        self._videos: dict[int, _ActiveVideo] = {}
        self._sent_overlays: dict[int, list[Area]] = {}

    def begin(self, number: int, area: Area, frame: CapturedFrame, now: float) -> NextPicture:
        """Begin a video. Where that number is taken it begins anew, on the same quality step."""
        before = self._videos.get(number)
        ladder, rate = (before.ladder, before.encoder.rate) if before else (QualityLadder(), FIRST_RATE)
        self._videos[number] = _ActiveVideo(H264Encoder(area, rate, ladder.step.scale), OverlayDetector(area), ladder)
        self.has_changed(number, frame)
        return self.next(number, frame, now)

    def is_due(self, number: int, now: float) -> bool:
        """Whether the next picture may be captured now. If not, the video waits until it may."""
        video = self._videos[number]
        video.waits = now < video.due
        return not video.waits

    def waits(self, number: int) -> bool:
        """Whether the next picture of a video waits until it is due."""
        return self._videos[number].waits

    @property
    def due_at(self) -> float | None:
        """When the next waiting picture is due."""
        return min((video.due for video in self._videos.values() if video.waits), default=None)

    def has_changed(self, number: int, frame: CapturedFrame) -> bool:
        """Compare with the frame: whether the video shows another picture, apart from its overlay."""
        return self._videos[number].overlay.update(frame, OVERLAY_BUDGET)

    def overlays(self, number: int) -> list[Area]:
        """The overlay rects of a video, as of the latest `has_changed`."""
        return self._videos[number].overlay.overlays

    def next(self, number: int, frame: CapturedFrame, now: float) -> NextPicture:
        """Capture the next picture of a video."""
        video = self._videos[number]
        if video.encoder.quantiser is not None:
            video.ladder.learn(video.encoder.quantiser, video.encoder.share, now)
        step = video.ladder.step
        if step.scale != video.encoder.scale:
            video.encoder = H264Encoder(video.encoder.area, video.encoder.rate, step.scale)
        video.due = (video.due if now - video.due < step.seconds else now) + step.seconds
        video.encoder.capture(frame)
        return number, video.encoder

    def request_keyframes(self) -> None:
        """Encode the next picture of each video as a keyframe."""
        for video in self._videos.values():
            video.encoder.request_keyframe()

    def is_current(self, picture: NextPicture) -> bool:
        """Whether the picture belongs to an active video, and not to one that has begun anew since."""
        video = self._videos.get(picture[0])
        return video is not None and video.encoder is picture[1]

    def changed_overlays(self) -> tuple[tuple[int, tuple[Area, ...]], ...]:
        """The videos whose overlay differs from the last call's, with their overlay rects."""
        current = {number: video.overlay.overlays for number, video in self._videos.items()}
        found = tuple((number, tuple(areas)) for number, areas in current.items() if areas != self._sent_overlays.get(number, []))
        self._sent_overlays = current
        return found

    def end(self, number: int) -> None:
        """End a video."""
        del self._videos[number]

    def end_others(self, numbers: set[int]) -> tuple[int, ...]:
        """End the videos that have other numbers, and return which they were."""
        gone = tuple(self._videos.keys() - numbers)
        for number in gone:
            self.end(number)
        return gone

    def clear(self) -> None:
        """Forget all videos: the viewer shows none."""
        self._videos.clear()
        self._sent_overlays.clear()
