"""The adapter as deep agents call it, with a server that answers as a test says; tests/examples runs it in an agent's loop."""

import asyncio
from typing import Any

import httpx
import pytest
from tandem import Sandbox

from tests.clients.python.conftest import Server
from tests.clients.python.test_sandbox import handoff

pytest.importorskip("deepagents", reason="tests/image/test_integrations.py runs these with the framework")
DONE = {"status": "completed", "exit_code": 3, "stdout": "out\n", "stderr": "err\n"}
HELD = {"reason": "held_by_human", "holder": "Ann", "epoch": 3}


@pytest.fixture
def sandbox(server: Server) -> Sandbox:
    made = Sandbox("http://box", "key")
    made._connection._http = httpx.Client(base_url="http://box", transport=httpx.MockTransport(server.take))
    return made


@pytest.fixture
def backend(sandbox: Sandbox) -> Any:
    from tandem.integrations.deepagents import SandboxBackend

    return SandboxBackend(sandbox)


def test_a_command_is_run_within_its_time(backend: Any, server: Server) -> None:
    server.then(200, DONE).then(200, {**DONE, "status": "timed_out", "exit_code": None})
    done, late = backend.execute("c", timeout=7), backend.execute("c")
    assert (done.output, done.exit_code) == ("out\nerr\n", 3)
    assert (late.output, late.exit_code) == ("out\nerr\n\n[timed_out]", 124)
    assert [server.body(number)["hard_timeout"] for number in (0, 1)] == [7, 120.0]
    assert backend.id == "http://box"


def test_a_command_that_is_refused_is_a_failure_of_what_needs_it(backend: Any, server: Server) -> None:
    server.then(423, HELD).then(423, HELD).then(423, HELD).then(423, HELD)
    done = backend.execute("c")
    assert done.exit_code == 126
    for looked in (asyncio.run(backend.als("/home")), backend.grep("x", "/home"), backend.read("/home/a")):
        assert "A person has control" in looked.error
    assert "A person has control of the computer now, so nothing was done." in done.output


def test_a_directory_is_listed(backend: Any, server: Server) -> None:
    entry = {"name": "d", "path": "/a/d", "is_directory": True, "modified_time": "1", "permissions": "755"}
    server.then(200, {"path": "/a", "files": [entry], "total_count": 1, "directory_count": 1, "file_count": 0})
    [listed] = backend.ls("/a").entries
    assert (listed["path"], listed["is_dir"], listed["size"]) == ("/a/d", True, 0)


def test_each_file_fails_alone(backend: Any, server: Server) -> None:
    server.then(404).then(200, {"file_path": "/b", "file_size": 1, "success": True}).then(403).then(423, HELD)
    missing, written, forbidden, held = backend.upload_files([("/a", b"1"), ("/b", b"2"), ("/c", b"3"), ("/d", b"4")])
    assert [missing.error, written.error, forbidden.error] == ["file_not_found", None, "permission_denied"]
    assert "A person has control" in held.error
    server.answers += [httpx.Response(200, content=b"\0\xff"), httpx.ConnectError("away")]
    read, away = backend.download_files(["/b", "/c"])
    assert (read.content, read.error) == (b"\0\xff", None)
    assert away.content is None
    assert "does not answer" in away.error


def test_a_question_is_answered_and_a_failure_is_an_answer_too(sandbox: Sandbox, server: Server) -> None:
    from tandem.integrations.deepagents import ask_person

    server.then(200, handoff()).then(200, handoff(status="closed", outcome="cannot", confirmed=False)).then(429, None, message="too many")
    tool = ask_person(sandbox, timeout=5)
    asked = {"kind": "confirm", "question": "Shall I?"}
    assert tool.invoke(asked) == "The person said no. Do not do it."
    assert "too many" in tool.invoke(asked)
    with pytest.raises(ValueError, match="kind"):
        tool.invoke({**asked, "kind": "approve"})
    assert len(server.asked) == 3
