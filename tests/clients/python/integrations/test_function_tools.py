import asyncio

import httpx
from tandem.integrations.function_tools import SandboxFunctions

from tests.clients.python.conftest import Server
from tests.clients.python.integrations.boxes import DONE, HELD, boxed
from tests.clients.python.test_sandbox import handoff


def test_a_command_is_stopped_in_time_and_says_how_it_ended(server: Server) -> None:
    server.then(200, DONE).then(200, {**DONE, "status": "timed_out", "exit_code": None})
    functions = SandboxFunctions(boxed(server), command_timeout=7)
    assert asyncio.run(functions.run_command("c")) == "out\nerr\n\n[completed, exit code 3]"
    assert asyncio.run(functions.run_command("c")).endswith("[timed_out, exit code None]")
    assert server.body()["hard_timeout"] == 7


def test_a_person_who_drives_is_told_of_and_nothing_raises(server: Server) -> None:
    functions = SandboxFunctions(boxed(server))
    calls = [functions.run_command("c"), functions.open_page("http://a"), functions.read_page(), functions.write_file("/a", "b")]
    for _ in calls:
        server.then(423, HELD)
    for call in calls:
        assert "A person has control of the computer now, so nothing was done." in asyncio.run(call)


def test_a_file_that_is_not_text_or_not_there_is_told(server: Server) -> None:
    server.answers += [httpx.Response(200, content=b"text"), httpx.Response(200, content=b"\xff")]
    server.then(404, None, message="no such file")
    functions = SandboxFunctions(boxed(server))
    assert [asyncio.run(functions.read_file("/a")) for _ in range(2)] == ["text", "The file is not text."]
    assert "no such file" in asyncio.run(functions.read_file("/a"))


def test_a_no_of_a_person_is_told_and_a_wrong_question_asks_nobody(server: Server) -> None:
    server.then(200, handoff()).then(200, handoff(status="closed", outcome="cannot", confirmed=False))
    functions = SandboxFunctions(boxed(server), person_timeout=5)
    assert asyncio.run(functions.ask_person("confirm", "Shall I?")) == "The person said no. Do not do it."
    assert "a wrong argument" in asyncio.run(functions.ask_person("confirm", ""))
    assert len(server.asked) == 2


def test_each_function_has_a_name_and_words_for_a_model(server: Server) -> None:
    found = SandboxFunctions(boxed(server)).all()
    names = [function.__name__ for function in found]
    assert names == ["run_command", "read_file", "write_file", "open_page", "read_page", "ask_person"]
    assert all(function.__doc__ for function in found)
