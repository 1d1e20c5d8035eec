"""Processes, on the operations of a stub."""

import asyncio
import base64
from typing import Any

import httpx2
import pytest
from starlette.responses import StreamingResponse
from tandem_fleet.e2b import process_service, terminal_program
from tandem_fleet.e2b.access import SandboxTokens
from tandem_fleet.fleet import Fleet

from tests.fleet.e2b.calling import Client, opened
from tests.fleet.e2b.stub_sandbox import StubSandbox, events, refused

pytestmark = pytest.mark.anyio
ENDED = {"status": "completed", "exit_code": 0, "signal": None}
STATUS = ("status", {"status": "running"})
LS: dict[str, Any] = {"process": {"cmd": "/bin/bash", "args": ["-l", "-c", "ls"], "envs": {"A": "2"}}, "stdin": False}


@pytest.fixture
async def client(http: httpx2.AsyncClient, fleet: Fleet, tokens: SandboxTokens, stub: StubSandbox) -> Client:
    """A caller of a sandbox with a variable."""
    stub.on("POST /v1/bash/sessions/create", lambda fields: fields)
    made = await opened(http, fleet, tokens, envVars={"A": "1", "B": "1"})
    stub.asked.clear()
    return made


def run(stub: StubSandbox, *sent: tuple[str, dict[str, Any]]) -> None:
    """Have the next command send events."""
    stub.on("POST /v1/bash/exec", lambda _: events(STATUS, *sent))


def out(text: str, stream: str = "stdout") -> tuple[str, dict[str, Any]]:
    """An event of output."""
    return "output", {"stream": stream, "data": text}


def data(text: str) -> str:
    """Bytes as they are sent."""
    return base64.b64encode(text.encode()).decode()


async def test_a_process_runs_and_its_session_is_closed(client: Client, stub: StubSandbox) -> None:
    run(stub, out("ä"), out("no", "stderr"), ("exit", ENDED | {"exit_code": 3}))
    messages, end = await client.stream("process.Process/Start", LS, connect_timeout_ms="5000")
    pid = messages[0]["event"]["start"]["pid"]
    said = "exit status 3"
    assert [message["event"] for message in messages[1:]] == [
        {"data": {"stdout": data("ä")}},
        {"data": {"stderr": data("no")}},
        {"end": {"exitCode": 3, "exited": True, "status": said, "error": said}},
    ]
    assert end == {}
    [asked] = stub.calls("POST /v1/bash/exec")
    assert asked == {
        "command": "exec /bin/bash -l -c ls </dev/null",
        "session_id": f"e2b.{pid}",
        "exec_dir": "/home/gem",
        "env": {"A": "2", "B": "1"},
        "hard_timeout": 5.0,
    }
    assert f"POST /v1/bash/sessions/e2b.{pid}/close" in [name for name, _ in stub.asked]


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        ({"status": "killed", "exit_code": None, "signal": "SIGKILL"}, "signal: killed"),
        ({"status": "killed", "exit_code": None, "signal": "SIGUSR1"}, "signal: usr1"),
        ({"status": "killed", "exit_code": None, "signal": None}, "signal: unknown"),
    ],
)
async def test_a_signal_is_said_as_clients_know_it(client: Client, stub: StubSandbox, ended: dict[str, Any], said: str) -> None:
    run(stub, ("exit", ended))
    messages, _ = await client.stream("process.Process/Start", LS)
    assert messages[-1]["event"]["end"] == {"exitCode": -1, "exited": False, "status": said, "error": said}


async def test_the_end_of_its_time_is_an_error(client: Client, stub: StubSandbox) -> None:
    run(stub, ("exit", {"status": "timed_out", "exit_code": None}))
    _, end = await client.stream("process.Process/Start", LS)
    assert end["error"]["code"] == "deadline_exceeded"


async def test_a_process_that_cannot_start_leaves_no_session(client: Client, stub: StubSandbox) -> None:
    stub.on("POST /v1/bash/exec", lambda _: refused(400, "no such directory"))
    messages, end = await client.stream("process.Process/Start", LS)
    assert (messages, end["error"]["code"]) == ([], "invalid_argument")
    assert stub.asked[-1][0].endswith("/close")
    _, empty = await client.stream("process.Process/Start", {})
    assert empty["error"]["code"] == "invalid_argument"


async def test_a_connection_that_is_lost_is_said_and_the_process_goes_on(client: Client, stub: StubSandbox) -> None:
    run(stub, out("a"))
    _, end = await client.stream("process.Process/Start", LS)
    assert end["error"]["code"] == "unavailable"
    assert not any(name.endswith("/close") for name, _ in stub.asked)


async def test_root_is_another_user_in_its_own_home(client: Client, stub: StubSandbox) -> None:
    run(stub, ("exit", ENDED))
    root = f"Basic {base64.b64encode(b'root:').decode()}"
    await client.stream("process.Process/Start", {"process": {"cmd": "id"}}, authorization=root)
    [asked] = stub.calls("POST /v1/bash/exec")
    assert (asked["command"], asked["exec_dir"]) == ("exec sudo -n -E -H -- env -C /root id", "/")
    _, end = await client.stream("process.Process/Start", LS, authorization=f"Basic {base64.b64encode(b'x:').decode()}")
    assert end["error"]["code"] == "unauthenticated"


async def test_room_is_made_where_sessions_of_ended_processes_fill_the_sandbox(client: Client, stub: StubSandbox) -> None:
    full = [True]

    def create(fields: dict[str, Any]) -> Any:
        return refused(429, "full") if full.pop() else fields

    sessions = [
        {"session_id": "e2b.5", "current_command": None, "command_count": 1, "working_dir": "/"},
        {"session_id": "e2b.6", "current_command": None, "command_count": 0, "working_dir": "/"},
        {"session_id": "e2b.7", "current_command": "exec a", "command_count": 1, "working_dir": "/"},
        {"session_id": "mine", "current_command": None, "command_count": 1, "working_dir": "/"},
    ]
    full[:] = [False, True]
    stub.on("POST /v1/bash/sessions/create", create)
    stub.on("GET /v1/bash/sessions", lambda _: sessions)
    run(stub, ("exit", ENDED))
    messages, _ = await client.stream("process.Process/Start", LS)
    closed = [name for name, _ in stub.asked if name.endswith("/close")]
    assert closed[0] == "POST /v1/bash/sessions/e2b.5/close"
    assert len(closed) == 2
    assert messages[-1]["event"]["end"]["exitCode"] == 0


async def test_processes_are_listed_as_they_were_started(client: Client, stub: StubSandbox) -> None:
    terminal = "exec " + " ".join(f"'{word}'" for word in terminal_program.argv(2, 3, ("bash", "-i")))
    sessions = [
        {"session_id": "e2b.5", "current_command": ": 'my tag'; exec /bin/bash -c 'a b' </dev/null", "working_dir": "/w"},
        {"session_id": f"e2b.{1 << 30}", "current_command": terminal, "working_dir": "/"},
        {"session_id": "e2b.6", "current_command": None, "working_dir": "/"},
        {"session_id": "other", "current_command": "ls", "working_dir": "/"},
    ]
    stub.on("GET /v1/bash/sessions", lambda _: sessions)
    listed = (await client.unary("process.Process/List", {})).json()["processes"]
    assert listed == [
        {"config": {"cmd": "/bin/bash", "args": ["-c", "a b"], "envs": {}, "cwd": "/w"}, "pid": 5, "tag": "my tag"},
        {"config": {"cmd": "bash", "args": ["-i"], "envs": {}, "cwd": "/"}, "pid": 1 << 30},
    ]
    stub.on("POST /v1/bash/output", lambda fields: events(STATUS, ("exit", ENDED)))
    messages, _ = await client.stream("process.Process/Connect", {"process": {"tag": "my tag"}})
    assert messages[0] == {"event": {"start": {"pid": 5}}}
    for selector in ({"tag": "none"}, {}):
        _, end = await client.stream("process.Process/Connect", {"process": selector})
        assert end["error"]["code"] == "not_found"


async def test_a_process_that_the_sandbox_does_not_have_is_not_found(client: Client) -> None:
    terminal = {"process": {"pid": process_service.TERMINALS}}
    for method, message in (
        ("SendInput", {"process": {"pid": 77}, "input": {"stdin": ""}}),
        ("SendSignal", {"process": {"pid": 77}, "signal": 9}),
        ("CloseStdin", {"process": {"pid": 77}}),
        ("Update", terminal | {"pty": {"size": {}}}),
    ):
        answer = await client.unary(f"process.Process/{method}", message)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), method
    _, end = await client.stream("process.Process/Connect", {"process": {"pid": 77}})
    assert end["error"]["code"] == "not_found"


async def test_input_waits_until_it_is_read(client: Client, stub: StubSandbox) -> None:
    full = [True, True]
    stub.on("POST /v1/bash/write", lambda _: refused(429, "full") if full and full.pop() else None)
    answer = await client.unary("process.Process/SendInput", {"process": {"pid": 5}, "input": {"stdin": data("hi\n")}})
    assert answer.json() == {}
    assert [one["input"] for one in stub.calls("POST /v1/bash/write")] == ["hi\n"] * 3
    await client.unary("process.Process/SendInput", {"process": {"pid": 5}, "input": {"stdin": "/w=="}})
    assert stub.calls("POST /v1/bash/write")[-1]["input"] == "\udcff"
    await client.unary("process.Process/CloseStdin", {"process": {"pid": 5}})
    assert stub.calls("POST /v1/bash/write")[-1]["eof"] is True


async def test_a_stream_of_input_keeps_its_order(client: Client, stub: StubSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_service, "INPUT_PIECE", 2)
    stub.on("POST /v1/bash/write", lambda _: None)
    start = {"start": {"process": {"pid": 5}}}
    pieces = [{"data": {"input": {"stdin": data(text)}}} for text in ("abc", "d")]
    messages, end = await client.stream("process.Process/StreamInput", start, pieces[0], {"keepalive": {}}, pieces[1])
    assert (messages, end) == ([{}], {})
    assert [one["input"] for one in stub.calls("POST /v1/bash/write")] == ["ab", "c", "d"]
    _, end = await client.stream("process.Process/StreamInput", pieces[0])
    assert end["error"]["code"] == "invalid_argument"


async def test_a_terminal_has_input_and_a_size_of_its_own_kind(client: Client, stub: StubSandbox) -> None:
    run(stub, out("$ "), ("exit", ENDED))
    shell = {"process": {"cmd": "/bin/bash", "args": ["-i"]}, "pty": {"size": {"rows": 10, "cols": 20}}}
    messages, _ = await client.stream("process.Process/Start", shell)
    pid = messages[0]["event"]["start"]["pid"]
    assert messages[1]["event"] == {"data": {"pty": data("$ ")}}
    stub.on("POST /v1/bash/write", lambda _: None)
    process = {"process": {"pid": pid}}
    await client.unary("process.Process/SendInput", process | {"input": {"pty": data("ls\n")}})
    await client.unary("process.Process/Update", process | {"pty": {"size": {"rows": 1, "cols": 2}}})
    assert [one["input"] for one in stub.calls("POST /v1/bash/write")] == [f"d{data('ls' + chr(10))}\n", "r1 2\n"]
    for method, wrong in (
        ("SendInput", process | {"input": {"stdin": ""}}),
        ("SendInput", {"process": {"pid": 5}, "input": {"pty": ""}}),
        ("SendInput", {"process": {"pid": 5}}),
        ("CloseStdin", process),
        ("Update", {"process": {"pid": 5}, "pty": {"size": {}}}),
        ("Update", process | {"pty": {"size": {"rows": 10**9}}}),
    ):
        assert (await client.unary(f"process.Process/{method}", wrong)).status_code == 400


async def test_a_signal_is_for_what_runs(client: Client, stub: StubSandbox) -> None:
    stub.on("POST /v1/bash/output", lambda _: {"command": {"status": "running"}})
    stub.on("POST /v1/bash/kill", lambda _: None)
    for sent, name in (("SIGNAL_SIGKILL", "SIGKILL"), (15, "SIGTERM")):
        assert (await client.unary("process.Process/SendSignal", {"process": {"pid": 5}, "signal": sent})).status_code == 200
        assert stub.calls("POST /v1/bash/kill")[-1]["signal"] == name
    assert (await client.unary("process.Process/SendSignal", {"process": {"pid": 5}, "signal": 2})).status_code == 400
    stub.on("POST /v1/bash/output", lambda _: {"command": {"status": "completed"}})
    assert (await client.unary("process.Process/SendSignal", {"process": {"pid": 5}, "signal": 9})).status_code == 404


async def test_silence_of_a_process_is_filled(client: Client, stub: StubSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow() -> Any:
        yield b"event: status\ndata: {}\n\n"
        await asyncio.sleep(1.5)
        yield b'event: exit\ndata: {"exit_code": 0}\n\n'

    stub.on("POST /v1/bash/exec", lambda _: StreamingResponse(slow(), media_type="text/event-stream"))
    messages, _ = await client.stream("process.Process/Start", LS, keepalive_ping_interval="1")
    assert {"event": {"keepalive": {}}} in messages
