"""An execution of JavaScript: the request, and the response in the contract's form."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from sandbox_server.core import Model, Reply
from sandbox_server.core.hints import join_hints
from sandbox_server.drivers.fence.policy import IsolationPolicy
from sandbox_server.drivers.nodes.outcome import NodeOutcome

type ExecutionStatus = Literal["ok", "error", "timeout"]


DEFAULT_TIMEOUT = 30
Timeout = Annotated[int, Field(ge=1, le=300)]


class NodeJSExecuteRequest(Model):
    """Code to run."""

    code: str
    """A program, an ES module or CommonJS; in a session, code as in a browser's console, with top-level `await` and `import`."""
    timeout: Timeout | None = DEFAULT_TIMEOUT
    """Seconds after which it is stopped."""
    stdin: str | None = None
    """Its standard input."""
    files: dict[str, str] | None = None
    """Files to write before it starts, by path relative to its directory."""
    stateful: bool | None = False
    """Run it in a session, whose variables it sees and keeps."""
    session_id: str | None = None
    """Session that it runs in, created if it does not exist. It implies `stateful`."""
    cwd: str | None = None
    """Working directory, absolute. Absent: the session's own; for a program, a temporary one in the workspace."""
    version: str | None = None
    """Version of Node.js: `node20`, `node22`, `node24`, or `20`, `22`, `24`. Absent: the default."""
    language: Literal["javascript", "typescript"] = "javascript"
    """Types are stripped from TypeScript, not checked. It needs Node.js 22 or later."""
    isolation: IsolationPolicy | None = None
    """The restrictions of the code. They apply to a session from its first code to its end; absent later: the session's own."""


class NodeJSOutput(Model):
    """One output."""

    output_type: Literal["stream", "execute_result", "error"]
    name: str | None = None
    """`stdout` or `stderr`, for a stream."""
    text: str | None = None
    """The text of a stream."""
    ename: str | None = None
    """Class of the exception."""
    evalue: str | None = None
    """Text of the exception."""
    traceback: list[str] | None = None
    data: dict[str, Any] | None = None
    """The last expression's value by media type, in a session."""
    metadata: dict[str, Any] | None = None


class NodeJSExecuteResponse(Model):
    """The result."""

    language: Literal["javascript"] = "javascript"
    status: ExecutionStatus
    """`ok`, `error` (an exception, or an exit code other than 0), `timeout`."""
    execution_count: int | None = None
    """How many executions the session has had."""
    outputs: list[NodeJSOutput] = Field(default_factory=list)
    code: str
    stdout: str = ""
    stderr: str = ""
    exit_code: int
    """The program's exit code. 124 after a timeout, 128 plus the number of a fatal signal; in a session 0, or 1 after an exception."""
    session_id: str | None = None


def outputs(outcome: NodeOutcome) -> Iterator[NodeJSOutput]:
    """Yield the streams, the value and the exception as outputs."""
    for name, text in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
        if text:
            yield NodeJSOutput(output_type="stream", name=name, text=text)
    if outcome.result is not None:
        yield NodeJSOutput(output_type="execute_result", data={"text/plain": outcome.result}, metadata={})
    if outcome.thrown:
        thrown = outcome.thrown
        yield NodeJSOutput(output_type="error", ename=thrown.name, evalue=thrown.text, traceback=thrown.stack)


def answer(code: str, outcome: NodeOutcome, session_id: str | None) -> Reply[NodeJSExecuteResponse]:
    """Return the result."""
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
    return Reply(response, hint=join_hints(*outcome.notes))
