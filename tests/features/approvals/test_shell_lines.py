"""The shell lines in requests."""

import pytest
from pydantic import BaseModel

from sandbox_server.app import build
from sandbox_server.features.approvals.shell_lines import LINE_FIELDS, PROGRAM, TYPING, TypedLines, line_of
from sandbox_server.features.bash.commands import BashExecRequest
from sandbox_server.features.browser.windows.programs import ProgramRequest
from sandbox_server.features.mcp.servers import NewMcpServer
from sandbox_server.features.shell.commands import ExecuteBashRequest, ShellExecRequest
from sandbox_server.features.shutdown_hooks import RegisterHookRequest
from sandbox_server.settings import Settings

WORKSPACE = "/home/gem/work"


@pytest.mark.parametrize(
    ("operation", "request_", "directory", "session"),
    [
        ("bash.exec", BashExecRequest(command="ls"), WORKSPACE, ""),
        ("bash.exec", BashExecRequest(command="ls", session_id="s"), None, "s"),
        ("bash.exec", BashExecRequest(command="ls", exec_dir="/x"), "/x", ""),
        ("shell.exec_command", ShellExecRequest(command="ls", id="s"), None, "s"),
        ("shell.execute_bash", ExecuteBashRequest(cmd="ls", cwd="/x"), "/x", ""),
        ("screen.launch_program", ProgramRequest(command="ls"), WORKSPACE, ""),
        ("screen.launch_program", ProgramRequest(command="ls", exec_dir="/x"), "/x", ""),
        ("sandbox.register_hook", RegisterHookRequest(name="h", command="ls"), WORKSPACE, ""),
    ],
)
def test_a_line_comes_with_where_it_runs_if_that_is_known(operation: str, request_: BaseModel, directory: str | None, session: str) -> None:
    line = line_of(operation, request_, WORKSPACE)
    assert line
    assert (line.text, line.directory, line.session, line.unclear) == ("ls", directory, session, False)


def test_an_mcp_servers_program_is_a_line_of_its_words() -> None:
    line = line_of(PROGRAM, NewMcpServer(server_name="x", command="sh", args=["-c", "git push"]), WORKSPACE)
    assert line
    assert line.text == "sh -c 'git push'"
    assert line_of(PROGRAM, NewMcpServer(server_name="x", url="http://x.example/mcp"), WORKSPACE) is None


def test_variables_that_run_something_make_a_line_unclear() -> None:
    for name, unclear in (("BASH_ENV", True), ("PATH", True), ("LANG", False)):
        line = line_of("bash.exec", BashExecRequest(command="ls", env={name: "/tmp/x"}), WORKSPACE)
        assert line
        assert line.unclear is unclear


@pytest.mark.parametrize("name", ["BASH_FUNC_ls%%", "LD_AUDIT", "GIT_SSH_COMMAND", "PAGER"])
def test_a_function_a_librarys_or_a_programs_variable_makes_a_line_unclear(name: str) -> None:
    line = line_of("bash.exec", BashExecRequest(command="ls", env={name: "() { git push; }"}), WORKSPACE)
    assert line
    assert line.unclear


def test_variables_are_part_of_what_is_shown_and_allowed() -> None:
    line = line_of("bash.exec", BashExecRequest(command="make", env={"B": "x y", "A": "1"}), WORKSPACE)
    assert line
    assert line.text == "A=1 B='x y' make"


def test_every_operation_that_takes_a_command_or_input_is_known() -> None:
    known = {*LINE_FIELDS, *TYPING, PROGRAM}
    fields = {"command", "cmd", "input", "commands", "script_line"}
    taking = {each.name for each in build(Settings()).operations if each.spec.request and fields & set(each.spec.request.model_fields)}
    # the `command` of the first is one of five words, the `input` of the second an act on the screen
    assert taking - known == {"file.str_replace_editor", "computer.anthropic_action"}
    assert known <= taking


def test_a_line_that_comes_in_pieces_is_read_whole() -> None:
    typed = TypedLines()
    assert typed.line("s", "git pu", keyboard=True) is None
    typed.typed("s", "git pu", keyboard=True)
    assert typed.line("other", "sh\n", keyboard=True)
    line = typed.line("s", "sh\r", keyboard=True)
    assert line
    assert (line.text, line.unclear) == ("git push\n", False)
    typed.typed("s", "sh\r", keyboard=True)
    assert typed.line("s", "ls", keyboard=True) is None


@pytest.mark.parametrize("keys", ["\x1b[A\n", "\x1b[A", "\t", "\x7f", "\x0f", "\x16"])
def test_keys_that_edit_a_line_make_it_unclear_on_a_keyboard(keys: str) -> None:
    line = TypedLines().line("s", keys, keyboard=True)
    assert line
    assert line.unclear


def test_an_interrupt_between_lines_is_no_part_of_one() -> None:
    typed = TypedLines()
    typed.typed("s", "sleep 9\r", keyboard=True)
    assert typed.line("s", "\x03", keyboard=True) is None
    typed.typed("s", "\x03\x03l", keyboard=True)
    line = typed.line("s", "s\r\x03pwd\n", keyboard=True)
    assert line
    assert (line.text, line.unclear) == ("ls\npwd\n", False)


def test_a_line_that_was_interrupted_may_still_be_there_and_is_unclear_until_enter() -> None:
    typed = TypedLines()
    typed.typed("s", "git push", keyboard=True)
    assert typed.line("s", "\x03", keyboard=True) is None
    typed.typed("s", "\x03", keyboard=True)
    line = typed.line("s", "\n", keyboard=True)
    assert line
    assert (line.text, line.unclear) == ("git push\x03\n", True)
    typed.typed("s", "\n", keyboard=True)
    after = typed.line("s", "ls\n", keyboard=True)
    assert after
    assert (after.text, after.unclear) == ("ls\n", False)


def test_an_end_of_file_drops_no_line_that_has_begun() -> None:
    line = TypedLines().line("s", "git push\x04", keyboard=True)
    assert line
    assert (line.text, line.unclear) == ("git push\x04", True)


@pytest.mark.parametrize("byte", ["\x03", "\x04"])
def test_on_a_pipe_these_are_bytes_of_the_line(byte: str) -> None:
    typed = TypedLines()
    typed.typed("s", f"git push #{byte}", keyboard=False)
    line = typed.line("s", "\n", keyboard=False)
    assert line
    assert line.text == f"git push #{byte}\n"


def test_a_line_that_is_too_long_to_remember_is_unclear() -> None:
    typed = TypedLines()
    typed.typed("s", "x" * 8192, keyboard=False)
    line = typed.line("s", "x", keyboard=False)
    assert line
    assert line.unclear
