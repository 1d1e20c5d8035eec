"""Which parts of an answer are written down."""

from typing import Any

import pytest

from sandbox_server.app import build
from sandbox_server.core.operation import Operation
from sandbox_server.core.results import Reply
from sandbox_server.drivers.recorder.redaction import Redaction
from sandbox_server.features.bash.session import BashExecResult
from sandbox_server.features.box.checkpoints import Checkpoint, CheckpointRestored
from sandbox_server.features.code.execution import CodeExecuteResponse
from sandbox_server.features.recorder.recorded_results import MAX_OUTPUT, recorded_result_of
from sandbox_server.features.shell.commands import ShellCommandResult
from sandbox_server.settings import load


@pytest.fixture(scope="module")
def known() -> dict[str, Operation]:
    return {each.name: each for each in build(load({})).operations}


def shell(output: str, code: int | None = 0) -> Reply[ShellCommandResult]:
    return Reply(ShellCommandResult(session_id="s", command="c", status="completed", output=output, exit_code=code))


def test_a_command_is_told_with_its_exit_code_and_the_end_of_its_output(known: dict[str, Operation]) -> None:
    found = recorded_result_of(known["shell.exec_command"], shell("one\ntwo\n", 3), "c", Redaction(), output=True)
    assert found == {"exit_code": 3, "status": "completed", "output": "one\ntwo"}
    long = recorded_result_of(known["shell.exec_command"], shell("x" * 5000 + "the end"), "c", Redaction(), output=True)
    assert (len(long["output"]), long["output"][0], long["output"][-7:]) == (MAX_OUTPUT, "…", "the end")


def test_both_streams_and_outputs_of_a_kernel_are_told(known: dict[str, Operation]) -> None:
    done = BashExecResult(session_id="s", command_id="c", command="c", status="completed", stdout="out\n", stderr="err\n", exit_code=1)
    assert recorded_result_of(known["bash.exec"], done, "c", Redaction(), output=True)["output"] == "out\nerr"
    outputs: list[dict[str, Any]] = [
        {"output_type": "stream", "text": "printed"},
        {"output_type": "execute_result", "data": {"text/plain": "42", "image/png": "iVBORw0KGgo"}},
        {"output_type": "error", "ename": "ValueError", "evalue": "no"},
    ]
    ran = CodeExecuteResponse(language="python", status="error", outputs=outputs, code="f()", exit_code=1)
    told = recorded_result_of(known["code.execute_code"], Reply(ran), "f()", Redaction(), output=True)
    assert told == {"exit_code": 1, "status": "error", "output": "printed\n42\nValueError: no"}


def test_output_is_left_out_where_it_is_not_to_be_kept(known: dict[str, Operation]) -> None:
    assert "output" not in recorded_result_of(known["shell.exec_command"], shell("text"), "c", Redaction(), output=False)


def test_a_secret_of_the_command_is_not_in_its_output_either(known: dict[str, Operation]) -> None:
    found = recorded_result_of(
        known["shell.exec_command"], shell("logged in with xyzzy"), "login --password xyzzy", Redaction(), output=True
    )
    assert found["output"] == "logged in with ***"


def test_a_restore_tells_what_was_kept_before_and_how_much_was_stopped(known: dict[str, Operation]) -> None:
    kept = Checkpoint(id="c-2", parent="c-1", label="before restoring", who="key", why="before_restore", created=1.0)
    done = CheckpointRestored(head="c-1", kept=kept, stopped=[], reopened=[])
    found = recorded_result_of(known["checkpoints.restore_checkpoint"], done, "", Redaction(), output=True)
    assert found == {"kept": {"id": "c-2", "label": "before restoring"}, "head": "c-1", "stopped": 0}


@pytest.mark.parametrize("result", [None, "text", 7, b"raw", {"output": 5, "exit_code": [1]}, Reply(None)])
def test_an_answer_of_another_shape_tells_nothing(known: dict[str, Operation], result: object) -> None:
    assert recorded_result_of(known["shell.exec_command"], result, "", Redaction(), output=True) == {}


@pytest.mark.parametrize("name", ["file.read_file", "browser-page.get_text", "shell.view", "auth.create_ticket", "file.write_file"])
def test_of_other_answers_nothing_is_kept(known: dict[str, Operation], name: str) -> None:
    assert recorded_result_of(known[name], {"output": "text", "ticket": "abc", "content": "x"}, "", Redaction(), output=True) == {}
