"""A sandbox as a toolset of Pydantic AI, and a toolset whose calls a person is asked about first.

```python
agent = Agent(model, toolsets=[asking_before(sandbox, SandboxToolset(sandbox), "write_file")])
```
"""

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic_ai import BinaryContent
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, WrapperToolset

from tandem.errors import TandemError
from tandem.integrations import person
from tandem.integrations.function_tools import PERSON_SECONDS, SandboxFunctions

if TYPE_CHECKING:
    from tandem import AsyncSandbox

MOST_OF_ARGUMENTS = 1000
"""Characters of a call's arguments that a person is shown."""


class SandboxToolset(FunctionToolset[Any]):
    """Commands, files, pages, `ask_person` and `take_screenshot`. A failed call is an answer that the model reads."""

    def __init__(self, sandbox: "AsyncSandbox", *, person_timeout: float = PERSON_SECONDS, **options: Any) -> None:
        functions: list[Any] = [*SandboxFunctions(sandbox, person_timeout=person_timeout).all(), self.take_screenshot]
        self._sandbox = sandbox
        super().__init__(functions, **options)

    async def take_screenshot(self) -> Any:
        """Take a picture of the screen that the person sees."""
        try:
            return BinaryContent(data=await self._sandbox.screenshot(), media_type="image/png")
        except TandemError as error:
            return person.failure_text(error)


@dataclass
class AskingToolset(WrapperToolset[Any]):
    """A toolset of which a person is asked before each call of `names`. Without a yes the call is not made, and the model is told."""

    sandbox: Any = None
    names: frozenset[str] = field(default_factory=frozenset)
    timeout: float = PERSON_SECONDS

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        """Ask, and call."""
        if name in self.names and (refused := await self._refused(name, tool_args)):
            return refused
        return await super().call_tool(name, tool_args, ctx, tool)

    async def _refused(self, name: str, given: dict[str, Any]) -> str:
        shown = json.dumps(given, ensure_ascii=False, default=str)
        if len(shown) > MOST_OF_ARGUMENTS:
            shown = f"{shown[:MOST_OF_ARGUMENTS]} and {len(shown) - MOST_OF_ARGUMENTS} characters more"
        try:
            answer = await self.sandbox.ask(f"The agent wants to call {name} {shown}", kind="confirm", timeout=self.timeout)
        except TandemError as error:
            return f"{name} was not called. {person.failure_text(error)}"
        return "" if answer.confirmed is True else f"{name} was not called. {person.answer_text(answer)}"


def asking_before(
    sandbox: "AsyncSandbox", toolset: AbstractToolset[Any], *names: str, timeout: float = PERSON_SECONDS
) -> AbstractToolset[Any]:
    """The toolset, of which a person is asked before each call of these tools, and which allows all others."""
    return AskingToolset(toolset, sandbox=sandbox, names=frozenset(names), timeout=timeout)
