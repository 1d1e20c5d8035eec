"""An execution of JavaScript: the request, and the response by the contract's names."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from sandbox_server.core import Model, Reply
from sandbox_server.drivers.fence.policy import IsolationPolicy
from sandbox_server.drivers.nodes.outcome import NodeOutcome

type ExecutionStatus = Literal["ok", "error", "timeout"]


DEFAULT_TIMEOUT = 30
Timeout = Annotated[int, Field(ge=1, le=300)]


class NodeJSExecuteRequest(Model):
    """Code to run."""

    code: str
    """A program, an ES module or CommonJS; in a session, code as in a browser's console, with `await` and `import` anywhere."""
    timeout: Timeout | None = DEFAULT_TIMEOUT
    """Seconds after which it is stopped."""
    stdin: str | None = None
    """What it reads from its standard input."""
    files: dict[str, str] | None = None
    """Files to write before it starts, by a path that is relative to its directory."""
    stateful: bool | None = False
    """Run it in a session, whose variables it sees and keeps."""
    session_id: str | None = None
    """Session to run it in; made when there is none of that id. It implies `stateful`."""
    cwd: str | None = None
    """Working directory, absolute. Absent: the session's own; for a program, a new one in the workspace that is removed with all in it."""
    version: str | None = None
    """Which Node.js: `node20`, `node22`, `node24`, or `20`, `22`, `24`. Absent: the default."""
    language: Literal["javascript", "typescript"] = "javascript"
    """Types are stripped from TypeScript, not checked; it takes Node.js 22 or later."""
    isolation: IsolationPolicy | None = None
    """What it is kept from. It holds for a session as long as that lives, from its first code on; absent later: the session's own."""


class NodeJSOutput(Model):
    """One output."""

    output_type: Literal["stream", "execute_result", "error"]
    name: str | None = None
    """`stdout` or `stderr`, of a stream."""
    text: str | None = None
    """What was written, of a stream."""
    ename: str | None = None
    """Class of the exception."""
    evalue: str | None = None
    """Text of the exception."""
    traceback: list[str] | None = None
    data: dict[str, Any] | None = None
    """The last expression's value by media type, in a session."""
    metadata: dict[str, Any] | None = None


class NodeJSExecuteResponse(Model):
    """What became of it."""

    language: Literal["javascript"] = "javascript"
    status: ExecutionStatus
    """`ok`, `error` (an exception, or an exit code other than 0), `timeout`."""
    execution_count: int | None = None
    """How many pieces of code the session has run."""
    outputs: list[NodeJSOutput] = Field(default_factory=list)
    code: str
    stdout: str = ""
    stderr: str = ""
    exit_code: int
    """Of the program. 124 after a timeout, 128 and the number of the signal that ended it; in a session 0, or 1 after an exception."""
    session_id: str | None = None


def outputs(outcome: NodeOutcome) -> Iterator[NodeJSOutput]:
    """The streams, the value and the exception, as outputs."""
    for name, text in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
        if text:
            yield NodeJSOutput(output_type="stream", name=name, text=text)
    if outcome.result is not None:
        yield NodeJSOutput(output_type="execute_result", data={"text/plain": outcome.result}, metadata={})
    if outcome.thrown:
        thrown = outcome.thrown
        yield NodeJSOutput(output_type="error", ename=thrown.name, evalue=thrown.text, traceback=thrown.stack)


def answer(code: str, outcome: NodeOutcome, session_id: str | None) -> Reply[NodeJSExecuteResponse]:
    """What became of code."""
    response = NodeJSExecuteResponse(
        status=outcome.status,
        execution_count=outcome.count,
        outputs=list(outputs(outcome)),
        code=code,
        stdout=outcome.stdout,
        stderr=outcome.stderr,
        exit_code=outcome.exit_code,
        session_id=session_id,
    )
    return Reply(response, hint="; ".join(outcome.notes) or None)
