"""The DAMAGE extension: the X server reports which areas of the screen were drawn on.

Regions use requests of XFIXES (X11R7 `xfixes.xml`, version 2) that Xlib's Python binding lacks.
"""

from typing import Any

from Xlib.ext import damage as extension
from Xlib.protocol import rq, structs

from sandbox_server.drivers.x11.connection import Display

MAX_RECTS = 32
"""Limit of areas. More are merged into their bounding box."""
_XFIXES = "XFIXES"

type Area = tuple[int, int, int, int]
"""x, y, width and height in pixels."""


class _CreateRegion(rq.Request):
    _request = rq.Struct(rq.Card8("opcode"), rq.Opcode(5), rq.RequestLength(), rq.Card32("region"))


class _FetchRegion(rq.ReplyRequest):
    _request = rq.Struct(rq.Card8("opcode"), rq.Opcode(19), rq.RequestLength(), rq.Card32("region"))
    _reply = rq.Struct(
        rq.ReplyCode(),
        rq.Pad(1),
        rq.Card16("sequence_number"),
        rq.ReplyLength(),
        rq.Object("extents", structs.Rectangle),
        rq.Pad(16),
        rq.List("rectangles", structs.Rectangle),
    )


class Damage:
    """The damage of the screen of `display` from now on.

    One event says that there is some. The next event comes after `fetch`.
    """

    def __init__(self, display: Display) -> None:
        self._display = display
        display.damage_query_version()
        display.xfixes_query_version()
        self._opcode = display.display.get_extension_major(_XFIXES)
        self._region = display.display.allocate_resource_id()
        _CreateRegion(display=display.display, opcode=self._opcode, region=self._region)
        self._damage = display.screen().root.damage_create(extension.DamageReportNonEmpty)

    def is_in(self, event: Any) -> bool:
        """Whether an event belongs to this damage."""
        return bool(event.type == self._display.extension_event.DamageNotify)

    def fetch(self) -> list[Area]:
        """Return the areas drawn on since the last call, at most MAX_RECTS."""
        self._display.damage_subtract(self._damage, parts=self._region)
        reply = _FetchRegion(display=self._display.display, opcode=self._opcode, region=self._region)
        found = reply.rectangles if len(reply.rectangles) <= MAX_RECTS else [reply.extents]
        return [(rect.x, rect.y, rect.width, rect.height) for rect in found]

    def close(self) -> None:
        """Stop the events."""
        self._display.damage_destroy(self._damage)
