"""Shell sessions by plain HTTP: what is said of a command is true, and a session is there until it is closed."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.image.container import engine
from tests.patience import until

if TYPE_CHECKING:
    from tests.image.container import Sandbox

type Seen = tuple[str, str, Any]


@pytest.fixture
def session(sandbox: "Sandbox", request: pytest.FixtureRequest) -> Iterator[str]:
    """An id for a session of this test, which is closed after it."""
    name: str = request.node.name.replace("/", "-")[:100]
    yield name
    sandbox.request("DELETE", f"/v1/shell/sessions/{name}")


def post(sandbox: "Sandbox", path: str, **body: object) -> httpx.Response:
    return sandbox.request("POST", f"/v1/shell/{path}", json=body)


def run(sandbox: "Sandbox", session: str, command: str, **more: object) -> Any:
    answer = post(sandbox, "exec", id=session, command=command, **more)
    assert answer.status_code == 200, answer.text
    assert answer.json()["success"]
    return answer.json()["data"]


def output(seen: list[Seen]) -> str:
    return "".join(data["output"] for _, name, data in seen if name == "output")


@pytest.mark.parametrize(
    ("command", "text", "code"),
    [
        ("cat <<'EOF'\n$HOME \"quoted\"\nEOF", '$HOME "quoted"\n', 0),
        ("for i in 1 2\ndo\n  echo $i\ndone\nfalse", "1\n2\n", 1),
        ("exit_with() { return 3; }; exit_with", "", 3),
        ("nonexistent-program", "bash: nonexistent-program: command not found\n", 127),
        ("printf '10%%\\r100%%\\n\\033[1mbold\\033[0m\\n'", "100%\nbold\n", 0),
        ("echo 日本 é", "日本 é\n", 0),
        ("", "", 0),
    ],
)
def test_a_command_gives_its_own_output_and_exit_code(sandbox: "Sandbox", session: str, command: str, text: str, code: int) -> None:
    done = run(sandbox, session, command)
    assert (done["status"], done["output"], done["exit_code"]) == ("completed", text, code)


@pytest.mark.parametrize("command", ['echo "unclosed', "if true; then", "echo )"])
def test_incomplete_input_is_an_error_and_not_a_question(sandbox: "Sandbox", session: str, command: str) -> None:
    assert run(sandbox, session, command)["exit_code"] == 2
    assert run(sandbox, session, "echo after")["output"] == "after\n"


def test_an_id_that_was_never_seen_makes_a_session_and_says_so(sandbox: "Sandbox", session: str) -> None:
    assert f"no session {session!r}" in post(sandbox, "exec", id=session, command="cd /usr; export KEPT=yes").json()["hint"]
    later = post(sandbox, "exec", id=session, command="pwd; echo $KEPT").json()
    assert (later["hint"], later["data"]["output"]) == (None, "/usr\nyes\n")


def test_a_soft_timeout_leaves_the_command_running(sandbox: "Sandbox", session: str) -> None:
    run(sandbox, session, "true")
    begun = run(sandbox, session, "echo one; read -r line; echo got $line; (exit 4)", timeout=2)
    assert (begun["status"], begun["output"], begun["exit_code"]) == ("running", "one\n", None)
    assert post(sandbox, "wait", id=session, seconds=0).json()["data"] == {"status": "running"}
    assert post(sandbox, "write", id=session, input="input", press_enter=True).json()["success"]
    assert post(sandbox, "wait", id=session, seconds=30).json()["data"] == {"status": "completed"}
    shown = post(sandbox, "view", id=session).json()["data"]
    assert (shown["status"], shown["exit_code"]) == ("completed", 4)
    assert "got input" in shown["output"]


def test_silence_is_told_and_the_command_goes_on_until_it_is_killed(sandbox: "Sandbox", session: str) -> None:
    run(sandbox, session, "true")
    begun = run(sandbox, session, "echo one; sleep 600", no_change_timeout=2)
    assert (begun["status"], begun["output"], begun["exit_code"]) == ("no_change_timeout", "one\n", None)
    refused = post(sandbox, "exec", id=session, command="true")
    assert refused.status_code == 409
    assert "sleep 600" in refused.json()["message"]
    killed = post(sandbox, "kill", id=session).json()["data"]
    assert (killed["status"], killed["exit_code"]) == ("terminated", None)
    assert run(sandbox, session, "echo after")["output"] == "after\n"


def test_a_hard_timeout_ends_the_command_and_not_the_session(sandbox: "Sandbox", session: str) -> None:
    run(sandbox, session, "kept=yes")
    ended = run(sandbox, session, "echo one; sleep 602", hard_timeout=2)
    assert (ended["status"], ended["output"].split()[0], ended["exit_code"]) == ("hard_timeout", "one", None)
    until(lambda: sandbox.exec("pgrep", "-f", "^sleep 602$").code == 1)
    assert run(sandbox, session, "echo $kept")["output"] == "yes\n"


def test_a_session_that_was_cleaned_up_is_answered_as_clients_expect(sandbox: "Sandbox", session: str) -> None:
    run(sandbox, session, "true")
    assert sandbox.request("DELETE", f"/v1/shell/sessions/{session}").status_code == 200
    for path, body in (
        ("exec", {"command": "true"}),
        ("view", {}),
        ("wait", {}),
        ("kill", {}),
        ("write", {"input": "", "press_enter": True}),
    ):
        answer = post(sandbox, path, id=session, **body)
        assert answer.status_code == 404
        assert answer.json() == {"success": False, "message": "Session not found", "data": None, "hint": None}
    assert sandbox.request("DELETE", f"/v1/shell/sessions/{session}").status_code == 404


def test_cleaning_up_ends_what_runs_even_what_ignores_a_hang_up(sandbox: "Sandbox", session: str) -> None:
    run(sandbox, session, "trap '' HUP INT TERM; exec sleep 601", async_mode=True)
    until(lambda: sandbox.exec("pgrep", "-f", "^sleep 601$").code == 0)
    sandbox.request("DELETE", f"/v1/shell/sessions/{session}")
    until(lambda: sandbox.exec("pgrep", "-f", "^sleep 601$").code == 1)


def test_long_output_is_cut_in_the_middle_unless_the_whole_is_asked_for(sandbox: "Sandbox", session: str) -> None:
    cut = run(sandbox, session, "seq 100000")["output"]
    assert len(cut) <= 30_000
    assert "characters omitted" in cut
    assert (cut[:6], cut[-7:]) == ("1\n2\n3\n", "100000\n")
    assert run(sandbox, session, "seq 100000", truncate=False)["output"] == "".join(f"{number}\n" for number in range(1, 100_001))


def test_one_session_too_many_closes_none(start_sandbox: Callable[..., "Sandbox"]) -> None:
    sandbox = start_sandbox(env={"MAX_SHELL_SESSIONS": "2", "BROWSER_START": "lazy"})
    run(sandbox, "one", "kept=yes")
    run(sandbox, "two", "true")
    refused = post(sandbox, "exec", id="three", command="true")
    assert (refused.status_code, refused.json()["success"]) == (429, False)
    assert int(refused.headers["Retry-After"]) >= 1
    assert run(sandbox, "one", "echo $kept")["output"] == "yes\n"
    stats = sandbox.request("GET", "/v1/shell/sessions/stats").json()["data"]
    assert (stats["total_sessions"], stats["max_sessions"], stats["usage_ratio"]) == (2, 2, 1.0)
    sandbox.request("DELETE", "/v1/shell/sessions/two")
    assert run(sandbox, "three", "echo in")["output"] == "in\n"


def test_a_command_that_was_asked_before_the_server_died_is_answered_after(mended: "Sandbox") -> None:
    run(mended, "idle", "cd /usr; kept=yes")
    run(mended, "busy", "read -r line; echo got $line; (exit 5)", async_mode=True)
    run(mended, "closed", "true")
    mended.request("DELETE", "/v1/shell/sessions/closed")
    assert mended.exec("pkill", "-KILL", "-f", "sandbox_server serve").code == 0
    mended.wait_ready()
    assert run(mended, "idle", "pwd; echo $kept")["output"] == "/usr\nyes\n"
    assert post(mended, "exec", id="closed", command="true").status_code == 404
    assert post(mended, "exec", id="busy", command="true").status_code == 409
    post(mended, "write", id="busy", input="input", press_enter=True)
    assert post(mended, "wait", id="busy", seconds=30).json()["data"] == {"status": "completed"}
    shown = post(mended, "view", id="busy").json()["data"]
    assert shown["exit_code"] == 5
    assert "got input" in shown["output"]


@pytest.mark.slow
def test_after_the_container_starts_again_a_session_is_opened_again_where_it_was(mended: "Sandbox") -> None:
    run(mended, "main", "cd /usr; lost=yes")
    mended.stop()
    assert engine("start", mended.name).code == 0
    mended.wait_ready()
    answer = post(mended, "exec", id="main", command="echo $PWD:$lost").json()
    assert answer["data"]["output"] == "/usr:\n"
    assert "new one was opened" in answer["hint"]


def test_however_often_the_container_starts_again_commands_without_a_session_use_the_same(start_sandbox: Callable[..., "Sandbox"]) -> None:
    sandbox = start_sandbox(env={"MAX_SHELL_SESSIONS": "1", "BROWSER_START": "lazy"})
    used = set()
    for _ in range(3):
        answer = post(sandbox, "exec", command="echo hi")
        assert (answer.status_code, answer.json()["data"]["output"]) == (200, "hi\n"), answer.text
        used.add(answer.json()["data"]["session_id"])
        assert engine("restart", sandbox.name).code == 0
        sandbox.wait_ready()
    assert len(used) == 1
    assert run(sandbox, "named", "echo in")["output"] == "in\n", "an idle session of commands without one makes room"


def test_more_commands_at_once_than_there_are_sessions_all_run(sandbox: "Sandbox") -> None:
    with ThreadPoolExecutor(14) as pool:
        answers = list(pool.map(lambda number: post(sandbox, "exec", command=f"sleep 0.3; echo {number}"), range(14)))
    assert [answer.json()["data"]["output"] for answer in answers] == [f"{number}\n" for number in range(14)]
    assert post(sandbox, "sessions/create", id="after-many").status_code == 200
    sandbox.request("DELETE", "/v1/shell/sessions")


def test_after_any_event_a_stream_goes_on_with_the_next(sandbox: "Sandbox", session: str) -> None:
    body = {"id": session, "command": "for i in 1 2 3 4; do echo line $i; sleep 0.1; done; (exit 5)"}
    seen = list(sandbox.events("/v1/shell/exec", body))
    assert (seen[0][1], seen[-1][1], seen[-1][2]["status"], seen[-1][2]["exit_code"]) == ("status", "exit", "completed", 5)
    assert output(seen) == "line 1\nline 2\nline 3\nline 4\n"
    numbers = [data["seq"] for _, _, data in seen]
    assert numbers == sorted(numbers)
    for count in range(1, len(seen) + 1):
        resumed = list(sandbox.events("/v1/shell/exec", body, last_event_id=seen[count - 1][0]))
        assert output(seen[:count]) + output(resumed) == output(seen)
        assert (resumed[-1][1], resumed[-1][2]["exit_code"]) == ("exit", 5)


def test_output_arrives_while_the_command_runs_and_the_stream_goes_on_after_a_break(sandbox: "Sandbox", session: str) -> None:
    body = {"id": session, "command": "echo early; read -r line; echo late $line"}
    stream = sandbox.events("/v1/shell/exec", body)
    begun = [next(stream), next(stream)]
    stream.close()  # type: ignore[attr-defined] # a generator: the connection breaks off
    post(sandbox, "write", id=session, input="input", press_enter=True)
    resumed = list(sandbox.events("/v1/shell/exec", body, last_event_id=begun[-1][0]))
    assert output(begun) == "early\n"
    assert output(resumed) == "input\nlate input\n"
    assert resumed[-1][1] == "exit"


def test_a_terminal_is_streamed_from_its_screen_on(sandbox: "Sandbox", session: str) -> None:
    run(sandbox, session, "echo begin")
    stream = sandbox.events("/v1/shell/view", {"id": session})
    first = next(stream)
    assert first[1] == "screen"
    assert "begin" in first[2]["output"]
    run(sandbox, session, "echo $((6 * 7))")
    seen = ""
    while "\n42\n" not in seen:
        seen += output([next(stream)])
    sandbox.request("DELETE", f"/v1/shell/sessions/{session}")
    assert [name for _, name, _ in stream][-1] == "exit"


def test_a_stream_that_cannot_begin_is_an_error_and_not_a_stream(sandbox: "Sandbox", session: str) -> None:
    headers = {"Accept": "text/event-stream"}
    missing = sandbox.request("POST", "/v1/shell/view", headers=headers, json={"id": session})
    assert (missing.status_code, missing.json()["message"]) == (404, "Session not found")
    wrong = sandbox.request("POST", "/v1/shell/exec", headers=headers | {"Last-Event-ID": "nonsense"}, json={"command": "true"})
    assert wrong.status_code == 400
