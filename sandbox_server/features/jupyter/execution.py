"""An execution in a kernel: the request, and the response in the contract's form."""

from typing import Annotated, Any, Literal

from pydantic import Field

from sandbox_server.core import Model, Reply
from sandbox_server.core.hints import join_hints
from sandbox_server.drivers.fence.policy import IsolationPolicy
from sandbox_server.drivers.kernels.execution import Execution
from sandbox_server.drivers.kernels.outputs import KernelOutput
from sandbox_server.drivers.kernels.session import JupyterSession

type ExecutionStatus = Literal["running", "ok", "error", "timeout"]


Timeout = Annotated[int, Field(ge=1, le=300)]
DEFAULT_TIMEOUT = 30


class JupyterExecuteRequest(Model):
    """Code to run."""

    code: str
    """Python code, as in a notebook cell: the value of a last expression is an output."""
    timeout: Timeout | None = DEFAULT_TIMEOUT
    """Seconds after which it is interrupted. Code that ignores the interrupt loses its kernel and its variables."""
    kernel_name: str | None = None
    """Kernel from `info`. Absent: the default."""
    session_id: str | None = None
    """Session that it runs in, created if it does not exist. Absent: an idle session that was created implicitly, else
    a new one; the answer names it.
    """
    cwd: str | None = None
    """Working directory, absolute; it becomes the session's own. Absent: the session's, initially the workspace."""
    isolation: IsolationPolicy | None = None
    """The restrictions of the code. They apply to a session from its first code to its end; absent later: the session's own."""


class JupyterOutput(Model):
    """One output."""

    output_type: Literal["stream", "execute_result", "display_data", "error", "update_display_data", "clear_output"]
    """The last two come only in event streams."""
    name: str | None = None
    """`stdout` or `stderr`, for a stream."""
    text: str | None = None
    """The text of a stream."""
    data: dict[str, Any] | None = None
    """The output by media type: text as it is, images in Base64, JSON as JSON."""
    metadata: dict[str, Any] | None = None
    execution_count: int | None = None
    ename: str | None = None
    """Class of the exception."""
    evalue: str | None = None
    """Text of the exception."""
    traceback: list[str] | None = None


class JupyterOutputPiece(JupyterOutput):
    """One output, as it is put out; what it does not have is left out."""

    seq: int
    """Its number, from 1."""


class JupyterProgress(Model):
    """How far an execution has come."""

    session_id: str
    msg_id: str
    """Id of this execution."""
    status: ExecutionStatus
    execution_count: int | None
    exit_code: int | None
    dropped_bytes: int
    """Bytes of output over the limit, of which nothing is kept."""
    hint: str | None
    seq: int
    """Outputs up to here."""


class JupyterExecuteResponse(Model):
    """The result."""

    kernel_name: str
    session_id: str | None = None
    status: ExecutionStatus
    """`ok`, `error` (an exception, or the kernel ended), `timeout` (it was interrupted)."""
    execution_count: int | None = None
    outputs: list[JupyterOutput]
    """In order, with adjacent stream outputs joined."""
    code: str
    msg_id: str | None = None
    """Id of this execution."""
    exit_code: int | None = None
    """0, 1 after an exception, the code of a `sys.exit`, or that of a kernel that ended. Null after a timeout or a signal."""
    dropped_bytes: int = 0
    """Bytes of output over the limit, which are lost."""


def output_model(output: KernelOutput) -> JupyterOutput:
    """Return an output in the contract's form."""
    return JupyterOutput(
        output_type=output.output_type,
        name=output.name,
        text=output.text,
        data=output.data,
        metadata=output.metadata,
        execution_count=output.execution_count,
        ename=output.ename,
        evalue=output.evalue,
        traceback=output.traceback,
    )


def answer(session: JupyterSession, execution: Execution) -> Reply[JupyterExecuteResponse]:
    """Return the result of an execution that has ended."""
    response = JupyterExecuteResponse(
        kernel_name=session.kernel_name,
        session_id=session.id,
        status=execution.status,
        execution_count=execution.execution_count,
        outputs=[output_model(output) for output in execution.shown],
        code=execution.code,
        msg_id=execution.id,
        exit_code=execution.exit_code,
        dropped_bytes=execution.dropped,
    )
    return Reply(response, hint=join_hints(*execution.notes))
