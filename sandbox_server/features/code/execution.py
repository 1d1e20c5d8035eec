"""An execution of code: the request, the runner of each language, and the response."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import Field

from sandbox_server.core import DeadlineExceeded, InvalidArgument, Model, NotFound, Reply
from sandbox_server.core.hints import join_hints
from sandbox_server.drivers.fence.policy import IsolationPolicy
from sandbox_server.drivers.kernels.execution import Execution
from sandbox_server.drivers.kernels.kernel import OutputBounds
from sandbox_server.drivers.kernels.outputs import KernelOutput, stream_text
from sandbox_server.drivers.kernels.sessions import KernelSessions
from sandbox_server.drivers.nodes.outcome import NodeOutcome
from sandbox_server.drivers.nodes.script import NodeLimits, NodeProgram, NodeScripts
from sandbox_server.drivers.nodes.sessions import NodeSessions
from sandbox_server.drivers.spawn.child_setup import SESSION
from sandbox_server.drivers.spawn.process import Completed, Processes

type Language = Literal["python", "javascript", "typescript", "bash"]


DEFAULT_TIMEOUT = 30
MAX_TIMEOUT = 300
Timeout = Annotated[int, Field(ge=1, le=MAX_TIMEOUT)]


class CodeExecuteRequest(Model):
    """Code to run."""

    code: str
    language: Language = "python"
    timeout: Timeout | None = None
    """Seconds after which it is stopped; 30 by default."""
    cwd: str | None = None
    """Working directory, absolute. Absent: the workspace; for JavaScript a temporary one in it."""
    stateful: bool = False
    """Keep variables for later code with the same `session_id`. Not for bash: `/v1/shell/exec` keeps a shell."""
    session_id: str | None = None
    """Session with `stateful`, created if it does not exist. Absent: a new one, which the answer names."""
    isolation: IsolationPolicy | None = None
    """The restrictions of the code. They apply to a session from its first code to its end; absent later: the session's own."""


class CodeExecuteResponse(Model):
    """The result."""

    language: Language
    status: Literal["running", "ok", "error", "timeout"]
    """`ok`, `error` (an exception, or an exit code other than 0), `timeout`."""
    outputs: list[dict[str, Any]] = Field(default_factory=list)
    """Streams, results, images and exceptions in order, with Jupyter's names."""
    code: str
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    """Null if Python or bash code was ended by a timeout or a signal."""
    traceback: list[str] | None = None
    session_id: str | None = None
    """Only with `stateful`."""
    dropped_bytes: int = 0
    """Bytes of output over the limit, which are lost."""


_FIELDS = ("output_type", "name", "text", "data", "metadata", "execution_count", "ename", "evalue", "traceback")


class PythonRunner:
    """Runs Python in kernels, so that images and the last expression's value are outputs."""

    def __init__(self, sessions: KernelSessions, output_bytes: int) -> None:
        self._sessions = sessions
        self._bounds = OutputBounds(output_bytes)

    async def run(self, request: CodeExecuteRequest) -> Reply[CodeExecuteResponse]:
        """Run code in its session, or in a temporary kernel."""
        timeout = request.timeout or DEFAULT_TIMEOUT
        if request.stateful:
            session_id = request.session_id or str(uuid4())
            _, execution = await self._sessions.begin(
                session_id,
                None,
                request.code,
                timeout=timeout,
                bounds=self._bounds,
                directory=request.cwd,
                isolation=request.isolation,
            )
            await execution.wait()
            return python_answer(request, execution, session_id)
        async with self._sessions.once(None, request.isolation) as session:
            execution = await session.begin(request.code, timeout=timeout, bounds=self._bounds, directory=request.cwd)
            await execution.wait()
        return python_answer(request, execution, None)


class NodeRunner:
    """Runs JavaScript and TypeScript."""

    def __init__(self, scripts: NodeScripts, sessions: NodeSessions, output_bytes: int, memory: int) -> None:
        self._scripts = scripts
        self._sessions = sessions
        self._output_bytes = output_bytes
        self._memory = memory

    async def run(self, request: CodeExecuteRequest) -> Reply[CodeExecuteResponse]:
        """Run a program, or code in its session."""
        limits = NodeLimits(self._output_bytes, self._memory, request.timeout or DEFAULT_TIMEOUT)
        typescript = request.language == "typescript"
        if not request.stateful:
            node = await self._sessions.nodes.get(None)
            program = NodeProgram(request.code, typescript, directory=request.cwd, isolation=request.isolation)
            outcome = await self._scripts.run(node, program, limits)
            return node_answer(request, outcome, None)
        session, created = await self._sessions.create(request.session_id, None, request.cwd, isolation=request.isolation)
        if request.cwd and not created:
            session.move(request.cwd)
        return node_answer(request, await session.execute(request.code, limits, typescript=typescript), session.id)


class BashRunner:
    """Runs bash, each time in a new process."""

    def __init__(self, processes: Processes, output_bytes: int, limits: Mapping[str, int] | None = None) -> None:
        self._processes = processes
        self._output_bytes = output_bytes
        self._limits = limits or {}

    async def run(self, request: CodeExecuteRequest) -> Reply[CodeExecuteResponse]:
        """Run a script."""
        if request.stateful:
            raise InvalidArgument("bash does not support `stateful`", hint="use /v1/shell/exec, whose sessions keep a shell")
        timeout = request.timeout or DEFAULT_TIMEOUT
        script = request.code.encode("utf-8", "surrogateescape")
        try:
            argv = ["bash", "-c", 'eval "$(cat)"'] if len(script) > _MAX_WORD else ["bash", "-c", request.code]
            given = script if len(script) > _MAX_WORD else b""
            done = await self._processes.run(
                argv,
                cwd=request.cwd,
                env={SESSION: "code:bash"},
                input=given,
                timeout=timeout,
                max_output=self._output_bytes,
                limits=self._limits,
                isolation=request.isolation,
            )
        except DeadlineExceeded:
            message = f"the script did not end within {timeout} s, and what it wrote is not known"
            return Reply(CodeExecuteResponse(language="bash", status="timeout", code=request.code), hint=message)
        except NotFound as error:
            raise InvalidArgument(error.message, cwd=request.cwd) from error
        return bash_answer(request, done)


_MAX_WORD = 120_000
"""Limit in bytes of one argument; the kernel's is 128 KiB."""


def python_answer(request: CodeExecuteRequest, execution: Execution, session_id: str | None) -> Reply[CodeExecuteResponse]:
    """Return the result of Python code."""
    shown = execution.shown
    response = CodeExecuteResponse(
        language=request.language,
        status=execution.status,
        outputs=[_jupyter_fields(output) for output in shown],
        code=request.code,
        stdout=stream_text(shown, "stdout"),
        stderr=stream_text(shown, "stderr"),
        exit_code=execution.exit_code,
        traceback=execution.traceback,
        session_id=session_id,
        dropped_bytes=execution.dropped,
    )
    return Reply(response, hint=join_hints(*execution.notes))


def node_answer(request: CodeExecuteRequest, outcome: NodeOutcome, session_id: str | None) -> Reply[CodeExecuteResponse]:
    """Return the result of JavaScript."""
    outputs = list(_streams(outcome.stdout, outcome.stderr))
    if outcome.result is not None:
        outputs.append({"output_type": "execute_result", "data": {"text/plain": outcome.result}, "metadata": {}})
    thrown = outcome.thrown
    if thrown:
        outputs.append({"output_type": "error", "ename": thrown.name, "evalue": thrown.text, "traceback": thrown.stack})
    response = CodeExecuteResponse(
        language=request.language,
        status=outcome.status,
        outputs=outputs,
        code=request.code,
        stdout=outcome.stdout,
        stderr=outcome.stderr,
        exit_code=outcome.exit_code,
        traceback=thrown.stack if thrown else None,
        session_id=session_id,
        dropped_bytes=outcome.dropped,
    )
    return Reply(response, hint=join_hints(*outcome.notes))


def bash_answer(request: CodeExecuteRequest, done: Completed) -> Reply[CodeExecuteResponse]:
    """Return the result of a script."""
    stdout, stderr = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    response = CodeExecuteResponse(
        language="bash",
        status="ok" if done.exit.code == 0 else "error",
        outputs=list(_streams(stdout, stderr)),
        code=request.code,
        stdout=stdout,
        stderr=stderr,
        exit_code=done.exit.code,
        dropped_bytes=done.dropped,
    )
    notes = [f"it was ended by signal {done.exit.signal}"] if done.exit.signal else []
    notes += [f"{done.dropped} bytes of output were over the limit and were not kept"] if done.dropped else []
    return Reply(response, hint=join_hints(*notes))


def _streams(stdout: str, stderr: str) -> Iterator[dict[str, Any]]:
    for name, text in (("stdout", stdout), ("stderr", stderr)):
        if text:
            yield {"output_type": "stream", "name": name, "text": text}


def _jupyter_fields(output: KernelOutput) -> dict[str, Any]:
    found = ((name, getattr(output, name)) for name in _FIELDS)
    return {name: value for name, value in found if value is not None}
