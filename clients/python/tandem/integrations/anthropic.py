"""A sandbox as tools of Anthropic's SDK: the computer toolset of August 2026, bash, the text editor, and asking a person.

```python
runner = Anthropic().beta.messages.tool_runner(tools=tools(sandbox, confirm=asking_before(sandbox, "type")), ...)
```
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from anthropic.lib.tools import BetaBuiltinFunctionTool
from anthropic.tools import ToolError
from anthropic.tools.computer import (
    BetaAbstractComputerToolset20260801,
    BetaComputerConfirmContext,
    BetaComputerCursorPositionResult,
    BetaComputerMemberResult,
    BetaScreenshotResult,
    BetaToolsetCallContext,
)

from tandem.api.computer import AnthropicInput, ModelDisplay
from tandem.errors import TandemError
from tandem.integrations import person
from tandem.wire import UNSET

if TYPE_CHECKING:
    from tandem import Sandbox

COMMAND_SECONDS = 120.0
"""After so long a command of the bash tool is stopped."""
PERSON_SECONDS = 600.0
"""How long a person is waited for."""
_EDIT = ("command", "path", "file_text", "old_str", "new_str", "insert_line", "view_range")
Confirm = Callable[[BetaComputerConfirmContext], bool]


class ComputerToolset(BetaAbstractComputerToolset20260801):
    """The screen, the keyboard and the pointer: every member of `computer_toolset_20260801`.

    `display` is the size of the model's pictures in pixels, the screen's own unless given: points are scaled from it. `confirm` is asked
    before each call. What the SDK's own class takes more is in `options`. A failed call raises ToolError, which the model reads.
    """

    def __init__(self, sandbox: "Sandbox", *, confirm: Confirm, display: tuple[int, int] | None = None, **options: Any) -> None:
        super().__init__(confirm=confirm, **options)
        self._sandbox = sandbox
        self._display = ModelDisplay(width=display[0], height=display[1]) if display else UNSET

    def execute(self, context: BetaToolsetCallContext, name: Any, input: Any) -> BetaComputerMemberResult:  # noqa: A002 # the SDK names it
        """Perform one action."""
        given = AnthropicInput.model_validate(input.model_dump(exclude_none=True))
        try:
            answer = self._sandbox.api.computer.anthropic_action(input=given, name=name, display=self._display)
        except TandemError as error:
            raise ToolError(person.failure_text(error)) from error
        block = answer["content"][0]
        if name == "cursor_position":
            x, y = (int(part.partition("=")[2]) for part in block["text"].split(","))
            return BetaComputerCursorPositionResult(x=x, y=y)
        if name in ("screenshot", "zoom"):
            return BetaScreenshotResult(data=block["source"]["data"], media_type=block["source"]["media_type"])
        return None


def asking_before(sandbox: "Sandbox", *members: str, timeout: float = PERSON_SECONDS) -> Confirm:
    """A `confirm` that asks a person before each call of these members of the toolset, and allows all others."""

    def confirm(context: BetaComputerConfirmContext) -> bool:
        if context.member not in members:
            return True
        given = context.input.model_dump_json(exclude_none=True)
        reason = f"The agent wants to act on the screen: {context.member} {given[:1000]}"
        try:
            return sandbox.ask(reason, kind="confirm", timeout=timeout).confirmed is True
        except TandemError as error:
            raise ToolError(person.failure_text(error)) from error

    return confirm


class _Tool(BetaBuiltinFunctionTool):
    """A tool of one declaration, whose failures the model reads."""

    def __init__(self, sandbox: "Sandbox", declared: Mapping[str, Any]) -> None:
        self._sandbox = sandbox
        self._declared: Any = dict(declared)

    def to_dict(self) -> Any:
        """The entry of `tools`."""
        return self._declared

    def call(self, input: object) -> str:  # noqa: A002 # the SDK names it
        """Do it. Raises ToolError, which the model reads."""
        try:
            return self._done(input if isinstance(input, dict) else {})
        except TandemError as error:
            raise ToolError(person.failure_text(error)) from error
        except ValueError as error:
            raise ToolError(f"a wrong argument: {person.shortened(str(error))}") from error

    def _done(self, given: dict[str, Any]) -> str:
        raise NotImplementedError


class BashTool(_Tool):
    """`bash_20250124`: one shell, which keeps its directory and variables until `restart`, or until it ends.

    A command is stopped after `timeout` seconds.
    """

    def __init__(self, sandbox: "Sandbox", *, timeout: float = COMMAND_SECONDS) -> None:
        super().__init__(sandbox, {"type": "bash_20250124", "name": "bash"})
        self._timeout = timeout
        self._session: str | None = None

    def _done(self, given: dict[str, Any]) -> str:
        shell = self._sandbox.api.shell
        if given.get("restart"):
            if self._session is not None:
                shell.cleanup_session(self._session)
            self._session = None
            return "The shell is a new one."
        if not (command := given.get("command")):
            raise ValueError("`command` is needed")
        if self._session is None:
            self._session = shell.create_session().session_id
        done = shell.exec_command(command=command, id=self._session, hard_timeout=self._timeout, no_change_timeout=0)
        if done.status == "terminated":
            self._session = None
        return f"{done.output or ''}\n[{done.status}, exit code {done.exit_code}]"


class EditTool(_Tool):
    """`text_editor_20250728`: views, creates and edits files."""

    def __init__(self, sandbox: "Sandbox") -> None:
        super().__init__(sandbox, {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"})

    def _done(self, given: dict[str, Any]) -> str:
        if "insert_text" in given:
            given = {**given, "new_str": given["insert_text"]}
        asked = {name: given[name] for name in _EDIT if given.get(name) is not None}
        if missing := {"command", "path"} - asked.keys():
            raise ValueError(f"missing: {', '.join(sorted(missing))}")
        done = self._sandbox.api.file.str_replace_editor(**asked)
        if done.error:
            raise ToolError(person.shortened(done.error))
        return person.shortened(done.output)


class AskPersonTool(_Tool):
    """`ask_person`: asks the person who shares the computer, and waits for `timeout` seconds."""

    def __init__(self, sandbox: "Sandbox", *, timeout: float = PERSON_SECONDS) -> None:
        super().__init__(sandbox, {"name": person.NAME, "description": person.DESCRIPTION, "input_schema": person.schema()})
        self._timeout = timeout

    def _done(self, given: dict[str, Any]) -> str:
        return person.Question.model_validate(given).asked_of(self._sandbox, self._timeout)


def tools(
    sandbox: "Sandbox", *, confirm: Confirm, display: tuple[int, int] | None = None, person_timeout: float = PERSON_SECONDS
) -> list[Any]:
    """The computer toolset, bash, the text editor and `ask_person`, for `tool_runner` of the SDK."""
    computer = ComputerToolset(sandbox, confirm=confirm, display=display)
    return [computer, BashTool(sandbox), EditTool(sandbox), AskPersonTool(sandbox, timeout=person_timeout)]
