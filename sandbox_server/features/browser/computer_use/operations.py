"""The operations that take a model's action as it is and answer what the model is to be given."""

import base64
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any

from pydantic import Field

from sandbox_server.core import Failure, Model, operation
from sandbox_server.drivers.browser.page_events import shortened
from sandbox_server.drivers.x11.desktop import Desktop
from sandbox_server.drivers.x11.input_turns import InputTurns
from sandbox_server.drivers.x11.screen import ScreenRegion
from sandbox_server.features.browser.action_performer import perform
from sandbox_server.features.browser.computer_use import anthropic, gemini, openai
from sandbox_server.features.browser.computer_use.model_space import ModelSpace, Place, needed, refused
from sandbox_server.features.browser.gui_actions import AnyAction

SETTLE_QUIET = 0.2
SETTLE_SECONDS = 2.0
"""How long the screen may go on changing before the picture is taken."""
MAX_SIDE = 3840
"""Of a picture, in pixels, as of a screen: one takes 44 MB while it is made."""
MAX_ACTIONS = 100


class ModelDisplay(Model):
    width: Annotated[int, Field(ge=64, le=MAX_SIDE)]
    """Of the picture that the model sees, in pixels."""
    height: Annotated[int, Field(ge=64, le=MAX_SIDE)]
    """Of that picture, in pixels."""


class ScreenFactors(Model):
    x: Annotated[float, Field(ge=0.1, le=10)]
    """Pixels of the screen for one of the model's, to the right."""
    y: Annotated[float, Field(ge=0.1, le=10)]
    """The same, down."""


class ModelView(Model):
    display: ModelDisplay | None = None
    """The size of the model's pictures, as its tool was told; null is the screen's own."""
    factors: ScreenFactors | None = None
    """In place of `display`: how its points are scaled."""


class AnthropicCall(ModelView):
    input: anthropic.AnthropicInput
    """The input of the `tool_use` block."""
    name: str = "computer"
    """The tool's name: `computer`, or the action where each action is a tool."""
    tool_use_id: Annotated[str, Field(max_length=200)] | None = None
    """The block's `id`, which is repeated in the answer."""


class OpenAICall(ModelView):
    action: openai.OpenAIAction | None = None
    """The action of the `computer_call`."""
    actions: Annotated[list[openai.OpenAIAction], Field(max_length=MAX_ACTIONS)] | None = None
    """Its actions, where it has several."""
    call_id: Annotated[str, Field(max_length=200)] | None = None
    """The call's id, which is repeated in the answer."""


class GeminiCall(ModelView):
    name: str
    """The function's name."""
    args: gemini.GeminiArguments = Field(default_factory=gemini.GeminiArguments)
    """Its arguments."""
    id: Annotated[str, Field(max_length=200)] | None = None
    """The call's id, which is repeated in the answer."""


class ComputerUse:
    """Acts on the desktop as models say. `url` gives the address of the page in front, `navigate` loads another there."""

    tag = "computer"

    def __init__(
        self, desktop: Desktop, turns: InputTurns, url: Callable[[], Awaitable[str]], navigate: Callable[[str], Awaitable[object]]
    ) -> None:
        self._desktop = desktop
        self._turns = turns
        self._url = url
        self._navigate = navigate

    @operation("POST /v1/computer/anthropic", scope="control", envelope=False, acts="gui")
    async def anthropic_action(self, request: AnthropicCall) -> dict[str, Any]:
        """Perform an action of Anthropic's computer tool, and answer its `tool_result` block.

        The block has a screenshot of the size of `display`, once the screen has come to rest; `zoom` has the region at
        the screen's own resolution, and `cursor_position` a text. All actions of the versions 20241022 to 20251124 are
        known, and those of the toolset of 2026, whose tools are named as the actions.
        """
        given, space = request.input, await self._space(request)
        if request.name != "computer":
            given = given.model_copy(update={"action": request.name})
        await self._perform([(("input",), anthropic.gui_actions_of(given, space, ("input",)))])
        if given.action == "cursor_position":
            text = {"type": "text", "text": "X={},Y={}".format(*await self._pointer(space))}
            return anthropic.result([text], request.tool_use_id)
        region = self._region(needed(("input", "region"), given.region), space) if given.action == "zoom" else None
        return anthropic.result([anthropic.image(await self._picture(space, region))], request.tool_use_id)

    @operation("POST /v1/computer/openai", scope="control", envelope=False, acts="gui")
    async def openai_action(self, request: OpenAICall) -> dict[str, Any]:
        """Perform the actions of OpenAI's `computer_call`, and answer its `computer_call_output`.

        It has a screenshot of the size of `display`, once the screen has come to rest. Actions of other callers never
        come between several.
        """
        space = await self._space(request)
        asked: list[tuple[Place, openai.OpenAIAction]] = [(("action",), request.action)] if request.action else []
        asked += [(("actions", number), action) for number, action in enumerate(request.actions or ())]
        if not asked:
            raise refused(("action",), "this or `actions` is needed", "missing")
        await self._perform([(place, openai.gui_actions_of(action, space, place)) for place, action in asked])
        return openai.result(await self._picture(space), request.call_id)

    @operation("POST /v1/computer/gemini", scope="control", envelope=False, acts=("gui", "cdp"))
    async def gemini_action(self, request: GeminiCall) -> dict[str, Any]:
        """Perform a function call of Gemini's computer use, and answer its `function_response` part.

        Points are on a grid of 1,000 by 1,000. The answer has a screenshot, of the size of `display`, once the screen
        has come to rest, and the address of the page in front.
        """
        space = await self._space(request)
        grid = ModelSpace((gemini.GRID, gemini.GRID), space.screen)
        if address := gemini.address_of(request.name, request.args, ("args",)):
            await self._navigate(address)
            await self._settle()
        else:
            await self._perform([(("args",), gemini.gui_actions_of(request.name, request.args, grid, ("args",)))])
        url = ""
        with suppress(Failure):  # without a browser, or while it starts
            url = shortened(await self._url())
        return gemini.result(request.name, await self._picture(space), url, request.id)

    async def _space(self, request: ModelView) -> ModelSpace:
        screen = await self._desktop.screen.size()
        if request.display:
            return ModelSpace((request.display.width, request.display.height), screen)
        if request.factors:
            size = (screen[0] / request.factors.x, screen[1] / request.factors.y)
            if max(size) > MAX_SIDE:
                raise refused(("factors",), f"make a picture of {size[0]:.0f}x{size[1]:.0f} pixels; {MAX_SIDE} is the most", "too_large")
            return ModelSpace(size, screen)
        return ModelSpace(screen, screen)

    async def _perform(self, steps: Sequence[tuple[Place, Sequence[AnyAction]]]) -> None:
        """Do all actions in one turn, each step for a part of the request. A button may stay down for the next call, unless one fails."""
        if not any(actions for _, actions in steps):
            return
        async with self._turns.take(hold=True):
            try:
                for place, actions in steps:
                    for action in actions:
                        await perform(self._desktop, action, place)
            except BaseException:
                await self._desktop.release_all()
                raise
        await self._settle()

    async def _settle(self) -> None:
        await self._desktop.screen.settle(SETTLE_QUIET, SETTLE_SECONDS)

    async def _pointer(self, space: ModelSpace) -> tuple[int, int]:
        at = await self._desktop.pointer.position()
        return int(at[0] * space.size[0] / space.screen[0]), int(at[1] * space.size[1] / space.screen[1])

    async def _picture(self, space: ModelSpace, region: ScreenRegion | None = None) -> str:
        size = None if region else (round(space.size[0]), round(space.size[1]))
        shot = await self._desktop.screen.shoot("png", region=region, size=size)
        return base64.b64encode(shot.body).decode("ascii")

    def _region(self, given: list[float], space: ModelSpace) -> ScreenRegion:
        place: Place = ("input", "region")
        (left, top), (right, bottom) = space.point(given[0], given[1], place), space.point(given[2], given[3], place)
        if right <= left or bottom <= top:
            raise refused(place, "has no area: it is x0, y0, x1, y1", "region")
        return ScreenRegion(left, top, right - left, bottom - top)
