"""The shell lines in requests: what an operation would run, or type."""

import shlex
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

LINE_FIELDS = {
    "bash.exec": "command",
    "shell.exec_command": "command",
    "shell.execute_bash": "cmd",
    "screen.launch_program": "command",
    "sandbox.register_hook": "command",
}
"""The field with the line, by operation."""
PROGRAM = "mcp.add_mcp_server"
"""The operation that starts a program with arguments, when it is first needed."""
DIRECTORY_FIELDS = ("exec_dir", "cwd")
_IN_WORKSPACE = {"screen.launch_program", "sandbox.register_hook"}
TYPING = frozenset({"shell.write_to_process", "bash.write"})
"""Operations that type into a running program, which may be a shell."""
TERMINAL = "shell.terminal"
"""The socket through which programs type keys."""
REFUSED = {
    TERMINAL: ("a program opens no terminal", "Use POST /v1/shell/exec or shell/write."),
    "checkpoints.start_checkpoint_program": ("a program starts nothing of a checkpoint by its number", "Use POST /v1/bash/exec."),
}
"""Operations that run lines which their requests do not hold, each with what is said of it and what to use."""
_SHELLS = {"ENV", "PATH", "IFS", "PS4", "PROMPT_COMMAND", "SHELLOPTS", "PAGER", "EDITOR", "VISUAL", "BROWSER"}
_LANGUAGES = {"NODE_OPTIONS", "PERL5OPT", "PERL5LIB", "RUBYOPT", "PYTHONSTARTUP", "PYTHONPATH"}
RUN_VARIABLES = frozenset(_SHELLS | _LANGUAGES)
RUN_PREFIXES = ("LD_", "BASH_", "GIT_")
"""Variables by which a command runs another one. So may any whose name is no identifier, such as an exported function's."""
MAX_PENDING = 8192
"""Characters that are typed without Enter. After more, nobody can tell what the line is."""
MAX_SESSIONS = 256
_ENTER = "\r\n"
_INTERRUPT = "\x03"
"""Drops the line that is typed, on a keyboard, unless the terminal leaves signals to programs (`stty -isig`): nobody can tell."""


@dataclass(frozen=True, slots=True)
class GivenLine:
    """A line of a request."""

    text: str
    """The variables that the request sets are in front of it, as a shell would have them."""
    directory: str | None = None
    """Where it starts, if the request says so."""
    session: str = ""
    unclear: bool = False
    """Whether it may run something else than it says."""


def line_of(operation: str, request: BaseModel, workspace: str) -> GivenLine | None:
    """Return the line that a request runs; None if it runs none."""
    if operation == PROGRAM:
        words = [getattr(request, "command", None), *(getattr(request, "args", None) or ())]
        return GivenLine(shlex.join(map(str, words))) if words[0] else None
    name = LINE_FIELDS.get(operation)
    if name is None:
        return None
    given: dict[str, Any] = {field: getattr(request, field, None) for field in (name, *DIRECTORY_FIELDS, "session_id", "id", "env")}
    directory = given["exec_dir"] or given["cwd"]
    session = given["session_id"] or given["id"] or ""
    if directory is None and (operation in _IN_WORKSPACE or (operation == "bash.exec" and not session)):
        directory = workspace
    variables: dict[str, Any] = given["env"] or {}
    assigned = [f"{name}={shlex.quote(str(value or ''))}" for name, value in sorted(variables.items())]
    return GivenLine(" ".join([*assigned, str(given[name])]), directory, session, unclear=any(map(_runs, variables)))


def _runs(variable: str) -> bool:
    return not variable.isidentifier() or variable in RUN_VARIABLES or variable.startswith(RUN_PREFIXES)


class TypedLines:
    """What was typed into each session since the last Enter."""

    def __init__(self) -> None:
        self._pending: OrderedDict[str, str] = OrderedDict()

    def line(self, session: str, typed: str, *, keyboard: bool) -> GivenLine | None:
        """Return the line that a program reads with this input; None while it has no Enter.

        On a `keyboard`, a key that edits the line makes it unclear, and so does an interrupt after a part of it.
        """
        whole = _without_first_interrupts(self._pending.get(session, "") + typed, keyboard=keyboard)
        edits = keyboard and any(not character.isprintable() and character not in _ENTER + _INTERRUPT for character in typed)
        if not edits and len(whole) <= MAX_PENDING and "\n" not in whole:
            return None
        unclear = edits or len(whole) > MAX_PENDING or (keyboard and _INTERRUPT in whole)
        return GivenLine(whole, session=session, unclear=unclear)

    def typed(self, session: str, text: str, *, keyboard: bool) -> None:
        """Take that this was typed."""
        whole = _without_first_interrupts(self._pending.pop(session, "") + text, keyboard=keyboard).rpartition("\n")[2]
        if whole:
            self._pending[session] = whole[-MAX_PENDING:]
        while len(self._pending) > MAX_SESSIONS:
            self._pending.popitem(last=False)


def _without_first_interrupts(typed: str, *, keyboard: bool) -> str:
    """Return the lines, each without interrupts that came while it was empty. They end in line feeds."""
    lines = typed.replace("\r", "\n").split("\n")
    return "\n".join(line.lstrip(_INTERRUPT) if keyboard else line for line in lines)
