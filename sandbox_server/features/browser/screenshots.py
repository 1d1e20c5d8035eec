"""Screenshots of the screen, for programs in the contract's form and for agents with a description."""

import base64
import json
from typing import Annotated, Literal

from pydantic import Field

from sandbox_server.core import ABOUT, Blob, Call, Model, Reply, operation
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.core.entity_tags import is_not_modified
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.screen import ScreenRegion, Shot
from sandbox_server.drivers.x11.screenshot import Format
from sandbox_server.drivers.x11.windows import X11Window

MEDIA_TYPES = ("image/png", "image/jpeg", "image/webp")
WATCH_QUALITY = 75
_FORMATS: dict[str, Format] = {"png": "png", "jpg": "jpeg", "jpeg": "jpeg", "webp": "webp"}


class PictureRequest(Model):
    quality: Annotated[int, Field(ge=0, le=100)] | None = None
    """Of JPEG and WebP; null is 80."""
    x: Annotated[int, Field(ge=0)] = 0
    """Left edge of the region, in pixels."""
    y: Annotated[int, Field(ge=0)] = 0
    """Top edge of the region, in pixels."""
    width: Annotated[int, Field(gt=0)] | None = None
    """Width of the region; null is up to the right edge of the screen."""
    height: Annotated[int, Field(gt=0)] | None = None
    """Height of the region; null is down to the bottom of the screen."""
    scale: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Scale of the image."""
    cursor: bool = True
    """Whether the pointer is included."""


class ScreenshotRequest(PictureRequest):
    format: Literal["png", "jpg", "jpeg", "webp"] = "png"


class LookRequest(PictureRequest):
    format: Literal["png", "jpg", "jpeg", "webp"] = "jpeg"


class WatchRequest(Model):
    quality: Annotated[int, Field(ge=0, le=100)] = WATCH_QUALITY
    """Of the JPEG."""
    scale: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Scale of the image."""


class Picture(Model):
    """An image within JSON."""

    media_type: str
    data: str
    """The image in Base64."""
    width: int
    """In pixels."""
    height: int
    """In pixels."""


class Pictures:
    """Takes screenshots of the desktop."""

    tag = "browser"

    def __init__(self, desktop: Desktop) -> None:
        self._desktop = desktop

    @operation("GET /v1/browser/screenshot", scope="browser", operation_id="screenshot", media_type=MEDIA_TYPES)
    async def screenshot(self, request: ScreenshotRequest) -> Blob:
        """Take a screenshot.

        The headers `x-screen-width`, `x-screen-height`, `x-image-width` and `x-image-height` have the sizes of screen
        and image.
        """
        return _blob(await take(self._desktop, request), request.format)

    @operation("GET /v1/screen/picture", scope="view", operation_id="watch_picture", shows=True, media_type="image/jpeg")
    async def watch(self, request: WatchRequest, call: Call) -> Blob | Reply[None]:
        """Take a picture of the screen, for who watches where WebSockets are blocked, and for thumbnails.

        It needs no more than the live view does, and is a JPEG of the whole screen with the pointer. People's calls are
        not recorded, as the live view's pictures are not. With `If-None-Match`, 304 if nothing was drawn and the pointer
        did not move since the picture with that `ETag`: nothing is captured then.
        """
        tag = await self._desktop.screen.version(f"{request.scale:g}-{request.quality}")
        if is_not_modified(call.headers, tag):
            return Reply(None, status=304, headers={"ETag": tag})
        wanted = ScreenshotRequest(format="jpeg", quality=request.quality, scale=request.scale)
        return _blob(await take(self._desktop, wanted), "jpeg", {"ETag": tag})

    @operation(
        "GET /v1/screen/screenshot",
        scope="browser",
        tool="sandbox_browser_screenshot",
        aliases=("browser_gui_screenshot",),
        media_type=MEDIA_TYPES,
    )
    async def look(self, request: LookRequest) -> Blob:
        """Take a screenshot, with the sizes, the pointer's position and the active window.

        They are a JSON object in the header `x-about`: `screen` and `image` with width and height, `cursor` with x and
        y, all in pixels, and `active_window` with title and program, or null. Actions take coordinates of the screen,
        not of a scaled image.
        """
        x, y = await self._desktop.pointer.position()
        active = next((window for window in await self._desktop.windows.all() if window.focused), None)
        shot = await take(self._desktop, request)
        about = {"screen": _sides(shot.screen), "image": _sides(shot.size), "cursor": {"x": x, "y": y}, "active_window": _named(active)}
        return _blob(shot, request.format, {ABOUT: json.dumps(about)})


async def check(desktop: Desktop, request: PictureRequest, place: tuple[str, ...] = ()) -> ScreenRegion | None:
    """Return the requested region, None for the whole screen.

    Raises InvalidFields, with `place` before the fields, if it is not on the screen.
    """
    return _region(request, await desktop.screen.size(), place)


async def take(desktop: Desktop, request: ScreenshotRequest | LookRequest) -> Shot:
    """Take the requested screenshot; raises InvalidFields for a region that is not on the screen."""
    region = await check(desktop, request)
    form = _FORMATS[request.format]
    return await desktop.screen.shoot(form, quality=request.quality, region=region, scale=request.scale, cursor=request.cursor)


async def picture(desktop: Desktop, request: LookRequest) -> Picture:
    """Take the requested screenshot for a JSON answer."""
    shot = await take(desktop, request)
    data = base64.b64encode(shot.body).decode("ascii")
    return Picture(media_type=f"image/{_FORMATS[request.format]}", data=data, width=shot.size[0], height=shot.size[1])


def _blob(shot: Shot, form: str, more: dict[str, str] | None = None) -> Blob:
    sizes = {"screen": shot.screen, "image": shot.size}
    headers = {f"x-{name}-{side}": str(size[n]) for name, size in sizes.items() for n, side in enumerate(("width", "height"))}
    return Blob(shot.body, f"image/{_FORMATS[form]}", headers | (more or {}))


def _sides(size: tuple[int, int]) -> dict[str, int]:
    return {"width": size[0], "height": size[1]}


def _named(window: X11Window | None) -> dict[str, str] | None:
    return None if window is None else {"title": window.title, "program": window.program}


def _region(request: PictureRequest, screen: tuple[int, int], place: tuple[str, ...]) -> ScreenRegion | None:
    if (request.x, request.y, request.width, request.height) == (0, 0, None, None):
        return None
    width = screen[0] - request.x if request.width is None else request.width
    height = screen[1] - request.y if request.height is None else request.height
    sides = (("x", request.x, width, screen[0]), ("y", request.y, height, screen[1]))
    problems = [
        {"loc": (*place, name), "msg": f"the region leaves the screen of {screen[0]}x{screen[1]} pixels", "type": "outside_screen"}
        for name, start, length, limit in sides
        if length <= 0 or start + length > limit
    ]
    if problems:
        raise InvalidFields(problems)
    return ScreenRegion(request.x, request.y, width, height)
