from sandbox_server.drivers.nodes.outcome import NodeOutcome, Thrown
from sandbox_server.features.nodejs.execution import answer, outputs


def test_streams_value_and_exception_are_outputs_in_this_order() -> None:
    outcome = NodeOutcome("error", 1, "out", "err", Thrown("Error", "bad", ["Error: bad"]), result="5")

    assert [output.model_dump(exclude_none=True) for output in outputs(outcome)] == [
        {"output_type": "stream", "name": "stdout", "text": "out"},
        {"output_type": "stream", "name": "stderr", "text": "err"},
        {"output_type": "execute_result", "data": {"text/plain": "5"}, "metadata": {}},
        {"output_type": "error", "ename": "Error", "evalue": "bad", "traceback": ["Error: bad"]},
    ]


def test_nothing_written_is_no_output_and_notes_are_a_hint() -> None:
    reply = answer("code", NodeOutcome("ok", 0, "", "", notes=("one", "two")), "s")

    assert (reply.data.outputs, reply.data.code, reply.data.session_id, reply.hint) == ([], "code", "s", "one; two")
