"""Handoffs are answered by signed buttons and by texts."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import Caller, Conflict, InvalidArgument, NotFound
from sandbox_server.features.handoff.chat_answers import ChatAnswers, takes_text
from sandbox_server.features.handoff.handoff import Approval, AskPerson, FormField, Handoff
from sandbox_server.features.handoff.queue import HandoffQueue
from tests.features.handoff.queues import queue

pytestmark = pytest.mark.anyio
AGENT = Caller("agent")
BY = "telegram:7"


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[HandoffQueue]:
    store, made = queue(tmp_path)
    async with store, made:
        yield made


async def ask(opened: HandoffQueue, **fields: Any) -> Handoff:
    return await opened.ask(AskPerson.model_validate({"reason": "why", **fields}), AGENT)


@pytest.mark.parametrize(("pressed", "outcome", "confirmed"), [("Yes", "done", True), ("No", "cannot", False)])
async def test_a_yes_or_no_is_a_press(opened: HandoffQueue, pressed: str, outcome: str, confirmed: bool) -> None:  # a case
    answers, asked = ChatAnswers(opened, b"key"), await ask(opened, kind="confirm")
    buttons = {button.label: button.data for button in answers.buttons(asked)}
    assert list(buttons) == ["Yes", "No"]
    closed, label = await answers.press(buttons[pressed], BY)
    assert (label, closed.outcome, closed.confirmed, closed.closed_by, closed.answered_in) == (pressed, outcome, confirmed, BY, "chat")
    with pytest.raises(Conflict, match="closed"):
        await answers.press(buttons[pressed], BY)


async def test_a_choice_is_one_of_its_buttons_or_none(opened: HandoffQueue) -> None:
    answers, choices = ChatAnswers(opened, b"key"), [f"{number} {'x' * 390}" for number in range(12)]
    asked = await ask(opened, kind="choice", choices=choices)
    buttons = answers.buttons(asked)
    assert [button.label[-1] for button in buttons] == ["…"] * 12 + ["e"]
    assert all(len(button.data.encode()) <= 64 for button in buttons)
    closed, _ = await answers.press(buttons[11].data, BY)
    assert (closed.outcome, closed.choice) == ("done", choices[11])


async def test_a_button_of_another_key_request_or_answer_is_not_known(opened: HandoffQueue) -> None:
    answers = ChatAnswers(opened, b"key")
    first, second = await ask(opened, kind="confirm"), await ask(opened, kind="confirm")
    data = answers.buttons(first)[0].data
    mac = data.rpartition(":")[2]
    forged = [
        ChatAnswers(opened, b"other").buttons(first)[0].data,
        f"{second.id}:0:{mac}",
        f"{first.id}:1:{mac}",
        f"{first.id}:99:{mac}",
        f"{first.id}:-1:{mac}",
        f"{first.id}:٣:{mac}",
        f"{data}ä",
        "",
        ":::",
    ]
    for each in forged:
        with pytest.raises(InvalidArgument, match="not known"):
            await answers.press(each, BY)
    assert len(opened.listed("open")) == 2


async def test_a_code_is_the_note_or_the_only_field(opened: HandoffQueue) -> None:
    answers = ChatAnswers(opened, b"key")
    plain = await answers.reply((await ask(opened, kind="otp")).id, "123456", BY)
    assert (plain.outcome, plain.note, plain.answered_in) == ("done", "123456", "chat")
    named = await ask(opened, kind="otp", fields=[{"name": "code", "label": "Code"}])
    assert (await answers.reply(named.id, "654321", BY)).values == {"code": "654321"}
    for text in ("", "x" * 4001):
        with pytest.raises(InvalidArgument):
            await answers.reply((await ask(opened, kind="free")).id, text, BY)
    with pytest.raises(NotFound):
        await answers.reply("h-0", "1", BY)


async def test_what_a_person_does_on_the_screen_and_what_a_policy_asks_is_not_answered_there(opened: HandoffQueue) -> None:
    answers = ChatAnswers(opened, b"key")
    secret = FormField(name="p", label="Password", secret=True, selector="#p", origin="https://a.example")
    found = [await ask(opened, kind=kind) for kind in ("login", "captcha", "payment")]
    found.append(await ask(opened, kind="otp", fields=[secret.model_dump()]))
    found.append(await ask(opened, kind="free", fields=[{"name": name, "label": name} for name in "ab"]))
    approval = Approval(subject="network", rule="", details={}, answers=["once", "deny"])
    found.append(await opened.ask_approval(approval, "why", "agent", 60, "deny"))
    for each in found:
        assert answers.buttons(each) == []
        assert not takes_text(each)
        with pytest.raises(Conflict, match="not answered by a text"):
            await answers.reply(each.id, "text", BY)


async def test_what_another_person_has_claimed_is_theirs(opened: HandoffQueue) -> None:
    answers, asked = ChatAnswers(opened, b"key"), await ask(opened, kind="confirm")
    await opened.claim(asked.id, "Ann")
    with pytest.raises(Conflict, match="Ann"):
        await answers.press(answers.buttons(asked)[0].data, BY)


async def test_the_button_of_a_form_answers_by_its_text_alone(opened: HandoffQueue) -> None:
    answers, asked = ChatAnswers(opened, b"key"), await ask(opened, kind="otp")
    button, confirm = answers.text_button(asked), await ask(opened, kind="confirm")
    assert button
    assert (answers.asks_text(button.data), answers.handoff_of(button.data), answers.text_button(confirm)) == (True, asked, None)
    assert not answers.asks_text(answers.buttons(confirm)[0].data)
    for pressed in (
        answers.press(button.data, BY),
        answers.submit(answers.buttons(confirm)[0].data, "1", BY),
        answers.submit("x", "1", BY),
    ):
        with pytest.raises(InvalidArgument):
            await pressed
    assert (await answers.submit(button.data, "918273", BY)).note == "918273"
    with pytest.raises(Conflict):
        await answers.submit(button.data, "1", BY)
