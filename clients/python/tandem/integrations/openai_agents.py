"""A sandbox for OpenAI's Agents SDK: the screen of `ComputerTool`, and function tools with a person to ask.

```python
agent = Agent(name="helper", tools=[*tools(sandbox), ComputerTool(computer=ScreenComputer(sandbox))])
```

`tandem.integrations.openai_sandbox` has the workspace of a `SandboxAgent`.
"""

import json
from typing import TYPE_CHECKING, Any

from agents import AsyncComputer, FunctionTool, function_tool
from agents.tool import ComputerToolSafetyCheckData

from tandem.api.computer import ModelDisplay, OpenAIAction
from tandem.errors import TandemError
from tandem.integrations.function_tools import PERSON_SECONDS, SandboxFunctions
from tandem.wire import UNSET

if TYPE_CHECKING:
    from tandem import AsyncSandbox

_DATA_URL = "data:image/png;base64,"


class ScreenComputer(AsyncComputer):
    """The screen, the keyboard and the pointer.

    `display` is the size of the model's pictures in pixels, the screen's own unless given: points are scaled from it. The SDK has no place
    for what went wrong: a failed call raises TandemError, which ends the run.
    """

    def __init__(self, sandbox: "AsyncSandbox", *, display: tuple[int, int] | None = None) -> None:
        self._sandbox = sandbox
        self._size = display
        self._display = ModelDisplay(width=display[0], height=display[1]) if display else UNSET

    @property
    def environment(self) -> Any:
        """What the preview of the tool is told."""
        return "ubuntu"

    @property
    def dimensions(self) -> tuple[int, int] | None:
        """The size of the pictures, for the preview of the tool, which needs `display`."""
        return self._size

    async def screenshot(self) -> str:
        """A picture of the screen as PNG, in Base64."""
        return await self._act("screenshot")

    async def click(self, x: int, y: int, button: str, *, keys: list[str] | None = None) -> None:
        """Click, while the keys are held."""
        await self._act("click", x=x, y=y, button=button, keys=keys)

    async def double_click(self, x: int, y: int, *, keys: list[str] | None = None) -> None:
        """Click twice, while the keys are held."""
        await self._act("double_click", x=x, y=y, keys=keys)

    async def scroll(self, x: int, y: int, scroll_x: int, scroll_y: int, *, keys: list[str] | None = None) -> None:
        """Scroll by so many pixels, while the keys are held."""
        await self._act("scroll", x=x, y=y, scroll_x=scroll_x, scroll_y=scroll_y, keys=keys)

    async def type(self, text: str) -> None:
        """Type a text."""
        await self._act("type", text=text)

    async def wait(self) -> None:
        """Let the screen come to rest."""
        await self._act("wait")

    async def move(self, x: int, y: int, *, keys: list[str] | None = None) -> None:
        """Move the pointer, while the keys are held."""
        await self._act("move", x=x, y=y, keys=keys)

    async def keypress(self, keys: list[str]) -> None:
        """Press keys together."""
        await self._act("keypress", keys=keys)

    async def drag(self, path: list[tuple[int, int]], *, keys: list[str] | None = None) -> None:
        """Drag along points, while the keys are held."""
        await self._act("drag", path=[{"x": x, "y": y} for x, y in path], keys=keys)

    async def _act(self, kind: str, **given: Any) -> str:
        action = OpenAIAction.model_validate({"type": kind, **{name: value for name, value in given.items() if value is not None}})
        answer = await self._sandbox.api.computer.openai_action(action=action, display=self._display)
        return str(answer["output"]["image_url"]).removeprefix(_DATA_URL)


def tools(sandbox: "AsyncSandbox", *, person_timeout: float = PERSON_SECONDS) -> list[FunctionTool]:
    """Commands, files, pages and `ask_person`, for `Agent(tools=)`."""
    return [function_tool(function) for function in SandboxFunctions(sandbox, person_timeout=person_timeout).all()]


def ask_person(sandbox: "AsyncSandbox", *, timeout: float = PERSON_SECONDS) -> FunctionTool:
    """The tool `ask_person` alone, which waits for `timeout` seconds."""
    return function_tool(SandboxFunctions(sandbox, person_timeout=timeout).ask_person)


def asking_on_safety_checks(sandbox: "AsyncSandbox", *, timeout: float = PERSON_SECONDS) -> Any:
    """An `on_safety_check` that asks a person; no answer is a no."""

    async def asked(data: ComputerToolSafetyCheckData) -> bool:
        check = json.dumps({"code": data.safety_check.code, "message": data.safety_check.message})[:1000]
        try:
            answer = await sandbox.ask(f"The model's safety check says {check}. May the agent go on?", kind="confirm", timeout=timeout)
        except TandemError:
            return False
        return answer.confirmed is True

    return asked
