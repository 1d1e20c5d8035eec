"""The browser by pixels: pictures of the screen, and what a hand on mouse and keyboard does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Annotated, Literal, Self

from pydantic import Field

from sandbox_server.core import Blob, Model, Tasks, operation
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.picture import Format
from sandbox_server.drivers.x11.screen import MAX_SIZE, MIN_SIZE, Region
from sandbox_server.features.browser.actions import Action, AnyAction
from sandbox_server.features.browser.performer import perform

MAX_ACTIONS = 100
HOLD_SECONDS = 60.0
"""How long a key or button stays down that nobody releases."""
SETTLE_QUIET = 0.2
SETTLE_SECONDS = 5.0

_FORMATS: dict[str, Format] = {"png": "png", "jpg": "jpeg", "jpeg": "jpeg", "webp": "webp"}


class ScreenshotRequest(Model):
    format: Literal["png", "jpg", "jpeg", "webp"] = "png"
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
    """Size of the picture over that of the region."""
    cursor: bool = True
    """Whether the pointer is in the picture."""


class ActionDone(Model):
    status: Literal["success"] = "success"
    action_performed: str
    """The action's type."""


class ActionResponse(Model):
    """The contract's envelope, with the result beside `data` as older clients read it."""

    success: bool = True
    message: str | None = "Operation successful"
    data: ActionDone | None
    hint: str | None = None
    status: Literal["success"] = "success"
    action_performed: str = ""


class ActionCall(Model):
    action: AnyAction
    """What to do, told apart by `action_type`."""


class BatchRequest(Model):
    actions: Annotated[list[AnyAction], Field(min_length=1, max_length=MAX_ACTIONS)]
    """What to do, in this order; what they leave pressed is released at the end."""
    until: Literal["sent", "settle"] = "sent"
    """When to answer: at once, or when nothing on the screen changes any more, after five seconds at the latest."""


class BatchResult(Model):
    actions_performed: list[str]
    settled: bool | None
    """Whether the screen came to rest; null where that was not waited for."""


class Resolution(Model):
    width: Annotated[int, Field(gt=0)]
    """Screen width in pixels."""
    height: Annotated[int, Field(gt=0)]
    """Screen height in pixels."""


class BrowserConfigRequest(Model):
    resolution: Resolution | None = None
    """The size of the screen: any from 64x64 to 3840x2160."""


class BrowserScreen:
    """Acts on the desktop; one caller's actions at a time."""

    tag = "browser"

    def __init__(self, desktop: Desktop) -> None:
        self._desktop = desktop
        self._acting = asyncio.Lock()
        self._tasks = Tasks()
        self._release: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    @operation(
        "GET /v1/browser/screenshot", scope="browser", operation_id="screenshot", tool="sandbox_browser_screenshot", media_type="image/png"
    )
    async def screenshot(self, request: ScreenshotRequest) -> Blob:
        """Take a picture of the screen.

        The headers `x-screen-width`, `x-screen-height`, `x-image-width` and `x-image-height` say how large both are.
        """
        form = _FORMATS[request.format]
        region = _region(request, await self._desktop.screen.size())
        shot = await self._desktop.screen.shoot(form, quality=request.quality, region=region, scale=request.scale, cursor=request.cursor)
        sizes = {"screen": shot.screen, "image": shot.size}
        headers = {f"x-{name}-{side}": str(size[n]) for name, size in sizes.items() for n, side in enumerate(("width", "height"))}
        return Blob(shot.body, f"image/{form}", headers)

    @operation("POST /v1/browser/actions", scope="control", envelope=False)
    async def execute_action(self, request: Action) -> ActionResponse:
        """Do one thing with the mouse or the keyboard.

        A key or button that is left down is released after a minute without another action. Points outside the screen and unknown keys
        are refused before anything is done.
        """
        data = await self._act(request.root)
        return ActionResponse(data=data, action_performed=data.action_performed)

    @operation("POST /v1/browser/action", scope="control", tool="sandbox_browser_execute_action")
    async def act(self, request: ActionCall) -> ActionDone:
        """Do one thing with the mouse or the keyboard, as `execute_action` does."""
        return await self._act(request.action)

    @operation("POST /v1/browser/actions/batch", scope="control")
    async def execute_actions(self, request: BatchRequest) -> BatchResult:
        """Do several things in a row; nothing of anybody else's comes between them.

        An action that cannot be done ends the row: those before it were done, and the error names it.
        """
        async with self._turn(hold=False):
            for number, action in enumerate(request.actions):
                await perform(self._desktop, action, ("actions", number))
        settled = await self._desktop.screen.settle(SETTLE_QUIET, SETTLE_SECONDS) if request.until == "settle" else None
        return BatchResult(actions_performed=[action.action_type for action in request.actions], settled=settled)

    @operation("POST /v1/browser/config", scope="browser")
    async def set_config(self, request: BrowserConfigRequest) -> None:
        """Change the size of the screen."""
        if request.resolution is None:
            return
        size = (request.resolution.width, request.resolution.height)
        if not (MIN_SIZE[0] <= size[0] <= MAX_SIZE[0] and MIN_SIZE[1] <= size[1] <= MAX_SIZE[1]):
            raise InvalidFields(
                [{"loc": ("resolution",), "msg": f"{size[0]}x{size[1]} is not from 64x64 to 3840x2160", "type": "resolution"}]
            )
        await self._desktop.screen.resize(size)

    async def _act(self, action: AnyAction) -> ActionDone:
        async with self._turn(hold=True):
            await perform(self._desktop, action)
        return ActionDone(action_performed=action.action_type)

    @asynccontextmanager
    async def _turn(self, *, hold: bool) -> AsyncIterator[None]:
        """Let nobody else act; what is down at the end is released, with `hold` after a while."""
        async with self._acting:
            if self._release:
                self._release.cancel()
                self._release = None
            try:
                yield
            finally:
                if not hold:
                    await self._desktop.release_all()
                elif self._desktop.holds:
                    self._release = self._tasks.start(self._release_later())

    async def _release_later(self) -> None:
        await asyncio.sleep(HOLD_SECONDS)
        await self._desktop.release_all()


def _region(request: ScreenshotRequest, screen: tuple[int, int]) -> Region | None:
    if (request.x, request.y, request.width, request.height) == (0, 0, None, None):
        return None
    width = screen[0] - request.x if request.width is None else request.width
    height = screen[1] - request.y if request.height is None else request.height
    sides = (("x", request.x, width, screen[0]), ("y", request.y, height, screen[1]))
    problems = [
        {"loc": (name,), "msg": f"the region leaves the screen of {screen[0]}x{screen[1]} pixels", "type": "outside_screen"}
        for name, start, length, limit in sides
        if length <= 0 or start + length > limit
    ]
    if problems:
        raise InvalidFields(problems)
    return Region(request.x, request.y, width, height)
