"""From an execution to what its caller is told."""

from sandbox_server.core import Reply
from sandbox_server.drivers.kernels.execution import Execution
from sandbox_server.drivers.kernels.outputs import KernelOutput
from sandbox_server.drivers.kernels.session import JupyterSession
from sandbox_server.features.jupyter.wire import JupyterExecuteResponse, JupyterOutput


def output_model(output: KernelOutput) -> JupyterOutput:
    """An output by the contract's names."""
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
    """What became of an execution that is over."""
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
    return Reply(response, hint="; ".join(execution.notes) or None)
