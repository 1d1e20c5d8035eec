import httpx
import pytest
from tandem import wire
from tandem._sync.connection import Connection
from tandem._sync.shell import CommandResult, Output, Shell
from tandem.errors import CommandFailed

from tests.clients.python.conftest import Server

DONE = {"status": "completed", "exit_code": 0, "stdout": "hi\n", "stderr": None}


@pytest.fixture
def shell(server: Server) -> Shell:
    return Shell(Connection(wire.Place("http://box", ""), 0, httpx.Client(transport=httpx.MockTransport(server.take))))


def test_a_command_gives_its_output_and_sends_what_was_said(shell: Shell, server: Server) -> None:
    server.then(200, DONE)
    assert shell.run("echo hi", cwd="/tmp", timeout=5) == CommandResult("echo hi", "completed", 0, "hi\n", "")
    assert server.body() == {"command": "echo hi", "exec_dir": "/tmp", "hard_timeout": 5, "max_output_length": 0}


def test_a_command_that_fails_raises_where_that_was_asked(shell: Shell, server: Server) -> None:
    failed = DONE | {"exit_code": None, "status": "timed_out", "stderr": "too long"}
    server.then(200, failed).then(200, failed)
    assert not shell.run("sleep 9").ok
    with pytest.raises(CommandFailed, match="too long"):
        shell.run("sleep 9", check=True)


def test_output_comes_while_it_is_written_and_the_result_last(shell: Shell, server: Server) -> None:
    server.events("id: 1", "event: output", 'data: {"stream": "stderr", "data": "a"}', "", broken=True)
    server.events("id: 2", "event: exit", 'data: {"status": "completed", "exit_code": 3}', "")
    wire.PAUSE_SECONDS, before = (0.001, 0.001), wire.PAUSE_SECONDS
    try:
        assert list(shell.stream("x")) == [Output("stderr", "a"), CommandResult("x", "completed", 3, "", "")]
    finally:
        wire.PAUSE_SECONDS = before
