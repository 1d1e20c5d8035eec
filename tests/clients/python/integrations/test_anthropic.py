"""The adapter in the loop of Anthropic's own SDK, with a scripted model and a server that answers as a test says."""

import base64
from typing import Any

import httpx
import pytest
from tandem import Sandbox

from tests.clients.python.conftest import Server
from tests.clients.python.integrations.messages_model import Block, Script, playing, says, uses
from tests.clients.python.test_sandbox import handoff

pytest.importorskip("anthropic", reason="tests/image/test_integrations.py runs these with the framework")
PIXEL = base64.b64encode(b"a picture").decode()
HELD = {"reason": "held_by_human", "holder": "Ann", "epoch": 3}


def run(server: Server, *turns: Block, asking: tuple[str, ...] = ()) -> Script:
    """Run the loop until the model has said all, and give what it was told."""
    from anthropic import Anthropic
    from tandem.integrations.anthropic import asking_before, tools

    sandbox = Sandbox("http://box", "key")
    sandbox._connection._http = httpx.Client(base_url="http://box", transport=httpx.MockTransport(server.take))
    with playing(*turns, says("done")) as script, Anthropic(base_url=script.url, api_key="none", max_retries=0) as model:
        given = tools(sandbox, confirm=asking_before(sandbox, *asking), display=(1024, 768), person_timeout=5)
        messages: Any = [{"role": "user", "content": "go"}]
        model.beta.messages.tool_runner(model="scripted", max_tokens=100, tools=given, messages=messages).until_done()
    return script


def picture(server: Server) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    server.answers.append(httpx.Response(200, json={"type": "tool_result", "content": [image]}))


def text_of(result: Block) -> str:
    content = result["content"]
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)


def test_the_model_is_offered_the_whole_toolset_and_the_tools(server: Server) -> None:
    offered = run(server).asked[0]["tools"]
    assert [tool.get("name", tool.get("type")) for tool in offered] == [
        "computer_toolset_20260801",
        "bash",
        "str_replace_based_edit_tool",
        "ask_person",
    ]
    assert not any(member.get("enabled") is False for member in (offered[0].get("configs") or {}).values())


def test_an_action_is_sent_with_the_size_of_the_models_picture(server: Server) -> None:
    picture(server)
    picture(server)
    script = run(server, uses("left_click", "computer", coordinate=[10, 20]), uses("screenshot", "computer"))
    sent = server.body(0)
    assert (sent["name"], sent["input"]["coordinate"], sent["display"]) == ("left_click", [10, 20], {"width": 1024, "height": 768})
    clicked, shown = script.results()
    assert text_of(clicked).startswith("Clicked.")
    assert (shown["toolset_name"], shown["content"][-1]["source"]["data"]) == ("computer", PIXEL)


def test_the_pointers_position_is_told(server: Server) -> None:
    server.answers.append(httpx.Response(200, json={"type": "tool_result", "content": [{"type": "text", "text": "X=7,Y=9"}]}))
    assert "X=7,Y=9" in text_of(run(server, uses("cursor_position", "computer")).results()[0])


def test_a_person_who_drives_is_a_result_that_says_so(server: Server) -> None:
    server.then(423, HELD)
    result = run(server, uses("left_click", "computer", coordinate=[1, 1])).results()[0]
    assert result["is_error"]
    assert "A person has control of the computer now, so nothing was done." in text_of(result)


@pytest.mark.parametrize(("confirmed", "sent"), [(True, 3), (False, 2)])
def test_typing_waits_for_a_persons_yes(server: Server, confirmed: bool, sent: int) -> None:
    outcome = "done" if confirmed else "cannot"
    server.then(200, handoff()).then(200, handoff(status="closed", outcome=outcome, confirmed=confirmed))
    picture(server)
    result = run(server, uses("type", "computer", text="hello"), asking=("type",)).results()[0]
    assert "hello" in server.body(0)["reason"]
    assert len(server.asked) == sent
    assert bool(result.get("is_error")) is not confirmed


def test_the_shell_keeps_its_state_until_it_is_restarted_or_ends(server: Server) -> None:
    done = {"session_id": "s", "command": "c", "status": "completed", "output": "out", "exit_code": 3}
    server.then(200, {"session_id": "s", "working_dir": "/"}).then(200, done).then(200, {**done, "status": "terminated"})
    server.then(200, {"session_id": "t", "working_dir": "/"}).then(200, {**done, "session_id": "t"}).then(200)
    commands = [uses("bash", command="cd /tmp"), uses("bash", command="exit"), uses("bash", command="pwd")]
    script = run(server, *commands, uses("bash", restart=True), uses("bash"))
    assert [server.body(number)["id"] for number in (1, 2, 4)] == ["s", "s", "t"]
    assert server.asked[5].url.path.endswith("/t")
    assert text_of(script.results()[0]) == "out\n[completed, exit code 3]"
    assert "`command` is needed" in text_of(script.results()[4])


def test_an_edit_is_sent_and_its_failure_is_told(server: Server) -> None:
    edited = {"output": "ok", "path": "/a", "prev_exist": True}
    server.then(200, edited).then(200, {**edited, "error": "it occurs twice"}).then(404, None, message="no such file")
    insert = uses("str_replace_based_edit_tool", command="insert", path="/a", insert_line=1, insert_text="x", unknown=1)
    again = uses("str_replace_based_edit_tool", command="str_replace", path="/a", old_str="a")
    script = run(server, insert, again, uses("str_replace_based_edit_tool", command="view", path="/a"), uses("str_replace_based_edit_tool"))
    assert server.body(0) == {"command": "insert", "path": "/a", "insert_line": 1, "new_str": "x"}
    assert [text_of(result) for result in script.results()][:2] == ["ok", "it occurs twice"]
    assert [bool(result.get("is_error")) for result in script.results()] == [False, True, True, True]
    assert "missing: command, path" in text_of(script.results()[3])


def test_a_question_is_answered_and_a_wrong_one_asks_nobody(server: Server) -> None:
    server.then(200, handoff(kind="otp")).then(200, handoff(kind="otp", status="closed", outcome="done", note="123456"))
    script = run(server, uses("ask_person", kind="otp", question="The code?"), uses("ask_person", kind="approve", question="?"))
    assert text_of(script.results()[0]) == "The person answered: 123456"
    assert script.results()[1]["is_error"]
    assert len(server.asked) == 2
