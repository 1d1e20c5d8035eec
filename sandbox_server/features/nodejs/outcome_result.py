"""From an outcome to what its caller is told."""

from collections.abc import Iterator

from sandbox_server.core import Reply
from sandbox_server.drivers.nodes.outcome import NodeOutcome
from sandbox_server.features.nodejs.wire import NodeJSExecuteResponse, NodeJSOutput


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
