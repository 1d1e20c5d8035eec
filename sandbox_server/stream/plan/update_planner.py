"""The update planner of one viewer: what it has of the screen, and what to send it next.

It runs on the thread of the capture connection, where no frame changes while it is looked at.
"""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from sandbox_server.stream.capture.frame import CapturedFrame
from sandbox_server.stream.classify.shadow_buffer import FrameChanges, ShadowBuffer
from sandbox_server.stream.classify.video_regions import MAX_VIDEOS, VideoRegion, VideoRegionDetector
from sandbox_server.stream.codecs.conversion import crop
from sandbox_server.stream.codecs.exact import ExactPacker
from sandbox_server.stream.geometry import Area, align_to_grid, bounding_box, clip, intersects, split_rows
from sandbox_server.stream.native.library import TILE, Rect
from sandbox_server.stream.native.rect_array import RectArray
from sandbox_server.stream.plan.active_videos import ActiveVideos, NextPicture
from sandbox_server.stream.plan.pending_areas import MAX_AREAS, PendingAreas
from sandbox_server.stream.plan.send_priority import by_priority, outermost
from sandbox_server.stream.plan.update_plan import UpdatePlan

REFINE_SECONDS = 0.3
"""A lossy picture is sent exactly once it has been still for so long: a scroll or a fade has ended by then."""
REFINE_PIXELS = 256 * 256
"""Most that is sent exactly at once for that, so that what changes meanwhile does not wait for long."""
REST_SHARE = 2
"""A video region that rests is sent exactly with a pixel for so many bytes of the room that there is: more would fill a queue."""
MIN_LOSSY_PIXELS = 64 * 64
"""Fewer pixels than this that are like a photograph are sent exactly at once: it costs 10 kB."""
EXACT_RATIO, JPEG_RATIO = 4, 20
"""Compression ratios, about."""


@dataclass(slots=True)
class _Encodable:
    """What a plan has of still pixels so far."""

    exact: list[bytes] = field(default_factory=list)
    pictures: list[tuple[Area, bytearray]] = field(default_factory=list)

    @property
    def weight(self) -> int:
        """About how many bytes that is, compressed."""
        return sum(map(len, self.exact)) // EXACT_RATIO + sum(len(pixels) for _, pixels in self.pictures) // JPEG_RATIO


class UpdatePlanner:
    """Plans the updates of one viewer. `videos`: whether it decodes H.264."""

    def __init__(self, *, videos: bool = False) -> None:
        self.max_videos = MAX_VIDEOS if videos else 0
        """Video regions that the viewer shows at once."""
        self._shadow = ShadowBuffer(0, 0)
        self._packer = ExactPacker()
        self._detector = VideoRegionDetector(0, 0)
        self._videos = ActiveVideos()
        self._drawn = PendingAreas()
        self._deferred: dict[Area, int] = {}
        self._lossy = PendingAreas()
        self._lossy_since = 0.0
        self._frame = 0
        self._looked: list[Area] = []
        self._closed = 0.0
        self._unacknowledged: deque[tuple[int, list[Area]]] = deque()

    @property
    def size(self) -> tuple[int, int]:
        """The screen's size, as the viewer knows it."""
        return self._shadow.width, self._shadow.height

    def drawn(self, areas: list[Area]) -> None:
        """Note damage: the screen was drawn on there."""
        self._drawn.add(areas)

    def restart(self) -> None:
        """Note that the viewer has nothing."""
        self._shadow = ShadowBuffer(0, 0)

    def request_keyframes(self) -> None:
        """Encode the next picture of each video as a keyframe: the viewer cannot decode it otherwise."""
        self._videos.request_keyframes()

    def acked(self, frame: int) -> None:
        """Note that the viewer has this frame and all before it."""
        while self._unacknowledged and self._unacknowledged[0][0] <= frame:
            self._unacknowledged.popleft()

    def resume(self, frame: int) -> None:
        """Go on in another connection with a viewer that has the frames up to this one, and parts of later ones at most."""
        lost = [area for number, areas in self._unacknowledged if number > frame for area in areas]
        for area in [*lost, *(region.area for region in self._detector.regions)]:
            self._shadow.invalidate(align_to_grid(area, TILE, *self.size))
        if lost:
            self._shadow.drop_tile_cache()
        self._videos.clear()
        self._detector = VideoRegionDetector(*self.size)
        self._unacknowledged.clear()
        self._frame = 0
        self._deferred.clear()
        self._drawn.areas = [(0, 0, *self.size)]

    @property
    def is_behind(self) -> bool:
        """Whether the viewer may lack something of the latest frame."""
        return bool(self._drawn.areas or self._deferred) or not self._shadow.width

    @property
    def due_at(self) -> float | None:
        """When there is something to send although nothing is drawn: a refinement, or something for a video region."""
        refine = self._lossy_since + REFINE_SECONDS if self._lossy.areas else None
        due = refine, self._detector.due_at(self._closed), self._videos.due_at
        return min((one for one in due if one is not None), default=None)

    def plan(
        self, frame: CapturedFrame, now: float, room: int | None = None, pointer: tuple[int, int] = (0, 0), closed: float = 0.0
    ) -> UpdatePlan:
        """Plan what the viewer does not have, exactly or lossy; if that is nothing, refine what is lossy and due.

        With `room` the plan has about so many bytes, nearest to the pointer first, and the rest waits for the next one. For `closed`
        seconds in all nothing could be sent, so nothing was compared: motion and rest are judged without them.
        """
        self._looked, self._closed = [], closed
        planned = self._make_plan(frame, now, room, pointer)
        if not planned:
            return planned
        self._unacknowledged.append((self._frame + 1, self._looked))
        return replace(planned, frame=self._frame + 1)

    def sent(self, frame: int) -> None:
        """Note that the frame of this number is on its way. One that is planned and not sent needs a `restart`."""
        self._frame = frame

    def _make_plan(self, frame: CapturedFrame, now: float, room: int | None, pointer: tuple[int, int]) -> UpdatePlan:
        size = self._fit(frame)
        drawn = [area for drawn in self._drawn.take_all() if (area := clip(drawn, frame.width, frame.height))]
        dropped = self._drop_videos(now, drawn)
        touched = self._look_at_videos(frame, drawn, now)
        videos = tuple(self._videos.next(region.number, frame, now) for region, has_changed in touched.items() if has_changed)
        self._looked += [*drawn, *self._deferred]
        drawn = self._detector.outside(outermost(drawn))
        moved = [self._shadow.moves(frame, area) for area in drawn]
        self._note_moves([area for area, moves in zip(drawn, moved, strict=True) if moves], b"".join(moved), now)
        still = [area for area, moves in zip(drawn, moved, strict=True) if not moves]
        cached = [self._shadow.cached_tiles(frame, area, skip=self._detector.skip) for area in still]
        found = _Encodable([piece for region in touched for piece in self._exact_overlay(frame, region)])
        if room is None:
            for area in drawn:
                self._change(frame, area, now, found)
        else:
            self._change_within(room, frame, drawn, pointer, now, found)
        found.exact += self._rest(frame, now, None if room is None else room - found.weight)
        ended = dropped + self._end_videos(now)  # of which the viewer has all exactly
        videos += self._begin_videos(frame, now)
        superseded = self._videos.end_others({region.number for region in self._detector.regions})
        planned = UpdatePlan(
            size=size,
            moves=b"".join(moved),
            cached_tiles=tuple(one for one in cached if any(one)),
            exact=tuple(found.exact),
            pictures=tuple(found.pictures),
            videos=tuple(video for video in videos if self._videos.is_current(video)),
            overlays=self._videos.changed_overlays(),
            ended=ended + superseded,
        )
        return planned or (self._refine(frame) if self._lossy_since + REFINE_SECONDS <= now else planned)

    def _look_at_videos(self, frame: CapturedFrame, areas: list[Area], now: float) -> dict[VideoRegion, bool]:
        """The video regions where the screen was drawn on, and whether they show another picture."""
        drawn = self._detector.touched(areas)
        due = [
            region
            for region in self._detector.regions
            if (region in drawn or self._videos.waits(region.number)) and self._videos.is_due(region.number, now)
        ]
        touched = {region: self._videos.has_changed(region.number, frame) for region in due}
        for region, has_changed in touched.items():
            if has_changed:
                region.note_change(now, self._closed)
        return touched

    def _note_moves(self, moved: list[Area], moves: bytes, now: float) -> None:
        """Note a scroll: what the viewer has a lossy version of may be anywhere within these areas now, and is not still."""
        if moved:
            self._detector.note_scroll(moves, now)
        if moved and self._lossy.areas:
            self._lossy.add(moved)
            self._lossy_since = now

    def _exact_overlay(self, frame: CapturedFrame, region: VideoRegion) -> Iterator[bytes]:
        """What the viewer does not have exactly of a region's overlay."""
        overlays = self._videos.overlays(region.number)
        self._looked += overlays
        for area in overlays:
            yield from self._send(frame, self._shadow.changes(frame, area, lossless=True).all)

    def _change_within(
        self, room: int, frame: CapturedFrame, drawn: list[Area], pointer: tuple[int, int], now: float, found: _Encodable
    ) -> None:
        """Plan about `room` bytes of what was drawn now and of what was deferred earlier; defer the rest. All counts as activity."""
        for area in drawn:
            self._detector.note_changes(self._shadow.changes(frame, area, skip=self._detector.skip), now, self._closed)
        deferred, self._deferred = self._deferred, {}
        for area in by_priority(outermost([*drawn, *self._detector.outside([*deferred])]), pointer, deferred):
            if found.weight < room:
                self._plan_changes(frame, self._shadow.changes(frame, area, skip=self._detector.skip), now, found)
            else:
                self._deferred[area] = 1 + max((times for other, times in deferred.items() if intersects(area, other)), default=0)
        if len(self._deferred) > MAX_AREAS:
            self._deferred = {bounding_box([*self._deferred]): max(self._deferred.values())}

    def _change(self, frame: CapturedFrame, area: Area, now: float, found: _Encodable) -> None:
        changes = self._shadow.changes(frame, area, skip=self._detector.skip)
        self._detector.note_changes(changes, now, self._closed)
        self._plan_changes(frame, changes, now, found)

    def _plan_changes(self, frame: CapturedFrame, changes: FrameChanges, now: float, found: _Encodable) -> None:
        if changes.pictures.pixels < MIN_LOSSY_PIXELS:
            found.exact += self._send(frame, changes.all)
        else:
            found.exact += self._send(frame, changes.exact)
            found.pictures += self._approximate(frame, changes.pictures, now)

    def _begin_videos(self, frame: CapturedFrame, now: float) -> tuple[NextPicture, ...]:
        begun = self._detector.begin(now, self.max_videos, self._closed) if self.max_videos else []
        return tuple(self._videos.begin(region.number, region.area, frame, now) for region in begun)

    def _drop_videos(self, now: float, areas: list[Area]) -> tuple[int, ...]:
        """End all videos where the viewer shows none any more. What is under them joins the areas, and is refined."""
        if self.max_videos or not self._detector.regions:
            return ()
        areas += (dropped := [region.area for region in self._detector.regions])
        self._lossy.add(dropped)
        self._lossy_since = now
        ended = self._end_videos(math.inf)
        self._drawn.take_all()  # it is looked at now
        return ended

    def _rest(self, frame: CapturedFrame, now: float, room: int | None) -> list[bytes]:
        """Send part of the video regions that rest exactly, under the video: it is seen once they end, and costs nothing if they go on."""
        exact: list[bytes] = []
        for region in self._detector.resting(now, self._closed):
            exact += self._exactly(frame, region.left, REFINE_PIXELS if room is None else min(REFINE_PIXELS, room // REST_SHARE))
        return exact

    def _end_videos(self, now: float) -> tuple[int, ...]:
        ended = self._detector.end(now)
        for region in ended:
            self._videos.end(region.number)
            self._drawn.add([region.area])  # what was drawn there since, and waited for the video's next picture
        return tuple(region.number for region in ended)

    def _refine(self, frame: CapturedFrame) -> UpdatePlan:
        """Send part of what the viewer has a lossy version of exactly."""
        return UpdatePlan(exact=tuple(self._exactly(frame, self._lossy.areas, REFINE_PIXELS, skip=self._detector.skip)))

    def _exactly(self, frame: CapturedFrame, areas: list[Area], pixels: int, *, skip: Any = None) -> list[bytes]:
        """Take about `pixels` pixels off the areas, and send them exactly."""
        exact: list[bytes] = []
        while areas and pixels > 0:
            now, later = split_rows(areas.pop(), pixels)
            if later:
                areas.append(later)
            self._looked.append(now)
            exact += self._send(frame, self._shadow.changes(frame, now, lossless=True, skip=skip).all)
            pixels -= now[2] * now[3]
        return exact

    def _fit(self, frame: CapturedFrame) -> tuple[int, int] | None:
        if self.size == (frame.width, frame.height):
            return None
        self._shadow = ShadowBuffer(frame.width, frame.height)
        self._detector = VideoRegionDetector(frame.width, frame.height)
        self._videos.clear()
        self._lossy.take_all()
        self._deferred.clear()
        self._drawn.areas = [(0, 0, frame.width, frame.height)]
        return frame.width, frame.height

    def _send(self, frame: CapturedFrame, rects: RectArray) -> Iterator[bytes]:
        if rects:
            yield from self._packer.pack(frame, rects)
            self._shadow.mark_sent(frame, rects)

    def _approximate(self, frame: CapturedFrame, rects: RectArray, now: float) -> Iterator[tuple[Area, bytearray]]:
        self._shadow.mark_sent(frame, rects, lossy=True)
        self._lossy_since = now
        self._lossy.add([_area(rect) for rect in rects])
        for rect in rects:
            yield _area(rect), crop(frame, rect)


def _area(rect: Rect) -> Area:
    return rect.x, rect.y, rect.width, rect.height
