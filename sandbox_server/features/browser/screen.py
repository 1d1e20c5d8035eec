"""The screen: mouse and keyboard actions by pixels, and the screen's size."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

from pydantic import Field

from sandbox_server.core import Conflict, Model, NullCounts, operation
from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.input_turns import InputTurns
from sandbox_server.drivers.x11.screen import MAX_SIZE, MIN_SIZE
from sandbox_server.features.browser.action_performer import perform
from sandbox_server.features.browser.devices import Device
from sandbox_server.features.browser.gui_actions import Action, AnyAction
from sandbox_server.features.browser.screenshots import LookRequest, Picture, check, picture

MAX_ACTIONS = 100
SETTLE_QUIET = 0.2
SETTLE_SECONDS = 5.0


class ActionDone(Model):
    status: Literal["success"] = "success"
    action_performed: str
    """The action's type."""


class ActionResponse(Model):
    """The contract's envelope. The result is repeated beside `data` for older clients."""

    success: bool = True
    message: str | None = "Operation successful"
    data: ActionDone | None
    hint: str | None = None
    status: Literal["success"] = "success"
    action_performed: str = ""


class ActionCall(Model):
    action: AnyAction
    """The action. `action_type` tells which."""


class BatchRequest(Model):
    actions: Annotated[list[AnyAction], Field(min_length=1, max_length=MAX_ACTIONS)]
    """Actions in this order. What they leave pressed is released at the end."""
    until: Literal["sent", "settle"] = "sent"
    """When to answer: at once, or when the screen has stopped changing, at most five seconds later."""
    screenshot: LookRequest | None = None
    """A screenshot to take then, as `look` takes it; null for none."""


class BatchResult(Model):
    actions_performed: list[str]
    settled: bool | None
    """Whether the screen has stopped changing; null if that was not requested."""
    screenshot: Picture | None
    """The screen afterwards; null if not requested."""


class Resolution(Model):
    width: Annotated[int, Field(gt=0)]
    """Screen width in pixels."""
    height: Annotated[int, Field(gt=0)]
    """Screen height in pixels."""


class BrowserConfigRequest(Model):
    resolution: Resolution | None = None
    """The size of the screen, from 64x64 to 3840x2160."""
    device: Annotated[Device | None, NullCounts()] = None
    """The device to emulate; null ends the emulation. Open pages change when they are reloaded."""


type Emulate = Callable[[Device | None], Awaitable[None]]


class BrowserScreen:
    """Acts on the desktop, for one caller at a time. `emulate` is None if there is no browser."""

    tag = "browser"

    def __init__(self, desktop: Desktop, turns: InputTurns, emulate: Emulate | None = None) -> None:
        self._desktop = desktop
        self._turns = turns
        self._emulate = emulate

    @operation("POST /v1/browser/actions", scope="control", envelope=False, acts="gui")
    async def execute_action(self, request: Action) -> ActionResponse:
        """Perform one mouse or keyboard action.

        A key or button that is left down is released after a minute without another action. Points outside the screen
        and unknown keys are refused before anything is done.
        """
        data = await self._act(request.root)
        return ActionResponse(data=data, action_performed=data.action_performed)

    @operation("POST /v1/browser/action", scope="control", tool="sandbox_browser_execute_action", destructive=True, acts="gui")
    async def act(self, request: ActionCall) -> ActionDone:
        """Perform one mouse or keyboard action, as `execute_action` does."""
        return await self._act(request.action)

    @operation("POST /v1/browser/actions/batch", scope="control", tool="sandbox_browser_execute_actions", destructive=True, acts="gui")
    async def execute_actions(self, request: BatchRequest) -> BatchResult:
        """Perform several actions in a row. Actions of other callers never interleave.

        The first failing action ends the row. Those before it were done, and the error names it.
        """
        if request.screenshot:
            await check(self._desktop, request.screenshot, ("screenshot",))
        async with self._turns.take(hold=False):
            for number, action in enumerate(request.actions):
                await perform(self._desktop, action, ("actions", number))
        settled = await self._desktop.screen.settle(SETTLE_QUIET, SETTLE_SECONDS) if request.until == "settle" else None
        shown = await picture(self._desktop, request.screenshot) if request.screenshot else None
        return BatchResult(actions_performed=[action.action_type for action in request.actions], settled=settled, screenshot=shown)

    @operation("POST /v1/browser/config", scope="browser", acts="gui")
    async def set_config(self, request: BrowserConfigRequest) -> None:
        """Change the size of the screen, or the emulated device."""
        if request.resolution is not None:
            await self._resize(request.resolution)
        if "device" in request.model_fields_set:
            if self._emulate is None:
                raise Conflict("there is no browser here: DISABLE_BROWSER=true")
            await self._emulate(request.device)

    async def _resize(self, resolution: Resolution) -> None:
        size = (resolution.width, resolution.height)
        if not (MIN_SIZE[0] <= size[0] <= MAX_SIZE[0] and MIN_SIZE[1] <= size[1] <= MAX_SIZE[1]):
            raise InvalidFields(
                [{"loc": ("resolution",), "msg": f"{size[0]}x{size[1]} is not from 64x64 to 3840x2160", "type": "resolution"}]
            )
        await self._desktop.screen.resize(size)

    async def _act(self, action: AnyAction) -> ActionDone:
        async with self._turns.take(hold=True):
            await perform(self._desktop, action)
        return ActionDone(action_performed=action.action_type)
