"""The guard of acts, attacked by the holder of a token."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from sandbox_server.core import ALL_SCOPES, Call, Caller, Event, Model, operation, stream_of
from sandbox_server.core.approval import AnswerEffect, ApprovalDenied
from sandbox_server.core.dispatch import Dispatcher
from sandbox_server.core.errors import Conflict
from sandbox_server.core.identity import SERVER
from sandbox_server.core.operation import operations
from sandbox_server.features.approvals.approval_guard import ApprovalGuard
from sandbox_server.features.approvals.browser_gate import BrowserGate
from sandbox_server.features.approvals.shell_lines import REFUSED, TERMINAL
from sandbox_server.features.box.checkpoint_details import CheckpointDetails
from tests.features.approvals.people import Person
from tests.features.approvals.test_gate import gate
from tests.patience import eventually

pytestmark = pytest.mark.anyio

AGENT, ANN = Caller("agent", ALL_SCOPES), Caller("ann", ALL_SCOPES, person=True)
PUSH = {"name": "push", "subject": "shell", "match": {"command": "git push*"}}
TOOL = {"name": "tool", "subject": "tool", "match": {"tool": "delete_*"}}


class Run(Model):
    command: str
    session_id: str | None = None
    exec_dir: str | None = None
    env: dict[str, str | None] | None = None


class Type(Model):
    id: str = "s"
    input: str
    press_enter: bool = False


class Write(Model):
    session_id: str
    input: str
    command_id: str | None = None


class Delete(Model):
    path: Annotated[str, Field(max_length=100_000)] = ""


class Bash:
    tag = "bash"

    def __init__(self) -> None:
        self.ran: list[str] = []

    @operation("POST /v1/bash/exec", scope="shell", operation_id="exec")
    async def exec_command(self, request: Run) -> None:
        """Do it."""
        self.ran.append(request.command)

    @operation("POST /v1/bash/write", scope="shell")
    async def write(self, request: Write) -> None:
        """Do it."""
        self.ran.append(request.input)

    @stream_of(exec_command)
    async def stream_exec(self, request: Run) -> AsyncIterator[Event]:
        """Do it."""
        self.ran.append(request.command)
        yield Event("exit", {})


class Shell:
    tag = "shell"

    def __init__(self) -> None:
        self.ran: list[str] = []

    @operation("POST /v1/shell/write", scope="shell")
    async def write_to_process(self, request: Type) -> None:
        """Do it."""
        self.ran.append(request.input)

    @operation("GET /v1/shell/ws", scope="shell")
    async def terminal(self) -> None:
        """Do it."""
        self.ran.append("terminal")


class Tools:
    tag = "things"

    def __init__(self) -> None:
        self.ran: list[str] = []

    @operation("POST /v1/things/delete", scope="files", tool="delete_thing", aliases=("remove_thing",), operation_id="remove")
    async def delete(self, request: Delete) -> None:
        """Do it."""
        self.ran.append(request.path)


class Programs:
    tag = "checkpoints"

    def __init__(self) -> None:
        self.ran: list[str] = []

    @operation("POST /v1/checkpoints/start", scope="shell")
    async def start_checkpoint_program(self) -> None:
        """Do it."""
        self.ran.append("program")


class Pages:
    tag = "pages"

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.browser: BrowserGate | None = None
        self.fails = ""

    @operation("POST /v1/pages/open", scope="browser", operation_id="open")
    async def open(self) -> None:
        """Fail, while the browser's gate denies something."""
        assert self.browser
        assert not await self.browser.admit(["navigation"], "https://bank.example/", "GET")
        raise Conflict(self.fails)


class Sandbox:
    """Operations behind the guard, and who answers."""

    def __init__(self, folder: Path, *rules: dict[str, Any]) -> None:
        self.person = Person()
        self.pages = Pages()
        self.features = (Bash(), Shell(), Tools(), Programs(), self.pages)
        found = gate(folder, self.person, *rules)[0]
        self.pages.browser = self.browser = BrowserGate(found, lambda: False)
        self.guard = ApprovalGuard(found, "/home/gem/work", "/home/gem", self.browser)
        self._dispatcher = Dispatcher([self.guard])
        self._operations = {each.name: each for feature in self.features for each in operations(feature)}

    @property
    def ran(self) -> list[str]:
        return [line for feature in self.features for line in feature.ran]

    async def call(self, name: str, caller: Caller = AGENT, call: Call | None = None, **fields: object) -> None:
        await self._dispatcher.call(self._operations[name], fields, call or Call(caller, "1"))

    async def stream(self, name: str, call: Call, **fields: object) -> list[Event]:
        return [event async for event in await self._dispatcher.stream(self._operations[name], fields, call)]

    async def asked(self) -> None:
        await eventually(lambda: self.person.answer is not None)


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path, PUSH, TOOL)


async def test_a_command_waits_for_a_person_and_goes_on(sandbox: Sandbox) -> None:
    calling = asyncio.create_task(sandbox.call("bash.exec", command="git push origin main", exec_dir="/x"))
    await sandbox.asked()
    assert sandbox.ran == []
    (question,) = sandbox.person.asked
    assert question.details == {"command": "git push origin main", "caller": "agent", "directory": "/x"}
    assert sandbox.person.answer
    sandbox.person.answer.set_result("once")
    await calling
    assert sandbox.ran == ["git push origin main"]


async def test_nothing_runs_that_was_denied(sandbox: Sandbox) -> None:
    sandbox.person.answers = ["deny"]
    with pytest.raises(ApprovalDenied, match="ann denied this"):
        await sandbox.call("bash.exec", command="git push")
    with pytest.raises(ApprovalDenied):
        await sandbox.stream("bash.exec", Call(AGENT, "1"), command="git push")
    with pytest.raises(ApprovalDenied):
        await sandbox.stream("bash.exec", Call(AGENT, "1", last_event_id="x"), command="git push")
    for surface in ("mcp", "cli"):
        with pytest.raises(ApprovalDenied):
            await sandbox.call("bash.exec", call=Call(AGENT, "1", surface=surface), command="git push")
    assert sandbox.ran == []


async def test_a_person_is_asked_for_nothing_of_their_own(sandbox: Sandbox) -> None:
    await sandbox.call("bash.exec", ANN, command="git push")
    await sandbox.call("shell.terminal", ANN)
    await sandbox.call("things.remove", ANN)
    assert sandbox.person.asked == []


async def test_a_process_of_the_sandbox_is_asked_for_nothing(sandbox: Sandbox) -> None:
    await sandbox.call("things.remove", Caller("agent", frozenset({SERVER})))
    assert sandbox.person.asked == []


async def test_pieces_count_together_whichever_command_they_are_for(sandbox: Sandbox) -> None:
    sandbox.person.answers = ["deny"]
    await sandbox.call("bash.write", session_id="s", input="git pu")
    with pytest.raises(ApprovalDenied):
        await sandbox.call("bash.write", session_id="s", command_id="c", input="sh\n")
    await sandbox.call("bash.write", session_id="other", input="sh\n")
    assert sandbox.ran == ["git pu", "sh\n"]


async def test_what_no_rule_is_about_runs_at_once(sandbox: Sandbox) -> None:
    await sandbox.call("bash.exec", command="git status")
    await sandbox.call("bash.exec", command="")
    assert (sandbox.ran, sandbox.person.asked) == (["git status", ""], [])


@pytest.mark.parametrize(
    "line",
    ["git  push", "\tgit push", "g\\it push", "true;git push", "git push\u200b", "eval 'git push'", "bash -c $'git\\x20push'", "$(x) push"],
)
async def test_quoting_and_nesting_go_round_nothing(sandbox: Sandbox, line: str) -> None:
    sandbox.person.answers = ["deny"]
    with pytest.raises(ApprovalDenied):
        await sandbox.call("bash.exec", command=line)
    assert sandbox.ran == []


async def test_a_line_that_is_typed_in_pieces_is_asked_about_before_its_end(sandbox: Sandbox) -> None:
    sandbox.person.answers = ["deny"]
    await sandbox.call("shell.write_to_process", input="git pu")
    for fields in ({"input": "sh\n"}, {"input": "sh", "press_enter": True}, {"input": "sh\r"}):
        with pytest.raises(ApprovalDenied):
            await sandbox.call("shell.write_to_process", **fields)
    assert sandbox.ran == ["git pu"]
    assert {question.details["command"] for question in sandbox.person.asked} == {"git push\n"}


async def test_pieces_of_two_calls_at_once_are_read_in_their_order(sandbox: Sandbox) -> None:
    sandbox.person.answers = ["deny"]
    pieces = ["git ", "push", "\n"]
    results = await asyncio.gather(*(sandbox.call("shell.write_to_process", input=piece) for piece in pieces), return_exceptions=True)
    assert [type(result) for result in results] == [type(None), type(None), ApprovalDenied]
    assert sandbox.ran == ["git ", "push"]


async def test_a_program_opens_no_terminal_while_rules_guard_the_shells(sandbox: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(ApprovalDenied, match="a program opens no terminal"):
        await sandbox.call("shell.terminal")
    other = Sandbox(tmp_path, TOOL)
    await other.call("shell.terminal")
    assert other.ran == ["terminal"]


async def test_a_program_of_a_checkpoint_is_started_by_no_program_while_rules_guard_the_shells(sandbox: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(ApprovalDenied, match="starts nothing of a checkpoint"):
        await sandbox.call("checkpoints.start_checkpoint_program")
    await sandbox.call("checkpoints.start_checkpoint_program", ANN)
    other = Sandbox(tmp_path, TOOL)
    await other.call("checkpoints.start_checkpoint_program")
    assert (sandbox.ran, other.ran) == (["program"], ["program"])
    real: Any = None
    assert set(REFUSED) - {TERMINAL} <= {each.name for each in operations(CheckpointDetails(real, real, real, 1000))}


@pytest.mark.parametrize("pattern", ["delete_thing", "remove_thing", "things.remove", "things.*", {"regex": "(remove|delete)_.*"}])
async def test_an_operation_is_the_same_by_each_of_its_names(tmp_path: Path, pattern: Any) -> None:
    sandbox = Sandbox(tmp_path, TOOL | {"match": {"tool": pattern}})
    sandbox.person.answers = ["deny"]
    with pytest.raises(ApprovalDenied):
        await sandbox.call("things.remove", path="/x")
    (question,) = sandbox.person.asked
    assert question.details == {"tool": "delete_thing", "arguments": '{"path": "/x"}', "caller": "agent"}


async def test_arguments_are_shown_whole(sandbox: Sandbox) -> None:
    """Too long ones nobody is asked about: test_what_nobody_can_read_whole_nobody_is_asked."""
    sandbox.person.answers = ["once"]
    await sandbox.call("things.remove", path="x" * 5000)
    assert sandbox.person.asked[0].details["arguments"] == json.dumps({"path": "x" * 5000})


async def test_for_this_task_allows_a_line_in_its_directory_alone(sandbox: Sandbox) -> None:
    sandbox.person.answers = ["task", "deny"]
    for _ in range(2):
        await sandbox.call("bash.exec", command="git push", exec_dir="/x")
    assert sandbox.person.asked[0].effects["task"] == AnswerEffect("The same line in /x.", 60)
    others: list[dict[str, Any]] = [{"exec_dir": "/y"}, {"exec_dir": "/x/"}, {"session_id": "s"}]
    for other in others:
        with pytest.raises(ApprovalDenied):
            await sandbox.call("bash.exec", command="git push", **other)


async def test_a_rule_that_is_written_for_a_line_has_its_directory(sandbox: Sandbox) -> None:
    sandbox.person.answers = ["always", "deny"]
    for _ in range(2):
        await sandbox.call("bash.exec", command="git push", exec_dir="/x")
    shown = {"subject": "shell", "match": {"line": "git push", "directory": "/x"}, "action": "allow"}
    assert json.loads(sandbox.person.asked[0].effects["always"].rule) == shown
    with pytest.raises(ApprovalDenied):
        await sandbox.call("bash.exec", command="git push", exec_dir="/y")


async def test_where_the_directory_is_not_known_no_task_allows_a_line(sandbox: Sandbox) -> None:
    sandbox.person.answers = ["once"]
    await sandbox.call("bash.exec", command="git push", session_id="s")
    (question,) = sandbox.person.asked
    assert question.answers == ("once", "always", "deny")
    assert json.loads(question.effects["always"].rule)["match"] == {"line": "git push"}


async def test_for_this_task_allows_a_tool_with_the_same_arguments_alone(sandbox: Sandbox) -> None:
    sandbox.person.answers = ["task", "deny"]
    for _ in range(2):
        await sandbox.call("things.remove", path="/x")
    with pytest.raises(ApprovalDenied):
        await sandbox.call("things.remove", path="/y")


async def test_what_was_approved_is_what_runs(sandbox: Sandbox) -> None:
    fields: dict[str, Any] = {"command": "git push origin main"}
    calling = asyncio.create_task(sandbox.call("bash.exec", **fields))
    await sandbox.asked()
    fields["command"] = "git push origin evil"
    assert sandbox.person.answer
    sandbox.person.answer.set_result("once")
    await calling
    assert sandbox.ran == ["git push origin main"]


async def test_the_question_of_a_caller_who_has_gone_is_withdrawn_and_nothing_runs(sandbox: Sandbox) -> None:
    gone = asyncio.Event()

    async def disconnected() -> None:
        await gone.wait()

    calling = asyncio.create_task(sandbox.call("bash.exec", call=replace(Call(AGENT, "1"), disconnected=disconnected), command="git push"))
    await sandbox.asked()
    gone.set()
    with pytest.raises(ApprovalDenied, match="disconnected"):
        await calling
    assert (sandbox.ran, sandbox.person.withdrawn) == ([], 1)


async def test_a_call_without_fields_runs_no_line(sandbox: Sandbox) -> None:
    sandbox.person.answers = ["once"]
    bash = next(each for each in operations(sandbox.features[0]))

    async def nothing() -> None:
        return None

    await sandbox.guard(bash, None, Call(AGENT, "1"), nothing)
    assert sandbox.person.asked == []


async def test_only_a_call_that_fails_for_what_was_denied_says_so(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, {"name": "bank", "subject": "navigation", "action": "deny"})
    sandbox.pages.fails = "the page could not be loaded: ERR_BLOCKED_BY_CLIENT"
    with pytest.raises(ApprovalDenied):
        await sandbox.call("pages.open")
    sandbox.pages.fails = "the tab was closed"
    with pytest.raises(Conflict):
        await sandbox.call("pages.open")
