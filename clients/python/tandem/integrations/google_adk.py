"""A sandbox for Google's Agent Development Kit: the screen as a `BaseComputer`, and functions with a person to ask.

```python
agent = LlmAgent(model=model, name="helper", tools=[*tools(sandbox), ComputerUseToolset(computer=ScreenOfSandbox(sandbox))])
```
"""

import base64
from typing import TYPE_CHECKING, Any, Literal

from google.adk.tools.computer_use.base_computer import BaseComputer, ComputerEnvironment, ComputerState

from tandem.api.computer import GeminiArguments, ModelDisplay, OpenAIAction
from tandem.errors import TandemError
from tandem.integrations import person
from tandem.integrations.function_tools import PERSON_SECONDS, SandboxFunctions

if TYPE_CHECKING:
    from tandem import AsyncSandbox

GRID = 1000
"""The points of Gemini's models are on a grid of so many by so many."""
Direction = Literal["up", "down", "left", "right"]


class _Failure(dict[str, Any]):
    """What a failed call answers. Gemini's models take no answer without an address, and the framework reads it as an attribute."""

    def __init__(self, text: str, url: str) -> None:
        super().__init__(error=text, url=url)
        self.url = url


class ScreenOfSandbox(BaseComputer):
    """The screen, the keyboard and the pointer. A failed call answers an `error` that the model reads, and no picture."""

    def __init__(self, sandbox: "AsyncSandbox") -> None:
        self._sandbox = sandbox
        self._url = "about:blank"

    async def screen_size(self) -> tuple[int, int]:
        """The grid, which the sandbox scales to the screen itself."""
        return GRID, GRID

    async def environment(self) -> Any:
        """What the model is told of the computer."""
        return ComputerEnvironment.ENVIRONMENT_BROWSER

    async def open_web_browser(self) -> ComputerState:
        """Show the screen, with the browser that runs already."""
        return await self._act("open_web_browser")

    async def current_state(self) -> ComputerState:
        """Show the screen."""
        return await self._act("open_web_browser")

    async def click_at(self, x: int, y: int) -> ComputerState:
        """Click at a point."""
        return await self._act("click_at", x=x, y=y)

    async def hover_at(self, x: int, y: int) -> ComputerState:
        """Move the pointer to a point."""
        return await self._act("hover_at", x=x, y=y)

    async def type_text_at(self, x: int, y: int, text: str, press_enter: bool = True, clear_before_typing: bool = True) -> ComputerState:
        """Click at a point and type a text."""
        return await self._act("type_text_at", x=x, y=y, text=text, press_enter=press_enter, clear_before_typing=clear_before_typing)

    async def type_text(self, text: str, press_enter: bool = False) -> ComputerState:
        """Type a text where the focus is."""
        typed: list[dict[str, Any]] = [{"type": "type", "text": text}] if text != "" else []
        return await self._press(*typed, *([{"type": "keypress", "keys": ["ENTER"]}] if press_enter else []))

    async def scroll_document(self, direction: Direction) -> ComputerState:
        """Scroll the page in a direction."""
        return await self._act("scroll_document", direction=direction)

    async def scroll_at(self, x: int, y: int, direction: Direction, magnitude: int) -> ComputerState:
        """Scroll at a point in a direction, by so many units of the grid."""
        return await self._act("scroll_at", x=x, y=y, direction=direction, magnitude=magnitude)

    async def wait(self, seconds: int) -> ComputerState:
        """Let the screen come to rest, for five seconds at most whatever `seconds` says."""
        return await self._act("wait_5_seconds")

    async def go_back(self) -> ComputerState:
        """Go to the previous page."""
        return await self._act("go_back")

    async def go_forward(self) -> ComputerState:
        """Go to the next page."""
        return await self._act("go_forward")

    async def search(self) -> ComputerState:
        """Open a search engine."""
        return await self._act("search")

    async def navigate(self, url: str) -> ComputerState:
        """Open a page."""
        return await self._act("navigate", url=url)

    async def key_combination(self, keys: list[str]) -> ComputerState:
        """Press keys together."""
        return await self._press({"type": "keypress", "keys": keys})

    async def drag_and_drop(self, x: int, y: int, destination_x: int, destination_y: int) -> ComputerState:
        """Drag what is at a point to another."""
        return await self._act("drag_and_drop", x=x, y=y, destination_x=destination_x, destination_y=destination_y)

    async def double_click(self, x: int, y: int) -> ComputerState:
        """Click twice at a point."""
        return await self._press({"type": "double_click", "x": x, "y": y})

    async def right_click(self, x: int, y: int) -> ComputerState:
        """Click at a point with the right button."""
        return await self._press({"type": "click", "x": x, "y": y, "button": "right"})

    async def middle_click(self, x: int, y: int) -> ComputerState:
        """Click at a point with the middle button."""
        return await self._press({"type": "click", "x": x, "y": y, "button": "wheel"})

    async def _press(self, *given: dict[str, Any]) -> Any:
        if not given:
            return await self.current_state()
        try:
            actions = [OpenAIAction.model_validate(action) for action in given]
            await self._sandbox.api.computer.openai_action(actions=actions, display=ModelDisplay(width=GRID, height=GRID))
        except (TandemError, ValueError) as error:
            return self._failed(error)
        return await self.current_state()

    async def _act(self, name: str, **given: Any) -> Any:
        try:
            answer = await self._sandbox.api.computer.gemini_action(name=name, args=GeminiArguments.model_validate(given))
        except (TandemError, ValueError) as error:
            return self._failed(error)
        response = answer["function_response"]
        self._url = response["response"]["url"]
        return ComputerState(screenshot=base64.b64decode(response["parts"][0]["inline_data"]["data"]), url=self._url)

    def _failed(self, error: TandemError | ValueError) -> _Failure:
        text = person.failure_text(error) if isinstance(error, TandemError) else f"a wrong argument: {person.shortened(str(error))}"
        return _Failure(text, self._url)


def tools(sandbox: "AsyncSandbox", *, person_timeout: float = PERSON_SECONDS) -> list[Any]:
    """Commands, files, pages and `ask_person`, for `LlmAgent(tools=)`."""
    return SandboxFunctions(sandbox, person_timeout=person_timeout).all()
