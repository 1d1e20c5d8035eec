"""The tools as an agent of browser-use calls them, with a server that answers as a test says; tests/examples runs a whole agent."""

import asyncio
from typing import Any

import pytest
from tandem._async import control, sandbox

from tests.clients.python.conftest import Server
from tests.clients.python.integrations.boxes import boxed
from tests.clients.python.test_control import state
from tests.clients.python.test_sandbox import handoff

pytest.importorskip("browser_use", reason="tests/image/test_integrations.py runs these with the framework")
QUESTION = {"kind": "confirm", "question": "Shall I?"}


def act(server: Server, name: str, given: dict[str, Any], **options: Any) -> Any:
    """What an action answers."""
    from tandem.integrations.browser_use import PersonTools

    async def go() -> Any:
        tools = PersonTools(boxed(server), **options)
        model = tools.registry.create_action_model()
        return await tools.act(model(**{name: given}), None)

    return asyncio.run(go())


def test_the_session_has_the_sandboxs_address_and_key(server: Server) -> None:
    from tandem.integrations.browser_use import session

    async def go() -> Any:
        return session(boxed(server)).browser_profile

    profile = asyncio.run(go())
    assert (profile.cdp_url, profile.headers) == ("ws://box/devtools/browser/any", {"Authorization": "Bearer key"})
    assert profile.keep_alive


def test_a_person_is_asked_and_the_answer_is_remembered(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "LOOK_SECONDS", 0.001)
    server.then(200, handoff()).then(200, handoff(status="closed", outcome="cannot", confirmed=False)).then(429, None, message="too many")
    answer = act(server, "ask_person", QUESTION, person_timeout=5)
    assert answer.extracted_content == answer.long_term_memory == "The person said no. Do not do it."
    assert "too many" in act(server, "ask_person", QUESTION).extracted_content


def test_a_question_may_take_longer_than_the_frameworks_actions(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from browser_use import Tools

    seen: dict[str, Any] = {}

    async def noted(*_: Any, **given: Any) -> None:
        seen.update(given)

    monkeypatch.setattr(Tools, "act", noted)
    act(server, "ask_person", QUESTION, person_timeout=1000)
    assert seen["action_timeout"] > 1000
    assert server.asked == []


def test_an_action_on_the_browser_waits_for_the_person_who_drives(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from browser_use import ActionResult, Tools

    async def done(*_: Any, **__: Any) -> Any:
        return ActionResult(extracted_content="done")

    monkeypatch.setattr(Tools, "act", done)
    monkeypatch.setattr(control, "LOOK_SECONDS", 0.001)
    server.then(200, state(state="human", holder="Ann")).then(200, state())
    assert act(server, "navigate", {"url": "http://a"}).extracted_content == "done"
    assert server.answers == []


def test_an_action_that_a_person_keeps_from_being_done_says_so(server: Server) -> None:
    server.then(200, state(private="Ann")).then(200, state(private="Ann"))
    held = act(server, "navigate", {"url": "http://a"}, patience=0)
    assert held.error == "Nothing was done: Ann still has control. Do not try again at once: wait, or ask the person."
    starts = Server().then(503, None, message="it starts")
    assert "it starts" in act(starts, "navigate", {"url": "http://a"}, patience=0).error


def test_the_end_of_a_task_waits_for_nobody(server: Server) -> None:
    assert act(server, "wait", {"seconds": 0}).error is None
    assert server.asked == []
